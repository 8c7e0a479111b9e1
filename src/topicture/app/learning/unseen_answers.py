"""Answers for the tagged photos that a model learned from, given while their own tags were hidden.

A model that has seen a photo's tags repeats them, and doubts the words that its owner forgot. So the answers that
`learn` got for hidden folds stay with the model, and `annotate` gives them for these photos.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicture.annotations.choice.trials import HeldOut
from topicture.corpus import Corpus
from topicture.errors import ModelFileError

__all__ = ["UnseenAnswers"]

# The likeliest words of each photo are kept: half a kilobyte, however large the vocabulary.
MOST_WORDS = 64


class UnseenAnswers(NamedTuple):
    """n photos, V words.

    Attributes
    ----------
    content : (n, bytes) what identifies a photo
    p : (n, V) sparse, p(word | photo) of the likeliest words
    """

    content: NDArray[np.uint8]
    p: sparse.csr_array

    @classmethod
    def of(cls, corpus: Corpus, scores: HeldOut) -> "UnseenAnswers":
        """What was answered for the tagged photos of a corpus whose ids are contents in hexadecimal."""
        inside = np.flatnonzero((scores.fold_of >= 0) & scores.p.any(axis=1))
        names = scores.of(corpus).image_ids[inside].tolist()
        ids = b"".join(bytes.fromhex(name) for name in names)
        n, V = len(inside), corpus.n_words
        kept = min(MOST_WORDS, V)
        p = scores.p[inside]
        words = np.sort(np.argsort(-p, axis=1, kind="stable")[:, :kept], axis=1).astype(np.int32)
        values = np.take_along_axis(p, words, axis=1).astype(np.float32)
        starts = np.arange(0, n * kept + 1, kept)
        rows = sparse.csr_array((values.ravel(), words.ravel(), starts), shape=(n, V))
        return cls(np.frombuffer(ids, np.uint8).reshape(n, len(ids) // max(n, 1)), rows)

    def put_into(self, p: NDArray[Any], image_ids: NDArray[np.str_]) -> NDArray[Any]:
        """The answers (D, V) for photos with such ids, with those for photos that the model learned from replaced."""
        return self.replaced(p, self.rows_of(image_ids))

    def rows_of(self, image_ids: NDArray[np.str_]) -> NDArray[np.int64]:
        """The row of each photo's answer, (D,), -1 where there is none."""
        row = {content.tobytes().hex(): i for i, content in enumerate(self.content)}
        return np.array([row.get(name, -1) for name in image_ids.tolist()], np.int64)

    def replaced(self, p: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
        """Answers (D, V) with those of photos that have a row here replaced by it."""
        found = p.copy()
        found[rows >= 0] = self.p[rows[rows >= 0]].toarray()
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Name -> array, for a model file."""
        return {
            "content": self.content,
            "starts": self.p.indptr,
            "words": self.p.indices,
            "values": self.p.data,
            "n_words": np.array([self.p.shape[1]]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_words: int, source: str) -> "UnseenAnswers":
        """What `to_arrays` gave; raises ModelFileError where it is not that."""
        try:
            content, shape = arrays["content"], (len(arrays["content"]), int(arrays["n_words"][0]))
            p = sparse.csr_array((arrays["values"], arrays["words"], arrays["starts"]), shape=shape)
            p.check_format(full_check=True)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise ModelFileError(f"{source}: the answers are incomplete ({error}); learn again") from None
        if shape[1] != n_words or content.dtype != np.uint8 or content.ndim != 2:
            raise ModelFileError(f"{source}: the answers belong to another model; learn again")
        return cls(content, p)
