"""How well a model suits a collection: it is tried on the tagged photos.

It learns from the whole collection with one fold of the captions hidden after the other, exactly as it will be used,
and is judged on the hidden ones. Its held-out word distributions are kept: they also calibrate the probabilities
(`presence`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.measures.metrics import summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing

__all__ = ["HeldOut", "Trial", "held_out", "judge", "settings_for", "settled"]

MEASURE = "mean_average_precision"
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Word distributions of images by annotators that had not seen their captions.

    Attributes
    ----------
    p : (n, V); images of no fold that were asked for get the mean over the folds, others zeros
    fold_of : (n,), -1 for images without caption or answer, or where these were not hidden
    rows : (n,) which images of the corpus these are; None: all
    """

    p: NDArray[np.float64] = field(repr=False)
    fold_of: NDArray[np.int64] = field(repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)

    def of(self, corpus: Corpus) -> Corpus:
        """The images that there are answers for."""
        return corpus if self.rows is None else corpus[self.rows]

    def for_all(self, n_images: int) -> "HeldOut":
        """The same for all images of the corpus, zeros for those that were not asked about."""
        if self.rows is None:
            return self
        p, fold_of = np.zeros((n_images, self.p.shape[1])), np.full(n_images, -1)
        p[self.rows], fold_of[self.rows] = self.p, self.fold_of
        return HeldOut(p, fold_of)


@dataclass(frozen=True)
class Trial:
    """How a model did: mean and standard error of the measure over the folds."""

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
    groups: ArrayLike | None = None,
    n_folds: int = N_FOLDS,
    seed: int = 0,
    on_fold: Callable[[int], None] = lambda done: None,
) -> HeldOut:
    """Hide one fold of the captions after the other, learn, and annotate what was hidden.

    `also` (D,) names images without a caption to annotate as well, such as those that people rejected words for.
    `groups` as for `folds_of`: images that are hidden together.

    Raises CorpusError where there are fewer tagged images than folds.
    """
    n_tagged = int(corpus.tagged.sum())
    if n_tagged < n_folds:
        raise CorpusError(f"{n_tagged} tagged photos are too few to learn from; tag at least {n_folds}")
    fold_of = folds_of(corpus, n_folds, seed=seed, groups=groups)
    n_folds = int(fold_of.max()) + 1
    extra = np.zeros(len(corpus), bool) if also is None else also & (fold_of < 0)
    p = np.zeros((len(corpus), corpus.n_words))
    for fold in range(n_folds):
        with all_or_nothing():
            annotator = make().fit(corpus.without_captions(fold_of == fold))
        asked = np.flatnonzero((fold_of == fold) | extra)
        answers = annotator.annotate(corpus[asked].without_captions())
        p[asked] += answers * np.where(extra[asked], 1 / n_folds, 1.0)[:, None]
        on_fold(fold + 1)
    return HeldOut(p, fold_of)


def judge(
    name: str, corpus: Corpus, outcome: HeldOut, words: NDArray[np.bool_] | slice = slice(None)
) -> Trial:
    """How an annotator of that name did, by its answers for hidden captions; `words` (V,) are those it counts for."""
    captions = corpus.captions if outcome.rows is None else corpus.captions[outcome.rows]
    captions, p = captions[:, words], outcome.p[:, words]
    folds = [
        summary(p[inside], captions[inside])
        for fold in range(int(outcome.fold_of.max()) + 1)
        if (inside := np.flatnonzero(outcome.fold_of == fold)).size
    ]
    values = np.array([getattr(fold, MEASURE) for fold in folds])
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return Trial(name, float(values.mean()), error, float(np.mean([fold.accuracy for fold in folds])))
