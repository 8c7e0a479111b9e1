"""What is promised and what comes true in such libraries: as it was before, and as `learn` does it now."""

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.choice.presence import (
    JudgedPairs,
    calibration_error,
    cross_fitted,
    fit_presence,
    reliability,
    thresholds,
)
from topicture.annotations.choice.refitting import held_out_again
from topicture.annotations.choice.trials import HeldOut, settings_for
from topicture.annotations.measures.metrics import summary
from topicture.annotations.shift.completeness import SHARES, STRATA
from topicture.annotations.shift.worlds import TAGS, FarWorld, find_worlds
from topicture.app.learning.calibrating import some_untagged, trust, with_omissions
from topicture.app.learning.choosing import N_FAR_FOLDS
from topicture.app.learning.training_tags import LEAST_TEACHING
from topicture.app.verbs.asking.drawing_lots import strata_order
from topicture.models.look_alikes import look_alikes
from topicture.models.registry import make_annotator
from topicture_experiments.missing.libraries import Library, library, photos, said_of, without_tags
from topicture_experiments.shared.ranking import ranked

__all__ = ["ASKED", "Task", "do"]

ASKED = (0.7, 0.8, 0.9)
N_ANSWERS, N_REJECTIONS, N_QUESTIONS = 200, 100, 300
SUGGESTED = 0.25  # as `annotate` suggests
SEED = 0


class Task(NamedTuple):
    """A library, a draw of it, and a model."""

    kind: (
        str  # of `library`, "second round", "one tag", "ranking", or "random 40%" and so on for tags left out
    )
    draw: int
    model: str

    @property
    def key(self) -> str:
        return f"{self.kind}, {self.model}, draw {self.draw}"


def do(data: str | None, cache: str, task: Task) -> dict[str, Any]:
    """Measure one of them, as JSON values."""
    begin, source = perf_counter(), photos(data, cache)
    if task.kind.endswith("%"):
        way, kept = task.kind.split()
        found = _left_out(*without_tags(way, float(kept[:-1]) / 100, task.draw, source), task)
    elif task.kind == "second round":
        found = _second_round(library("random", task.draw, source), task)
    elif task.kind == "one tag":
        found = _one_tag(library("one tag", task.draw, source), task)
    elif task.kind == "ranking":
        found = _ranking(*without_tags("random", 1.0, task.draw, source), task)
    else:
        found = _promises(library(task.kind, task.draw, source), task)
    return {**task._asdict(), "seconds": perf_counter() - begin, **found}


# --- Learning -----------------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """Probabilities (D, V), pairs that thresholds are read from, and the rest of what was learned."""

    presence: Any
    pairs: JudgedPairs
    trusted: Any = None
    world: Any = None


def _fitted(made: Library, model: str) -> Any:
    if model == "auto":
        return make_annotator("auto", members=["knn", "tagprop", "ridge", "logistic"], seed=SEED).fit(
            made.corpus
        )
    return make_annotator(model, **settings_for(model, int(made.corpus.tagged.sum()))).fit(made.corpus)


class Models(NamedTuple):
    """What models say of a library's photos: of all (D, V), and of tagged ones with near copies or groups hidden."""

    annotator: Any
    p: np.ndarray
    near: HeldOut
    far: HeldOut | None
    world: FarWorld | None
    first: HeldOut | None = None  # what ridge regression had told before captions were completed


def _models(
    made: Library, model: str, answers: np.ndarray | None = None, drawn: np.ndarray | None = None
) -> Models:
    """As `learn` has them; `answers` (D, V) about untagged photos teach where there are enough.

    `drawn` (D, V) were answered about tagged photos: a yes is a word of the caption, and all tell how complete it is.
    """
    if answers is not None and answers.sum() >= LEAST_TEACHING * made.corpus.captions.nnz:
        said = np.where(made.truth, 1.0, -1.0) * answers
        made = made._replace(corpus=made.corpus.with_answers(said))
    first = None
    if drawn is not None:
        tags, everything = said_of(made, answers, drawn), np.arange(len(made.corpus))
        groups = look_alikes(made.corpus, made.places)
        captions = sparse.csr_array((tags.truth & made.corpus.tagged[:, None]).astype(float))
        corpus = made.corpus.with_captions(captions)
        corpus, first = with_omissions(corpus, tags, everything, made.places, groups, SEED)
        made = made._replace(corpus=corpus)
    corpus, annotator = made.corpus, _fitted(made, model)
    world = find_worlds(corpus, made.places, seed=SEED)
    near = held_out_again(annotator, corpus, groups=look_alikes(corpus, made.places), seed=SEED)
    far = None
    if world is not None and world.kind != TAGS:
        captions = corpus.without_answers()  # nobody has said a word about the far world
        far = held_out_again(
            annotator, captions, groups=world.groups, n_folds=N_FAR_FOLDS, seed=SEED, same_weights=True
        )
    return Models(annotator, annotator.annotate(corpus.without_captions()), near, far, world, first)


def _before(made: Library, models: Models) -> Told:
    """Random folds, absent words are no, and every tag is a person's."""
    rows = made.corpus.tagged
    given = made.corpus.captions.toarray() > 0
    p, truth, known = models.near.p[rows], given[rows], np.ones_like(given[rows])
    honest = cross_fitted(p, truth, known, models.near.fold_of[rows], seed=SEED)
    presence = fit_presence(p, truth, known, seed=SEED)(models.p)
    return Told(presence, JudgedPairs.of(honest, truth, known))


def _now(
    made: Library, models: Models, answers: np.ndarray | None = None, drawn: np.ndarray | None = None
) -> Told:
    """As `learn` does it; `answers` (D, V) were given to questions about untagged photos, `drawn` about tagged ones."""
    corpus, tags = made.corpus, said_of(made, answers, drawn)
    known = tags.known
    # Models that have not seen an answer answer for the photos that it is about; others do so with it hidden.
    unasked = (known.any(axis=1) & (models.near.fold_of < 0))[:, None]
    near = HeldOut(np.where(unasked, models.p, models.near.p), models.near.fold_of)
    trusted = trust(
        corpus,
        tags,
        np.arange(len(corpus)),
        near,
        models.far,
        models.world,
        places=made.places,
        untagged=some_untagged(corpus, known.any(axis=1), made.places, models.annotator.annotate, SEED),
        first=models.first,
        groups=look_alikes(corpus, made.places),
        seed=SEED,
    )
    presence = trusted.calibration(models.p, corpus, made.places)
    return Told(presence, trusted.pairs, trusted, models.world)


# --- Promises -----------------------------------------------------------------------------------------------------


def _promises(made: Library, task: Task) -> dict[str, Any]:
    open_ = np.repeat(~made.corpus.tagged[:, None], made.truth.shape[1], axis=1)
    models = _models(made, task.model)
    now = _now(made, models)
    answers = _asked(now.presence, open_)
    after = _now(made, _models(made, task.model, answers), answers)
    return {
        "before": judged(_before(made, models), made.truth, open_),
        "now": judged(now, made.truth, open_),
        "answers": judged(after, made.truth, open_ & ~answers),
        "yes": float(made.truth[answers].mean()),
        "world": None if now.world is None else [now.world.kind, now.world.share],
    }


def _asked(presence: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """The first questions of `review --order random`."""
    rows, words = np.nonzero(open_ & (presence >= SUGGESTED))
    first = np.argsort(strata_order(presence[rows, words].tolist(), SEED), kind="stable")[:N_ANSWERS]
    asked = np.zeros_like(open_)
    asked[rows[first], words[first]] = True
    return asked


def judged(
    told: Told, truth: np.ndarray, open_: np.ndarray, below: np.ndarray | None = None
) -> dict[str, Any]:
    """Accepted and right at the asked precisions, promised and true, and what `evaluate` claims, None for nothing."""
    claims = told.pairs if told.trusted is None else told.trusted.judged
    measured = told.trusted is None or told.trusted.measured
    accepted = []
    for asked in ASKED:
        least = thresholds(told.pairs.above(0.02), truth.shape[1], asked, below=below)
        chosen = open_ & (told.presence >= least)
        accepted.append([int(chosen.sum()), int(truth[chosen].sum())])
    bins = reliability(JudgedPairs.of(told.presence, truth, open_))
    return {
        "accepted": accepted,
        "map": _mean_average_precision(told.presence, truth, open_),
        "bins": [list(b) for b in bins],
        "error": calibration_error(bins),
        "claimed": calibration_error(reliability(claims)) if measured else None,
    }


def _second_round(made: Library, task: Task) -> dict[str, Any]:
    """Everything at 90% is accepted in bulk, and learned again."""
    open_ = np.repeat(~made.corpus.tagged[:, None], made.truth.shape[1], axis=1)
    models = _models(made, task.model)
    first = {"before": _before(made, models), "now": _now(made, models)}
    found = {}
    for name, told in first.items():
        bulk = open_ & (told.presence >= thresholds(told.pairs.above(0.02), made.truth.shape[1], 0.9))
        left, again, below = open_ & ~bulk, told, None
        if name == "before":
            captions = made.corpus.captions + sparse.csr_array(bulk.astype(float))
            taught = made._replace(corpus=replace(made.corpus, captions=sparse.csr_array(captions)))
            again = _before(taught, _models(taught, task.model))
        else:  # nothing was learned from what the machine accepted: the same photos and decisions, the same model
            below = np.where(bulk.any(axis=0), np.where(left, told.presence, 0.0).max(axis=0), np.inf)
        found[name] = judged(again, made.truth, left, below)
    return found


def _one_tag(made: Library, task: Task) -> dict[str, Any]:
    """One tag on 40 photos, rejected for 100 others."""
    rng = np.random.default_rng(task.draw)
    others = np.flatnonzero(~made.corpus.tagged & ~made.truth[:, 0])
    answers = np.zeros_like(made.truth)
    answers[rng.permutation(others)[:N_REJECTIONS], 0] = True
    told = _now(made, _models(made, task.model, answers), answers)
    left = ~made.corpus.tagged & ~answers[:, 0]
    p, truth = told.presence[left, 0], made.truth[left, 0]
    return {
        "average_precision": _average_precision(p, truth),
        "chance": float(truth.mean()),
        "suggested": int((p >= SUGGESTED).sum()),
        "suggested_right": int(truth[p >= SUGGESTED].sum()),
        "photos": int(left.sum()),
    }


def _mean_average_precision(presence: np.ndarray, truth: np.ndarray, open_: np.ndarray) -> float:
    """Over the words that any open photo has."""
    words = np.flatnonzero((truth & open_).any(axis=0))
    return float(
        np.mean([_average_precision(presence[open_[:, w], w], truth[open_[:, w], w]) for w in words])
    )


def _average_precision(p: np.ndarray, truth: np.ndarray) -> float:
    hits = truth[np.argsort(-p, kind="stable")]
    ranks = np.arange(1, len(hits) + 1)
    return float((np.cumsum(hits) / ranks)[hits].mean())


# --- Tags that were left out --------------------------------------------------------------------------------------


def _left_out(made: Library, train: np.ndarray, task: Task) -> dict[str, Any]:
    """Judged on the test photos, whose tags are complete; 300 questions are answered."""
    test = np.repeat(~train[:, None], made.truth.shape[1], axis=1)
    models = _models(made, task.model)
    before = _before(made, models)
    drawn, unasked = _drawn(made, models, task.draw), _now(made, models)
    now = _now(made, _models(made, task.model, drawn=drawn), drawn=drawn)
    complete, given = now.trusted.completeness, made.corpus.captions.toarray() > 0
    true = made.truth & made.corpus.tagged[:, None]
    share = given.sum(axis=0) / np.maximum(true.sum(axis=0), 1)
    common = np.argsort(-true.sum(axis=0), kind="stable")[:20]
    return {
        "before": _on_test(before, made, test),
        "no answers": _on_test(unasked, made, test),
        "now": _on_test(now, made, test),
        "completeness": [complete.overall, complete.overall_deviation, float(given.sum() / true.sum())],
        "error of common words": float(np.abs(complete.words - share)[common].mean()),
    }


def _drawn(made: Library, models: Models, draw: int) -> np.ndarray:
    """Absent words of tagged photos, drawn as `review` draws them by what was told while their tags were hidden.

    (D, V): how many pairs each stands for, 0 where nothing is asked.
    """
    tagged, given = made.corpus.tagged, made.corpus.captions.toarray() > 0
    p, told = models.near.p[tagged], np.zeros(given.shape)
    told[tagged] = fit_presence(p, given[tagged], np.ones_like(given[tagged]), seed=SEED)(p)
    rng = np.random.default_rng(1000 + draw)
    rows, words = np.nonzero(tagged[:, None] & ~given)
    stratum = np.digitize(told[rows, words], STRATA)
    stands_for = np.zeros(made.truth.shape)
    kinds, left = np.unique(stratum), N_QUESTIONS
    for number, one in enumerate(kinds):
        inside = np.flatnonzero(stratum == one)
        wanted = round(left * SHARES[one] / sum(SHARES[other] for other in kinds[number:]))
        chosen = rng.choice(inside, min(len(inside), wanted), replace=False)
        stands_for[rows[chosen], words[chosen]] = len(inside) / len(chosen)
        left -= len(chosen)
    return stands_for


def _on_test(told: Told, made: Library, test: np.ndarray) -> dict[str, Any]:
    rows = np.flatnonzero(test.any(axis=1))
    measures = summary(told.presence[rows], sparse.csr_array(made.truth[rows].astype(float)))
    probable = test & (told.presence >= 0.5)
    return {
        **judged(told, made.truth, test),
        "map": measures.mean_average_precision,
        "accuracy": measures.accuracy,
        "probable": int(probable.sum()),
        "probable_right": int(made.truth[probable].sum()),
        "probable_promised": float(told.presence[probable].sum()),
    }


# --- Five words per photo -----------------------------------------------------------------------------------------


def _ranking(made: Library, train: np.ndarray, task: Task) -> dict[str, Any]:
    """With complete tags, on the test photos."""
    annotator = _fitted(made, task.model)
    hidden = held_out_again(annotator, made.corpus, groups=look_alikes(made.corpus, made.places), seed=SEED)
    tagged, test = made.corpus.tagged, np.flatnonzero(~train)
    asked = annotator.annotate(made.corpus[test].without_captions())
    return ranked(hidden.p[tagged], made.truth[tagged], asked, made.truth[test], SEED)
