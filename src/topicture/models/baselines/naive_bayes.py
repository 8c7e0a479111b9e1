r"""Tempered naive Bayes: every word of the vocabulary is a class, every visual word a piece of evidence.

    p(w | v) proportional to p(w) prod over visual words b of p(b | w)^(t v_b),
    p(b | w) = (a + sum over tagged images of y_w v_b) / normaliser

Regions of one image repeat one another, so their evidence counts only with a power t < 1.

Symbol -> code, shape:  t -> power | a -> pseudo_count | ln p(b | w) -> log_p_b V U | v -> visual_words D U
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from topicture.corpus import Corpus
from topicture.models.baselines.one_view import OneView, Tell

__all__ = ["NaiveBayes", "log_evidence"]


def log_evidence(
    captions: sparse.csr_array, visual_words: sparse.csr_array, pseudo_count: float
) -> np.ndarray:
    """ln p(b | w), (V, U), rows of p sum to 1."""
    counts = (captions.T @ visual_words).toarray() + pseudo_count
    return np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))


@dataclass(eq=False, repr=False)
class NaiveBayes(OneView):
    """Naive Bayes on bags of visual words, with a power below 1; untagged images are not used.

    Parameters
    ----------
    power : exponent of the evidence; 1 is naive Bayes as it is taught
    pseudo_count : added to the count of every visual word with every word
    background : share of the word frequencies in the answer
    """

    name = "naive-bayes"
    least_part = 0.05
    needs = ("visual_words",)
    view: str = field(default="visual_words", init=False)

    _: KW_ONLY
    power: float = 0.3
    pseudo_count: float = 0.1

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("power", "pseudo_count")

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        self.log_p_b_ = log_evidence(corpus.captions, corpus.visual_words, self.pseudo_count)
        return "counted: no iterations needed"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return softmax(np.log(self.p_w_) + self.power * (corpus.visual_words @ self.log_p_b_.T), axis=1)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {"log_p_b": self.log_p_b_}, {}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.log_p_b_ = arrays["log_p_b"]
