r"""What the annotators without a latent variable share: they learn from the tagged images' rows of one view.

A model gives every image scores over words, not negative. Scores become a distribution, of which a share `background`
is the word frequencies: no word has probability 0, and an image about which a model knows nothing gets the frequencies.

What single answers take from a word goes to no other, or a photo that has none of them would get the next for every no:

    p_iw = (1 - b) [s_iw + t_i p(w)] / (sum_v s_iv + t_i) + b p(w),    t_i = sum_w [s'_iw - s_iw]_+

with s' the scores before the answers. Without answers t = 0.

Symbol -> code, shape:  rows -> (D, L) sparse counts or dense numbers | p(w) -> p_w_ V | s -> scores D V | t -> taken D
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.empirical import word_frequencies
from topicture.models.neighbours import blocks, unit_rows
from topicture.models.spaces.latent_space import NeededViews

__all__ = ["VIEWS", "OneView", "Scaling", "Step", "Tell", "captions_from", "captions_state", "scaling_of"]

VIEWS = ("descriptor", "visual_words")
# Added to every word's count, so that a word that no tagged image has is rare, not impossible.
_PSEUDO_COUNT = 0.5
# Scaled rows of more numbers than this are kept in float32: half a gigabyte of float64.
_MANY_NUMBERS = 1 << 26

Tell = Callable[[int, int | None], None]
"""Told how many steps of learning are done, and of how many; None where that is not known before."""


class Step(NamedTuple):
    """What a callback is told after every step."""

    done: int
    total: int | None


@dataclass(eq=False, repr=False)
class OneView(Annotator):
    """Scores of words from one view; a subclass implements `_learn`, `_scores`, `_view_state` and `_restore_view`.

    Attributes
    ----------
    p_w_ : (V,) word frequencies
    """

    needs: ClassVar[Any] = NeededViews()

    _: KW_ONLY
    view: str = "descriptor"
    background: float = 0.1

    p_w_: np.ndarray = field(init=False)

    # --- Learn -------------------------------------------------------------------------------------------

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(f"{self.name}: no image is tagged, so there are no words to learn")
        self.p_w_ = word_frequencies(corpus, _PSEUDO_COUNT)
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0
        self.result_ = self._learn(corpus, _teller(callback))

    @abstractmethod
    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        """Learn from a corpus with at least one tagged image; says in words how that ended.

        Where there are steps, `tell` hears of every one; what it raises ends the fit.
        """

    # --- Use ---------------------------------------------------------------------------------------------

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        p, taken = self._scores_and_taken(corpus)
        totals = p.sum(axis=1)
        if taken is not None:
            p += taken[:, None] * self.p_w_
            totals += taken
        known = totals > 0
        p /= np.where(known, totals, 1.0)[:, None]
        p[~known] = self.p_w_
        p *= 1 - self.background
        p += self.background * self.p_w_
        return p

    def _scores_and_taken(self, corpus: Corpus) -> tuple[np.ndarray, np.ndarray | None]:
        """Scores, and how much of them answers took, (D,); None where there were no answers."""
        return self._scores(corpus), None

    @abstractmethod
    def _scores(self, corpus: Corpus) -> np.ndarray:
        """Scores (D, V), not negative, in an array of their own: it is changed."""

    # --- Checks and files --------------------------------------------------------------------------------

    def _columns(self, corpus: Corpus) -> dict[str, int]:
        self._check_choice("view", VIEWS)
        return super()._columns(corpus)

    def _check_params(self) -> None:
        self._require("background", 0 <= self.background <= 1, "lie between 0 and 1")

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = self._view_state()
        return {**arrays, "p_w": self.p_w_}, facts

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.p_w_ = arrays["p_w"]
        self._restore_view(arrays, facts)

    @abstractmethod
    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]: ...

    @abstractmethod
    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None: ...


def _teller(callback: Callable[[Any], None] | None) -> Tell:
    def tell(done: int, total: int | None) -> None:
        if callback is not None:
            callback(Step(done, total))

    return tell


# --- Rows ---------------------------------------------------------------------------------------------------------


class Scaling:
    """Rows of a view with directions that can be compared: rare visual words count more, columns are centred.

    Parameters
    ----------
    centre : (L,) subtracted from dense numbers; 0 for counts
    weight : (L,) factor of every column
    """

    def __init__(self, centre: np.ndarray, weight: np.ndarray):
        self.centre = centre
        self.weight = weight

    def __call__(self, rows: Any) -> np.ndarray:
        """Dense rows (D, L) of length 1; a row without anything stays 0. Many rows are kept in float32."""
        many = rows.shape[0] * rows.shape[1] > _MANY_NUMBERS
        scaled = np.empty(rows.shape, np.float32 if many else np.float64)
        for block in blocks(rows.shape[0], 32 * rows.shape[1]):
            part = rows[block]
            dense = part.toarray() if sparse.issparse(part) else np.asarray(part, np.float64)
            scaled[block] = unit_rows((dense - self.centre) * self.weight)
        return scaled


def scaling_of(rows: Any) -> Scaling:
    """Inverse document frequencies for sparse counts, ln((D + 1)/(d + 1)) + 1; the mean for dense numbers."""
    if sparse.issparse(rows):
        n_images = np.asarray((rows > 0).sum(axis=0)).ravel()
        return Scaling(np.zeros(rows.shape[1]), np.log((rows.shape[0] + 1) / (n_images + 1)) + 1)
    return Scaling(rows.mean(axis=0, dtype=np.float64), np.ones(rows.shape[1]))


# --- Files --------------------------------------------------------------------------------------------------------


def captions_state(captions: sparse.csr_array) -> dict[str, np.ndarray]:
    """Sparse captions (N, V) as arrays of a model file."""
    return {
        "captions.counts": np.asarray(captions.data, np.float64),
        "captions.words": captions.indices.astype(np.int64),
        "captions.ends": captions.indptr.astype(np.int64),
    }


def captions_from(arrays: dict[str, np.ndarray], n_words: int) -> sparse.csr_array:
    """What `captions_state` wrote."""
    ends = arrays["captions.ends"]
    return sparse.csr_array(
        (arrays["captions.counts"], arrays["captions.words"], ends), shape=(len(ends) - 1, n_words)
    )
