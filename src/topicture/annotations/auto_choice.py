"""Which model suits a collection: a small set, tried on the tagged photos, told with its table.

Each candidate learns from the whole collection with one fold of the captions hidden after the other, exactly as it will
be used, and is judged on the hidden ones. Its held-out word distributions are kept: they also calibrate the
probabilities (`presence`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.metrics import summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator, columns_of
from topicture.models.registry import annotator_class, make_annotator

__all__ = ["HeldOut", "Trial", "candidates", "choose_model", "held_out", "settings_for", "settled"]

MEASURE = "mean_average_precision"
N_FOLDS = 3
CHOICE = ("empirical", "nlsa", "mix-unigram", "lap-var1", "corr-lda")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Word distributions of images by annotators that had not seen their captions.

    Attributes
    ----------
    p : (D, V); images without a caption that were asked for get the mean over the folds, others zeros
    fold_of : (D,), -1 for images without a caption
    """

    p: NDArray[np.float64] = field(repr=False)
    fold_of: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class Trial:
    """How one candidate did: mean and standard error of the measure over the folds."""

    model: str
    mean: float
    standard_error: float
    accuracy: float


def settings_for(name: str, n_tagged: int) -> dict[str, Any]:
    """Hyper-parameters that suit a number of tagged photos; what is not said is the model's default."""
    n_topics = int(np.clip(n_tagged // 8, 8, 60))
    settings: dict[str, dict[str, Any]] = {
        "empirical": {"pseudo_count": 0.1},
        "mix-unigram": {"n_topics": n_topics, "n_init": 2},
        "lap-var1": {"n_topics": n_topics, "n_init": 2},
        "corr-lda": {"n_topics": n_topics, "n_init": 1, "max_iter": 40},
    }
    return settings.get(name, {})


def candidates(corpus: Corpus) -> list[str]:
    """The models of the choice whose views the corpus has."""
    return [
        name
        for name in CHOICE
        if all(columns_of(corpus, view) is not None for view in annotator_class(name).needs)
    ]


def choose_model(
    corpus: Corpus,
    names: Sequence[str],
    *,
    also: NDArray[np.bool_] | None = None,
    seed: int = 0,
    on_fold: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> tuple[list[Trial], HeldOut]:
    """Trials, the best first, and the held-out distributions of the best; ties go to the earlier name.

    `also` as for `held_out`; `on_fold` is told the candidate, and how many of all fits are done.
    """
    tried: list[tuple[Trial, HeldOut]] = []
    for number, name in enumerate(names):
        settings = settings_for(name, int(corpus.tagged.sum()))
        outcome = held_out(
            lambda name=name, settings=settings: make_annotator(name, **settings),  # type: ignore[misc]
            corpus,
            also=also,
            seed=seed,
            on_fold=lambda done, name=name, number=number: on_fold(  # type: ignore[misc]
                name, number * N_FOLDS + done, len(names) * N_FOLDS
            ),
        )
        tried.append((_judge(name, corpus, outcome), outcome))
    tried.sort(key=lambda pair: -pair[0].mean)
    return [trial for trial, _ in tried], tried[0][1]


def settled(annotator: Annotator) -> dict[str, Any]:
    """What a fitted annotator chose for the parameters that were left to it ("auto").

    Scores of annotators that chose differently do not mean the same: the folds that calibrate the probabilities must
    be scored with the choices of the annotator that is used in the end.
    """
    return {
        name: getattr(annotator, f"{name}_")
        for name, value in annotator.get_params(deep=False).items()
        if isinstance(value, str) and value == "auto" and hasattr(annotator, f"{name}_")
    }


def held_out(
    make: Callable[[], Annotator],
    corpus: Corpus,
    *,
    also: NDArray[np.bool_] | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    on_fold: Callable[[int], None] = lambda done: None,
) -> HeldOut:
    """Hide one fold of the captions after the other, learn, and annotate what was hidden.

    `also` (D,) names images without a caption to annotate as well, such as those that people rejected words for.

    Raises CorpusError where there are fewer tagged images than folds.
    """
    tagged = np.flatnonzero(corpus.tagged)
    if len(tagged) < n_folds:
        raise CorpusError(f"{len(tagged)} tagged photos are too few to learn from; tag at least {n_folds}")
    fold_of = np.full(len(corpus), -1)
    fold_of[np.random.default_rng(seed).permutation(tagged)] = np.arange(len(tagged)) % n_folds
    extra = np.zeros(len(corpus), bool) if also is None else also & (fold_of < 0)
    p = np.zeros((len(corpus), corpus.n_words))
    for fold in range(n_folds):
        annotator = make().fit(corpus.without_captions(fold_of == fold))
        asked = np.flatnonzero((fold_of == fold) | extra)
        answers = annotator.annotate(corpus[asked].without_captions())
        p[asked] += answers * np.where(extra[asked], 1 / n_folds, 1.0)[:, None]
        on_fold(fold + 1)
    return HeldOut(p, fold_of)


def _judge(name: str, corpus: Corpus, outcome: HeldOut) -> Trial:
    folds = [
        summary(outcome.p[inside], corpus.captions[inside])
        for fold in range(int(outcome.fold_of.max()) + 1)
        if (inside := np.flatnonzero(outcome.fold_of == fold)).size
    ]
    values = np.array([getattr(fold, MEASURE) for fold in folds])
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return Trial(name, float(values.mean()), error, float(np.mean([fold.accuracy for fold in folds])))
