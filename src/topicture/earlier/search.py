"""Pieces of a search that callers put together themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.measures.ranking import true_words
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.search.query import Query

__all__ = ["annotated_blocks", "relevant"]


def annotated_blocks(
    annotator: Annotator, corpus: Corpus, n_images: int = 4096
) -> Iterator[NDArray[np.float64]]:
    """What `WordIndex.build` takes: p(w | image) of a corpus, annotated `n_images` at a time."""
    for start in range(0, len(corpus), n_images):
        yield annotator.annotate(corpus[start : start + n_images])


def relevant(query: Query, captions: Any) -> NDArray[np.bool_]:
    """Which captions (D, V) have all the wanted words and none of the unwanted, (D,)."""
    has = {
        word: np.any(true_words(captions[:, list(word.ids)]), axis=1)
        for word in (*query.wanted, *query.unwanted)
    }
    columns = [*(has[word] for word in query.wanted), *(~has[word] for word in query.unwanted)]
    return np.logical_and.reduce(columns)
