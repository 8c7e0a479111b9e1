"""What a fit tells: why it ended, how far it is, what it found."""

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FitResult", "Progress", "Results"]


class Results(Enum):
    """Why a fit ended; the value is what to tell a person."""

    converged = "converged: the objective changed by less than the tolerance"
    max_iter = "stopped at the largest number of iterations; raise max_iter to go on"
    objective_fell = (
        "the objective fell, which this algorithm must never do; the last good parameters are kept"
    )
    fell_as_allowed = (
        "the objective fell, which this algorithm does not exclude; the step with the largest is kept"
    )
    not_finite = "the objective was not a finite number; the last good parameters are kept"
    interrupted = "interrupted; the best parameters so far are kept"


class Progress(NamedTuple):
    """What a callback is told after every E-step."""

    restart: int
    n_restarts: int
    iteration: int
    max_iter: int
    objective: float


class FitResult(NamedTuple):
    params: Any
    posteriors: list[Any]  # one entry per chunk, with its leading axes; none where shards keep them elsewhere
    trace: np.ndarray  # objective before the first and after every M-step
    reason: Results
    n_iter: int  # number of M-steps behind params
    rejected: float | None = None  # the objective of the step that fell, if one did

    @property
    def objective(self) -> float:
        return float(self.trace[-1]) if len(self.trace) else -math.inf
