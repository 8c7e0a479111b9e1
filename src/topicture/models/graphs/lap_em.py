r"""LapEM [shao2009]: EM of a mixture of unigrams, posteriors smoothed (docs/models.md 3.10). See lap_mix_unigram.py.

Repeat: p = softmax(A); smooth p over the graph; M-step. Q = F - lam R may fall, so the step with the largest Q is kept.
Differs from the paper: smoothing stops before it forgets the data (in cross-validation within the tagged images of
seven Corel subsets accuracy is 0.238 with ten steps, the default, and 0.218 with twenty); a pseudo-count for topics
without tagged images.
"""

from dataclasses import KW_ONLY, dataclass

from topicture.models.graphs import lap
from topicture.models.graphs.lap_mix_unigram import GraphMixture

__all__ = ["LapEM"]


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    lam: float = 2.11
    stop_smoothing: str = "fixed"
    max_smoothing: int = 10
    smoothing_tol: float = 0.01
    smoothing: str = "map"

    def _update(self) -> lap.Update:
        return lap.Smoothing(self.stop_smoothing, self.gamma, self.max_smoothing, self.smoothing_tol)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("stop_smoothing", ("r_tol", "fixed", "best_q"))
        self._check_whole("max_smoothing", least=0)
        self._check_not_negative("smoothing_tol")
