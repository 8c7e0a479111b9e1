r"""Empirical baseline: word frequencies of the tagged images, the same for every image (docs/models.md 3.8).

p(w) = sum over tagged images of W_w, normalised; uniform if no image is tagged.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from topicture.corpus import Corpus
from topicture.models.base import Annotator

__all__ = ["Empirical", "word_frequencies"]


def word_frequencies(corpus: Corpus, pseudo_count: float = 0.0) -> np.ndarray:
    """p(w), (V,): relative frequency among all caption tokens, `pseudo_count` added to every word.

    A word that was said to be true of an image without a caption is one token.
    """
    totals = np.asarray(corpus.answers_as_captions().captions.sum(axis=0)).ravel() + pseudo_count
    return totals / totals.sum() if totals.sum() > 0 else np.full(len(totals), 1 / len(totals))


@dataclass(eq=False, repr=False)
class Empirical(Annotator):
    """Gives every image the word frequencies of the tagged images: the baseline that every model must beat.

    Parameters
    ----------
    pseudo_count : added to every word, so that no word has probability 0
    """

    name = "empirical"

    _: KW_ONLY
    pseudo_count: float = 0.0

    def _check_params(self) -> None:
        self._require("pseudo_count", 0 <= self.pseudo_count < np.inf, "be at least 0")

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        self.p_w_ = word_frequencies(corpus, self.pseudo_count)
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0
        self.result_ = "counted: no iterations needed"

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return np.tile(self.p_w_, (len(corpus), 1))

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {"p_w": self.p_w_}, {}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.p_w_ = arrays["p_w"]
