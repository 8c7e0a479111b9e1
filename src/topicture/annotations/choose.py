"""Choose hyper-parameters by held-out measures on the tagged images, in one call.

The captions of one fold of the tagged images after the other are hidden; the annotator learns from the whole corpus
without them, untagged images included, and is judged on the hidden ones. So a graph or a mixture is tried exactly as
it will be used.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.metrics import Summary, summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator

__all__ = ["Candidate", "Choice", "choose"]

# Measures that are better when smaller.
_SMALLER = ("complete_length", "perplexity")


class Candidate(NamedTuple):
    """One combination of values and what it reached: mean and standard error over the folds."""

    params: dict[str, Any]
    mean: float
    standard_error: float


class Choice(NamedTuple):
    """All candidates, the best first."""

    measure: str
    candidates: tuple[Candidate, ...]

    @property
    def params(self) -> dict[str, Any]:
        """The values to use."""
        return self.candidates[0].params

    def table(self) -> str:
        """Plain text, a line for every candidate."""
        return "\n".join(
            f"{self.measure} {c.mean:.4f} ± {c.standard_error:.4f}  "
            + ", ".join(f"{name}={value!r}" for name, value in c.params.items())
            for c in self.candidates
        )


def choose(
    name: str,
    corpus: Corpus,
    grid: Mapping[str, Sequence[Any]],
    *,
    measure: str = "accuracy",
    n_folds: int = 3,
    seed: int = 0,
    on_candidate: Callable[[Candidate], None] | None = None,
    **params: Any,
) -> Choice:
    """Try every combination of the values in `grid`; `choose(...).params` are the best.

    Parameters
    ----------
    name : registry name of the annotator
    corpus : tagged and untagged images
    grid : parameter -> values to try
    measure : a measure of topicture.annotations.metrics.summary
    n_folds : the tagged images are cut into so many folds, each hidden once
    params : the other parameters of the annotator

    Raises CorpusError if fewer images are tagged than there are folds, TopictureError for a measure that is none.
    """
    if measure not in Summary.__dataclass_fields__:
        raise TopictureError(f"choose: there is no measure {measure!r}")
    folds = _folds(corpus, n_folds, seed)
    candidates = []
    for values in itertools.product(*grid.values()):
        tried = dict(zip(grid, values, strict=True))
        reached = [
            _held_out(make_annotator(name, **{**params, **tried}), corpus, fold, measure) for fold in folds
        ]
        finite = np.isfinite(reached).all()
        error = float(np.std(reached, ddof=1) / np.sqrt(n_folds)) if finite else float("nan")
        candidates.append(Candidate(tried, float(np.mean(reached)), error))
        if on_candidate is not None:
            on_candidate(candidates[-1])
    sign = 1 if measure in _SMALLER else -1
    return Choice(measure, tuple(sorted(candidates, key=lambda c: sign * c.mean)))


def _folds(corpus: Corpus, n_folds: int, seed: int) -> list[np.ndarray]:
    tagged = np.flatnonzero(corpus.tagged)
    if not 2 <= n_folds <= len(tagged):
        raise CorpusError(
            f"choose: n_folds must lie between 2 and the number of tagged images, {len(tagged)}; got {n_folds}"
        )
    return np.array_split(np.random.default_rng(seed).permutation(tagged), n_folds)


def _held_out(annotator: Annotator, corpus: Corpus, fold: np.ndarray, measure: str) -> float:
    hidden = np.zeros(len(corpus), bool)
    hidden[fold] = True
    annotator.fit(corpus.without_captions(hidden))
    judged = corpus[np.sort(fold)]
    return float(getattr(summary(annotator.annotate(judged.without_captions()), judged.captions), measure))
