r"""Weighted nearest neighbours: the tagged images most alike vote with their words.

    p(w | x) proportional to sum over the Z nearest tagged images j of [cos(x, x_j)]_+^s y_jw

Visual words are weighted by their inverse document frequencies, dense numbers are centred. Images with single answers
vote on the words that they were asked about (`answered_neighbours`).

Symbol -> code, shape:  Z -> n_neighbours | s -> power | x_j -> rows_ N L | y_j -> captions_ N V
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.baselines.answered_neighbours import AnsweredImages, joined
from topicture.models.baselines.one_view import (
    OneView,
    Scaling,
    Tell,
    captions_from,
    captions_state,
    scaling_of,
)
from topicture.models.neighbours import Neighbours, nearest, shares_of, votes_of

__all__ = ["KNN", "NeighbourView"]


@dataclass(eq=False, repr=False)
class NeighbourView(OneView):
    """A one-view annotator that keeps the tagged images: their scaled rows, of length 1, and their captions."""

    n_neighbours: int = 100
    scaling_: Scaling = field(init=False)
    rows_: np.ndarray = field(init=False)
    captions_: sparse.csr_array = field(init=False)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_whole("n_neighbours")

    def _keep(self, corpus: Corpus) -> None:
        tagged = corpus[corpus.tagged]
        self.scaling_ = scaling_of(getattr(tagged, self.view))
        self.rows_ = self.scaling_(getattr(tagged, self.view))
        self.captions_ = sparse.csr_array(tagged.captions)

    def _nearest(self, corpus: Corpus) -> Neighbours:
        return nearest(self.scaling_(getattr(corpus, self.view)), self.rows_, self.n_neighbours)

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        scaling = {"centre": self.scaling_.centre, "weight": self.scaling_.weight}
        return {**captions_state(self.captions_), **scaling, "rows": self.rows_}, {}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.scaling_ = Scaling(arrays["centre"], arrays["weight"])
        self.rows_ = arrays["rows"]
        self.captions_ = captions_from(arrays, len(self.p_w_))


@dataclass(eq=False, repr=False)
class KNN(NeighbourView):
    """Nearest neighbours by cosine; images without caption or answer are not used.

    Parameters
    ----------
    n_neighbours : how many vote; all tagged images if there are fewer
    power : exponent of the cosine; the larger, the more the nearest decide
    view : "descriptor" or "visual_words"
    background : share of the word frequencies in the answer
    """

    name = "knn"
    uses_answers = True
    least_part = 0.002

    n_neighbours: int = 200
    _: KW_ONLY
    power: float = 3.0

    answered_: AnsweredImages | None = field(init=False)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("power")

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        self._keep(corpus)
        self.answered_ = None
        if corpus.answered.any():
            asked = corpus[corpus.answered]
            self.answered_ = AnsweredImages(
                self.scaling_(getattr(asked, self.view)), sparse.csr_array(asked.answers)
            )
        return f"{len(self.rows_)} tagged images kept: no iterations needed"

    def _scores(self, corpus: Corpus) -> np.ndarray:
        return self._scores_and_taken(corpus)[0]

    def _scores_and_taken(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray | None]:
        near = self._nearest(corpus)
        weights = self._weight(near.cosines)
        votes = votes_of(Neighbours(near.rows, weights), self.captions_)
        if self.answered_ is None:
            return shares_of(votes, self.p_w_), None
        words, before = self.answered_.words, votes[:, self.answered_.words]
        # Where there are fewer captioned images, all are neighbours.
        least = near.cosines[:, -1] if near.rows.shape[1] == self.n_neighbours else -np.inf
        rows = self.scaling_(getattr(corpus, self.view))
        yes, asked = self.answered_.votes(rows, np.broadcast_to(least, len(rows)), self._weight)
        votes[:, words] = joined(before, weights.sum(axis=1, keepdims=True), yes, asked)
        return votes, np.maximum(before - votes[:, words], 0.0).sum(axis=1)

    def _weight(self, cosines: np.ndarray) -> np.ndarray:
        return np.maximum(cosines, 0.0) ** self.power

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._view_state()
        return {**arrays, **({} if self.answered_ is None else self.answered_.state())}, facts

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore_view(arrays, facts)
        self.answered_ = AnsweredImages.of_file(arrays, len(self.p_w_))
