r"""LapEM [shao2009]: EM of the mixture of unigrams with smoothed posteriors (MODELS.md 3.10). See lap_mix_unigram.py.

Repeat: p = softmax(A); smooth p over the graph; M-step. Q = F - lam R may fall, so the step with the largest Q is kept.
Differs from the paper: smoothing stops before it forgets the data (in cross-validation within the tagged images of
seven Corel subsets accuracy is 0.238 with ten steps, the default, and 0.218 with twenty); a pseudo-count for topics
without tagged images.
"""

from typing import Any

import numpy as np

from topicture.errors import TopictureError
from topicture.models.graphs import lap
from topicture.models.graphs.lap_mix_unigram import GraphMixture

__all__ = ["LapEM"]


class LapEM(GraphMixture):
    """Mixture of unigrams by EM, its posteriors smoothed over a graph of the images in every iteration.

    Parameters
    ----------
    n_topics : number of mixture components K
    lam : weight of the graph term in the objective that chooses the step to keep
    gamma : size of a smoothing step
    stop_smoothing : "r_tol" (until a step lowers the roughness by at most `smoothing_tol` of its first value), "fixed"
        (`max_smoothing` steps) or "best_q" (the step with the largest objective)
    max_smoothing, smoothing_tol : see stop_smoothing
    graph, temperature, continuation, annealing : see LapMixUnigram
    smoothing, eta_visual, eta_words, eps_weights, start, max_iter, tol, n_init, seed, precision : see MixUnigram
    """

    name = "lap-em"

    def __init__(
        self,
        n_topics: int = 50,
        *,
        lam: float = 2.11,
        gamma: float = 0.1,
        stop_smoothing: str = "fixed",
        max_smoothing: int = 10,
        smoothing_tol: float = 0.01,
        graph: Any = None,
        temperature: float = 1.0,
        continuation: int = 0,
        annealing: float = 1.0,
        smoothing: str = "map",
        eta_visual: float = 1.0,
        eta_words: float = 0.3,
        eps_weights: float = 1e-2,
        start: str = "kmeans",
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 3,
        seed: int = 0,
        precision: str = "float64",
    ):
        super().__init__(
            n_topics,
            smoothing=smoothing,
            eta_visual=eta_visual,
            eta_words=eta_words,
            eps_weights=eps_weights,
            start=start,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            seed=seed,
            precision=precision,
        )
        self.lam = lam
        self.gamma = gamma
        self.stop_smoothing = stop_smoothing
        self.max_smoothing = max_smoothing
        self.smoothing_tol = smoothing_tol
        self.graph = graph
        self.temperature = temperature
        self.continuation = continuation
        self.annealing = annealing

    def _update(self) -> lap.Update:
        return lap.Smoothing(self.stop_smoothing, self.gamma, self.max_smoothing, self.smoothing_tol)

    def _check_params(self) -> None:
        if self.stop_smoothing not in ("r_tol", "fixed", "best_q"):
            raise TopictureError(
                f"{self.name}: stop_smoothing must be r_tol, fixed or best_q, not {self.stop_smoothing!r}"
            )
        if not (isinstance(self.max_smoothing, int | np.integer) and self.max_smoothing >= 0):
            raise TopictureError(f"{self.name}: max_smoothing must be a whole number from 0")
        for name, largest in (("gamma", 1.0), ("smoothing_tol", np.inf)):
            if not 0 <= getattr(self, name) <= largest:
                raise TopictureError(f"{self.name}: {name} is out of range: {getattr(self, name)!r}")
        super()._check_params()
