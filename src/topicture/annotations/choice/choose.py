"""Choose hyper-parameters by held-out measures on the tagged images, in one call.

The captions of one fold of the tagged images after the other are hidden; the annotator learns from the whole corpus
without them, untagged images included, and is judged on the hidden ones. So a graph or a mixture is tried exactly as
it will be used. Near copies are hidden together (`models.folds`).
"""

import itertools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.measures.metrics import Summary, summary
from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing
from topicture.models.registry import make_annotator

__all__ = ["Candidate", "Choice", "choose", "choose_in_turn"]

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
    measure : a measure of topicture.annotations.measures.metrics.summary
    n_folds : the tagged images are cut into this many folds, each hidden once
    params : the other parameters of the annotator

    Raises CorpusError if fewer images are tagged than there are folds, TopictureError for a measure that is none.
    """
    return choose_in_turn(
        name, corpus, [grid], measure=measure, n_folds=n_folds, seed=seed, on_candidate=on_candidate, **params
    )


def choose_in_turn(
    name: str,
    corpus: Corpus,
    grids: Sequence[Mapping[str, Sequence[Any]]],
    *,
    measure: str = "accuracy",
    n_folds: int = 3,
    seed: int = 0,
    on_candidate: Callable[[Candidate], None] | None = None,
    **params: Any,
) -> Choice:
    """Search one grid after another, each from the best values so far: far fewer fits than their product.

    A grid may come back to a parameter of an earlier one. Combinations that were tried before are not fitted again.
    See `choose` for the parameters; a candidate names the values that were searched when it was tried.
    """
    if measure not in Summary.__dataclass_fields__:
        raise TopictureError(f"choose: there is no measure {measure!r}")
    folds = _folds(corpus, n_folds, seed)
    sign = 1 if measure in _SMALLER else -1
    reached: dict[bytes, Candidate] = {}
    for grid in grids:
        best = _ranked(reached, sign)[0].params if reached else {}
        for values in itertools.product(*grid.values()):
            tried = {**best, **dict(zip(grid, values, strict=True))}
            annotator = make_annotator(name, **{**params, **tried})
            # Not their text: that of a large array leaves its middle out.
            key = pickle.dumps(sorted(annotator.get_params(deep=False).items()))
            if key in reached:
                continue
            reached[key] = _candidate(
                tried, [_held_out(annotator, corpus, hidden, measure) for hidden in folds]
            )
            if on_candidate is not None:
                on_candidate(reached[key])
    return Choice(measure, tuple(_ranked(reached, sign)))


def _ranked(reached: Mapping[bytes, Candidate], sign: int) -> list[Candidate]:
    """The best first; of equals the one that was tried first."""
    return sorted(reached.values(), key=lambda candidate: sign * candidate.mean)


def _candidate(params: dict[str, Any], scores: Sequence[float]) -> Candidate:
    finite = np.isfinite(scores).all()
    error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if finite else float("nan")
    return Candidate(params, float(np.mean(scores)), error)


def _folds(corpus: Corpus, n_folds: int, seed: int) -> list[np.ndarray]:
    """Which images are hidden, (D,) bool, one after the other."""
    n_tagged = int(corpus.tagged.sum())
    if not 2 <= n_folds <= n_tagged:
        raise CorpusError(
            f"choose: n_folds must lie between 2 and the number of tagged images, {n_tagged}; got {n_folds}"
        )
    fold_of = folds_of(corpus, n_folds, seed=seed)
    return [fold_of == fold for fold in range(int(fold_of.max()) + 1)]


def _held_out(annotator: Annotator, corpus: Corpus, hidden: np.ndarray, measure: str) -> float:
    with all_or_nothing():
        annotator.fit(corpus.without_captions(hidden))
    judged = corpus[hidden]
    return float(getattr(summary(annotator.annotate(judged.without_captions()), judged.captions), measure))
