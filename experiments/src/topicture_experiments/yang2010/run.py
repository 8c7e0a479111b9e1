"""The fits behind the report on Yang et al. 2010.

A job fits one model to one fold's training images, with a number of tags and a share of the images, and measures all
that the paper's figures show: so the curve over k, the regions and the last points of the other curves are one fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.measures.metrics import region_accuracy, top_k_f1
from topicture.annotations.measures.protocols import Part, folds, with_training_words
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator
from topicture_experiments.yang2010.data import Problem, load_problem
from topicture_experiments.yang2010.models import first_share, with_frequent_words

__all__ = ["COMPARED", "VARIANTS", "Job", "do", "plan", "run_job"]

# Title -> registry name and what differs from the defaults.
COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    "emm-margin": ("emm-margin", {}),
    "corr-lda": ("corr-lda", {"n_topics": 200, "n_init": 1, "max_iter": 60, "tol": 1e-4}),
    "emm-ml": ("emm-ml", {}),
    "dba": ("dba", {}),
    "word frequency": ("empirical", {}),
}
_PRINTED = {"label": "printed", "label_weight": 1.0, "eta": 0.5, "learn_eta": True}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "emm-ml, printed equations repaired": ("emm-ml", {**_PRINTED, "norm": "dropped"}),
    "emm-ml, full bound, learned rates": (
        "emm-ml",
        {"label": "chord", "label_weight": 1.0, "eta": 0.5, "learn_eta": True, "learn_lam": True},
    ),
    "dba, full bound, learned alpha": (
        "dba",
        {"label": "chord", "label_weight": 1.0, "eta": 0.5, "learn_eta": True, "learn_alpha": True},
    ),
    "emm-margin, learned rates, less slack": ("emm-margin", {"nu2_per_image": 10.0, "learn_lam": True}),
    "emm-margin, printed hybrid": ("emm-margin", {"kappa": 1.0, "safeguard": False, "score": "theta"}),
}
KS = tuple(range(1, 41))
REGION_KS = tuple(range(1, 11))
N_FOLDS = 5

Settings = Mapping[str, Mapping[str, Any]]  # title of a model -> its parameters


class Job(NamedTuple):
    data: str
    model: str
    fold: int
    n_words: int  # the most frequent ones
    share: float  # of the training images

    @property
    def key(self) -> str:
        return f"{self.data}|{self.model}|{self.fold}|{self.n_words}|{self.share:g}"


def plan(
    sizes: Mapping[str, int],
    *,
    sweeps: Sequence[str] = (),
    n_folds: int = N_FOLDS,
    word_shares: Sequence[float] = (0.25, 0.5),
    image_shares: Sequence[float] = (0.125, 0.5),
    variants: bool = True,
) -> list[Job]:
    """All jobs, the most important first; `sizes` is the number of words of every problem.

    Whole problems come first, then the curves over the number of tags and of training images of the problems in
    `sweeps`, then the variants. Among equals a fold is finished before the next begins.
    """
    whole = [Job(d, m, f, V, 1.0) for f in range(n_folds) for d, V in sizes.items() for m in COMPARED]
    points = {
        d: [(max(5, round(s * sizes[d])), 1.0) for s in word_shares] + [(sizes[d], s) for s in image_shares]
        for d in sweeps
    }
    curves = [
        Job(d, m, f, *point) for f in range(n_folds) for d in sweeps for point in points[d] for m in COMPARED
    ]
    others = [Job(d, m, f, V, 1.0) for f in range(n_folds) for d, V in sizes.items() for m in VARIANTS]
    return [*whole, *curves, *(others if variants else [])]


# --- One job -----------------------------------------------------------------------------------------------------


def run_job(problem: Problem, job: Job, settings: Settings | None = None) -> dict[str, Any]:
    """Fit and measure: f1 (40,), regions and regions_captioned (10,) where regions have truth, and about the fit.

    `settings`, by title of the model, go before its own.
    """
    part = _part(problem, job)
    name, params = {**COMPARED, **VARIANTS}[job.model]
    known = make_annotator(name).get_params()
    chosen = {"precision": "float32", **params, **(settings or {}).get(job.model, {})}
    annotator = make_annotator(name, **{key: value for key, value in chosen.items() if key in known})
    start = perf_counter()
    annotator.fit(part.tagged)
    seconds = perf_counter() - start
    scores = annotator.annotate(part.hidden.without_captions())
    return {
        "f1": [top_k_f1(scores, part.hidden.captions, k) for k in KS],
        **_region_measures(annotator, part, problem),
        "zeros": float((scores == 0).mean()),
        "n_train": len(part.tagged),
        "n_words": part.tagged.n_words,
        "n_iter": int(getattr(annotator, "n_iter_", 0)),
        "result": str(annotator.result_),
        "seconds": round(seconds, 2),
    }


def _part(problem: Problem, job: Job) -> Part:
    corpus = with_frequent_words(problem.corpus, job.n_words)
    part = list(folds(corpus, N_FOLDS, seed=0))[job.fold]
    return with_training_words(Part(part.name, first_share(part.tagged, job.share, job.fold), part.hidden))


def _region_measures(annotator: Annotator, part: Part, problem: Problem) -> dict[str, list[float]]:
    if problem.region_labels is None:
        return {}
    truth = _true_words(problem, part)
    found = {}
    for measure, captioned in (("regions", False), ("regions_captioned", True)):
        scores = np.concatenate(list(_region_scores(annotator, part, captioned)))
        found[measure] = [region_accuracy(scores, truth, k) for k in REGION_KS]
    return found


def _region_scores(annotator: Any, part: Part, captioned: bool) -> Iterator[np.ndarray]:
    """Scores (N_d, V) of the hidden images' regions; a model without regions gives them the scores of their image."""
    if annotator.labels_regions:
        yield from annotator.label_regions(part.hidden, use_captions=captioned)
        return
    scores = annotator.annotate(part.hidden.without_captions())
    if captioned:  # words of the caption first
        scores = scores + (part.hidden.captions.toarray() > 0)
    for row, n in zip(scores, part.hidden.n_regions, strict=True):
        yield np.tile(row, (n, 1))


def _true_words(problem: Problem, part: Part) -> np.ndarray:
    """True words of the hidden images' regions as ids of the part's vocabulary, -1 where it lacks the word."""
    corpus, vocabulary = problem.corpus, part.tagged.vocabulary
    assert corpus.region_offsets is not None
    assert problem.region_labels is not None
    ids = np.array(
        [vocabulary.index(word) if word in vocabulary else -1 for word in corpus.vocabulary] + [-1]
    )
    rows = {image: d for d, image in enumerate(corpus.image_ids.tolist())}
    spans = [corpus.region_offsets[rows[image] : rows[image] + 2] for image in part.hidden.image_ids.tolist()]
    return np.concatenate([ids[problem.region_labels[begin:end]] for begin, end in spans])


# --- Many jobs ---------------------------------------------------------------------------------------------------

_LOADED: dict[Path, Problem] = {}


def do(files: Mapping[str, Path], settings: Settings | None, job: Job) -> dict[str, Any]:
    """`run_job` on a problem that is read once per process."""
    path = files[job.data]
    if path not in _LOADED:
        _LOADED[path] = load_problem(path)
    return run_job(_LOADED[path], job, settings)
