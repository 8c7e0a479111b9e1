"""The estimators of pLSA, whose mathematics is in plsa.py: what PLSA and PLSAWords share, and PLSA itself."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.errors import CorpusError
from topicture.models.counts import plsa
from topicture.models.counts.plsa import Params, Prior, Settings
from topicture.models.counts.plsa_early_stop import steps_on_held_out
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator

__all__ = ["PLSA", "FoldedTopics"]


@dataclass(eq=False, repr=False)
class FoldedTopics(EMAnnotator):
    """What PLSA and PLSAWords share: they learn from tagged images only, and fold others into the topics.

    Attributes
    ----------
    fold_steps_ : the number of steps that find the proportions of an image to annotate
    """

    needs = ("visual_words",)
    params_types = (Params,)
    variant = "linked"  # a parameter of PLSA alone

    fold_steps_: int = field(init=False)

    _: KW_ONLY
    eps: float = 0.5
    power: float = 0.8
    fold_steps: int | str = 100
    max_iter: int = 100

    def transform(self, corpus: Corpus) -> np.ndarray:
        """theta of every image by fold-in on its visual words, (D, K). Captions are not looked at."""
        self._check_usable(corpus)
        fold_in = plsa.fold_in(self.fold_steps_, self.power)
        return self._values(fold_in, corpus.without_captions(), self.n_topics)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_not_negative("eps")
        self._require("power", 0 < self.power <= 1, "lie in (0, 1]")
        if self.fold_steps != "held-out":
            self._check_steps("fold_steps", or_else="'held-out'")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(
                f"{self.name}: no image is tagged, and the model learns from tagged images only"
            )
        tagged = corpus[corpus.tagged]
        self.fold_steps_ = self._settled_fold_steps(tagged)
        self._learn_topics(tagged, callback)

    def _learn_topics(self, tagged: Corpus, callback: Callable[[Any], None] | None) -> None:
        super()._fit(tagged, callback)

    def _settled_fold_steps(self, tagged: Corpus) -> int:
        return steps_on_held_out(self, tagged) if self.fold_steps == "held-out" else int(self.fold_steps)

    def _prior(self) -> Prior:
        return Prior(self.eps)

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Params:
        return plsa.init_params(corpus, self.n_topics, self.variant, rng)

    def _map_images(self, fn: Callable[[Any, Image], Any], corpus: Corpus) -> Any:
        return em.map_images(fn, self._tables_for_use(), self._batches(corpus, ("visual_words",)))

    def _tables_for_use(self) -> Any:
        return em.tables(self._model(), self.params_), self.params_.p_z, self.params_.phiW

    def _annotate_image(self) -> Callable[[Any, Image], Any]:
        return plsa.annotate(self.fold_steps_, self.power)

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._state()
        return arrays, {**facts, "fold_steps": self.fold_steps_}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self.fold_steps_ = facts["fold_steps"]
        self._check_steps("fold_steps_")


@dataclass(eq=False, repr=False)
class PLSA(FoldedTopics):
    """pLSA of visual words and caption words; learns from the tagged images only.

    Parameters
    ----------
    n_topics : number of topics K
    variant : "linked" (shared proportions, two vocabularies) or "concat" (one vocabulary)
    eps : pseudo-count of the topics' distributions
    power : exponent b of tempered EM, in (0, 1]; below 1 it guards against overfitting
    fold_steps : EM steps that find the proportions of an image to annotate; "held-out" stops early, after the number
        that suits the captions of a tenth of the tagged images best, while the model learns from the others
    max_iter, tol, n_init, seed : of the EM loop; the restart with the largest objective is kept
    precision : "float64" or "float32" for the E-step
    """

    name = "plsa"
    least_part = 0.05

    _: KW_ONLY
    variant: str = "linked"

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("variant", ("linked", "concat"))

    def _model(self) -> em.Model:
        return plsa.model(Settings(self.variant, power=self.power))
