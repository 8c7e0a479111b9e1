r"""Images with single answers as neighbours that vote on the words that they were asked about.

Among neighbours that are weighed by s, the share that has word w is known of captioned ones j and of answered ones a:

    share_w = [sum_j s_j y_jw + sum_a s_a y_aw] / [sum_j s_j + sum_a s_a]

with a the images that w was answered for, y_aw 1 for yes and 0 for no. An answered image takes part where it is as near
as the captioned neighbours are. Other words' shares are those of the captioned neighbours alone. So a yes raises the
share of its word near that image, and a no lowers it.

Symbol -> code, shape:  y_aw -> answers A V, 1 yes, -1 no | share_w sum_j s_j -> votes D V
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.models.neighbours import blocks

__all__ = ["AnsweredImages", "joined"]


class AnsweredImages(NamedTuple):
    """A images with answers about k words in all."""

    rows: np.ndarray  # (A, L) of length 1
    answers: sparse.csr_array  # (A, V)

    @property
    def words(self) -> np.ndarray:
        """The words (k,) that there is an answer about, ascending."""
        return np.unique(self.answers.indices)

    def votes(
        self, queries: np.ndarray, least: np.ndarray, weight: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights of those that say yes, and of all that were asked, for the words: (D, k) both.

        Queries (D, L) of length 1; `least` (D,) is the cosine from which on images are neighbours, `weight` their
        weight by cosine.
        """
        asked = self.answers[:, self.words]
        yes, said = (np.zeros((len(queries), asked.shape[1])) for _ in range(2))
        for block in blocks(len(queries), 8 * 3 * len(self.rows)):
            cosines = queries[block] @ self.rows.T
            weights = np.where(cosines >= least[block, None], weight(cosines), 0.0)
            yes[block], said[block] = weights @ asked.maximum(0), weights @ abs(asked)
        return yes, said

    def state(self) -> dict[str, np.ndarray]:
        """Arrays of a model file."""
        return {
            "answers.rows": self.rows,
            "answers.said": np.asarray(self.answers.data, np.float64),
            "answers.words": self.answers.indices.astype(np.int64),
            "answers.ends": self.answers.indptr.astype(np.int64),
        }

    @classmethod
    def of_file(cls, arrays: dict[str, np.ndarray], n_words: int) -> "AnsweredImages | None":
        """What `state` wrote; None where nothing was written."""
        if "answers.rows" not in arrays:
            return None
        parts = (arrays["answers.said"], arrays["answers.words"], arrays["answers.ends"])
        shape = (len(arrays["answers.rows"]), n_words)
        return cls(arrays["answers.rows"], sparse.csr_array(parts, shape=shape))


def joined(votes: np.ndarray, total: np.ndarray, yes: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Votes (D, k) of captioned neighbours of a total weight (D, 1), joined by those of answered ones.

    They stay in proportion to votes on other words: as if the total were still that of the captioned ones.
    """
    share = np.divide(total, total + asked, out=np.ones_like(asked), where=total > 0)
    return (votes + yes) * share
