r"""pLSA-Words [monay2004]: topics of the captions first, then their visual words (docs/models.md 3.5).

Stage 1: pLSA on the captions of the tagged images -> theta, phiW. Stage 2: theta stays, EM for phiF on the visual words
of the same images (concave). Stage 3: an image to annotate is folded in on its visual words with phiF.
Values, updates and fold-in are those of plsa.py. Differs from the paper: pseudo-counts, tempered EM and early stopping,
which keep it from overfitting. In cross-validation within the tagged images of seven Corel subsets (50 topics) accuracy
is 0.17 untempered, 0.23 with the default exponent 0.8 and 0.25 with 0.7; but with 100 topics 0.7 merges all topics into
one, so 0.8 is the default.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import plsa
from topicture.models.counts.folded_topics import FoldedTopics
from topicture.models.counts.plsa import Params, Prior, Settings
from topicture.models.em import loop as em

__all__ = ["PLSAWords", "fit_visual"]


def fit_visual(
    batches: Batches, params: Params, theta: np.ndarray, prior: Prior, power: float = 1.0, **settings: Any
) -> em.FitResult:
    """Stage 2: phiF for the theta (D, K) of stage 1."""
    return em.fit(
        plsa.model(Settings(modalities=("visual",), learn=("phi",), power=power)),
        batches,
        params,
        prior,
        posteriors=plsa.posteriors(batches, theta),
        **settings,
    )


class PLSAWords(FoldedTopics):
    """pLSA whose topics come from the captions alone; learns from the tagged images only.

    Parameters
    ----------
    n_topics : number of topics K
    eps : pseudo-count of the topics' distributions
    power : exponent b of tempered EM, in (0, 1]; below 1 it guards against overfitting
    fold_steps : EM steps that find the proportions of an image to annotate, or "held-out": see PLSA
    max_iter, tol, n_init, seed : of the EM loops; the restart with the largest objective of stage 1 is kept
    precision : "float64" or "float32" for the E-step

    Attributes
    ----------
    objective_trace_ : of stage 1
    visual_trace_ : objective of stage 2 (not stored in model files)
    """

    name = "plsa-words"
    least_part = 0.05

    def _learn_topics(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        captions = self._batches(corpus)
        words, tried = em.fit_restarts(
            self._model(),
            captions,
            self._starts(corpus),
            self._prior(),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=callback,
        )
        interrupted = words.reason is em.Results.interrupted
        visual = fit_visual(
            self._batches(corpus, ("visual_words",)),
            words.params,
            plsa.thetas(captions, words.posteriors),
            self._prior(),
            self.power,
            max_iter=1 if interrupted else self.max_iter,  # without any, topics would have no visual words
            tol=self.tol,
        )
        self.params_ = Params(words.params.p_z, words.params.phiW, visual.params.phiF)
        self.objective_trace_, self.visual_trace_ = words.trace, visual.trace
        self.n_iter_ = words.n_iter
        interrupted = interrupted or visual.reason is em.Results.interrupted
        self.result_ = (em.Results.interrupted if interrupted else words.reason).value
        self.restarts_ = np.array([result.objective for result in tried])

    def _model(self) -> em.Model:
        return plsa.model(Settings(modalities=("words",), power=self.power))
