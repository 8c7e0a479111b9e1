"""What is known of true words that captions lack: how complete captions are, and where images come from.

`completeness` (V,) is the share of a word's true tags that captions hold, `places` (D,) are numbers of folders. Models
that complete captions (`models.completion`) need the first and make use of the second; for all others neither is there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from topicture.errors import CorpusError

if TYPE_CHECKING:
    from topicture.corpus.corpus import Corpus

__all__ = ["check_omissions", "places_of", "shares_of", "stacked_places"]


def shares_of(values: Any) -> np.ndarray | None:
    """Shares of words as float64 (a copy)."""
    return None if values is None else np.array(values, np.float64)


def places_of(values: Any) -> np.ndarray | None:
    """Numbers of places, from anything that can be compared: names of folders, say."""
    return None if values is None else np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64)


def check_omissions(corpus: "Corpus") -> None:
    """Raise CorpusError where they do not fit the images and words."""
    shares, places = corpus.completeness, corpus.places
    if shares is not None:
        if shares.shape != (corpus.n_words,):
            raise CorpusError(f"completeness: {shares.shape}, but there are {corpus.n_words} words")
        bad = np.flatnonzero(~((shares > 0) & (shares <= 1)))  # also refuses NaN
        if bad.size:
            word = corpus.vocabulary.words[int(bad[0])]
            raise CorpusError(
                f"completeness: {word!r}: a share lies above 0 and is at most 1, not {shares[bad[0]]:g}"
            )
    if places is not None and places.shape != (len(corpus),):
        raise CorpusError(f"places: {places.shape}, but there are {len(corpus)} images")


def stacked_places(parts: Sequence["Corpus"]) -> np.ndarray | None:
    """The places of several corpora one after the other, no two of which share one; None where one has none."""
    found, first = [], 0
    for part in parts:
        if part.places is None:
            return None
        found.append(part.places + first)
        first += int(part.places.max()) + 1
    return np.concatenate(found)
