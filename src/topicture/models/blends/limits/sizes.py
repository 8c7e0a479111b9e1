"""Sizes of a corpus, from which it is foretold what a member's fit and its answers take."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.base import Annotator, columns_of

__all__ = ["Sizes", "sizes_of"]


class Sizes(NamedTuple):
    """Of what a member learns from."""

    images: int
    tagged: int
    words: int
    pairs: int  # of tagged image and word
    columns: int  # of the view
    filled: float  # columns of the view that are not 0 in an image, in the mean
    shared: float  # the same in both of two images

    @property
    def words_per_image(self) -> float:
        """Of a tagged one."""
        return self.pairs / max(self.tagged, 1)


def sizes_of(annotator: Annotator, corpus: Corpus) -> Sizes:
    """Sizes for a member that looks at the first view it needs."""
    view = annotator.needs[0] if annotator.needs else None
    columns = (columns_of(corpus, view) or 0) if view else 0
    filled, shared = float(columns), float(columns)
    rows: Any = getattr(corpus, view) if view else None
    if sparse.issparse(rows):
        shares = np.bincount(rows.indices, minlength=columns) / max(rows.shape[0], 1)
        filled, shared = float(shares.sum()), float(shares @ shares)
    return Sizes(
        len(corpus),
        int(corpus.tagged.sum()),
        corpus.n_words,
        corpus.captions.nnz,
        columns,
        filled,
        shared,
    )
