"""Which images with a caption or an answer are near copies: shots of one burst, a photo and its crop, or saved twice.

Images are linked where their views, less the mean of the corpus, have a high cosine; groups are the connected parts.
Two images from one place, such as a folder, are linked from a lower cosine on: bursts lie side by side. Where it is
known when images were taken, those of one place with no more than a minute between them are linked whatever they look
like; and so are those that are known to be one photo, edited and not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from topicture.corpus import Corpus
from topicture.models.neighbours import blocks, unit_rows
from topicture.models.view_rows import even_axes

__all__ = ["look_alikes", "runs"]

# On network features of 200 Corel photos and 400 crops of them, turned and brightened: no two photos of different
# folders come above 0.63; 0.8 within a folder finds 7 in 10 of the copies, and joins one photo in ten with another,
# nearly always of the same scene.
_COSINE = 0.85
_COSINE_IN_ONE_PLACE = 0.8
# In fewer columns, images of one kind are as close to one another as copies are.
_FEWEST_COLUMNS = 32
# Candidates are found in this many dimensions; where more than a few of the pairs are, in all.
_DIMENSIONS = 64
_FEW = 0.01
_MARGIN = 1e-5  # of float32
# Seconds between shots of one burst. A day on which the camera never rests would be one burst, and there would be no
# folds: then shorter pauses part it, until no burst has more than this share of the images.
_PAUSES = (60, 20, 5, 1)
_LARGEST = 1 / 3


def look_alikes(
    corpus: Corpus,
    places: Sequence[Any] | None = None,
    *,
    seconds: ArrayLike | None = None,
    photos: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """A number for the group of each image, (D,); one that is like no other is a group alone.

    So is one without caption or answer: nothing of it can be hidden.

    The descriptor decides, or the visual words where there is none.

    Parameters
    ----------
    places : (D,) where images come from
    seconds : (D,) when they were taken; NaN where that is not known
    photos : (D,) equal for images that are known to be one photo
    """
    groups = np.arange(len(corpus))
    tagged = np.flatnonzero(corpus.taught)
    if len(tagged) < 2:
        return groups
    place = None if places is None else np.unique(np.asarray(places)[tagged], return_inverse=True)[1]
    links = _alike(corpus, tagged, place)
    if seconds is not None:
        here = np.zeros(len(tagged), np.int64) if place is None else place
        links = links + _chained(_bursts(here, np.asarray(seconds, float)[tagged]))
    if photos is not None:
        links = links + _chained(np.unique(np.asarray(photos)[tagged], return_inverse=True)[1])
    component = connected_components(links, directed=False)[1]
    first = np.unique(component, return_index=True)[1]
    groups[tagged] = tagged[first[component]]
    return groups


def runs(places: NDArray[np.int64], seconds: NDArray[np.float64], pause: float) -> NDArray[np.int64]:
    """The run (n,) that each image belongs to: images of one place, taken with no longer pause between them.

    An image of unknown time is alone.
    """
    order = np.lexsort([seconds, places])  # unknown times come last
    gaps = np.diff(seconds[order])
    begins = (np.diff(places[order]) != 0) | ~(gaps <= pause)
    found = np.empty(len(places), np.int64)
    found[order] = np.concatenate([[0], np.cumsum(begins)])
    return found


def _bursts(places: NDArray[np.int64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    found = runs(places, seconds, _PAUSES[0])
    for pause in _PAUSES[1:]:
        if np.bincount(found).max() <= max(2, _LARGEST * len(found)):
            break
        found = runs(places, seconds, pause)
    return found


def _chained(group: NDArray[np.int64]) -> sparse.csr_array:
    """Links (n, n) that hold equal numbers together: each to the next of its kind."""
    order = np.argsort(group, kind="stable")
    same = np.flatnonzero(np.diff(group[order]) == 0)
    pairs = (order[same], order[same + 1])
    return sparse.csr_array((np.ones(len(same), bool), pairs), shape=(len(group), len(group)))


def _alike(corpus: Corpus, tagged: NDArray[np.int64], place: np.ndarray | None) -> sparse.csr_array:
    """Links between the tagged images by their looks; none in few columns."""
    view: Any = corpus.descriptor if corpus.descriptor is not None else corpus.visual_words
    if view is None or view.shape[1] < _FEWEST_COLUMNS:
        return sparse.csr_array((len(tagged), len(tagged)), dtype=bool)
    if sparse.issparse(view):
        rows = view[tagged].toarray()  # counts lie around 0 as they are
    else:
        rows = view[tagged].astype(np.float32) - view.mean(axis=0, dtype=np.float64).astype(np.float32)
    return _links(unit_rows(rows.astype(np.float32, copy=False)), place).tocsr()


def _links(rows: np.ndarray, place: np.ndarray | None) -> sparse.coo_array:
    """Pairs of unit rows (n, L) that are near copies, (n, n)."""
    n = len(rows)
    lowest = _COSINE if place is None else _COSINE_IN_ONE_PLACE
    near = rows
    if rows.shape[1] > 2 * _DIMENSIONS:
        near = rows @ even_axes(rows, _DIMENSIONS, np.random.default_rng(0)).astype(np.float32)
    rest = np.sqrt(np.maximum(1 - np.einsum("nk,nk->n", near, near), 0))
    found = []
    for block in blocks(n, 8 * n):
        # A cosine is the product of the projections and, at most, that of the lengths of what they leave out.
        i, j = np.nonzero(near[block] @ near.T + rest[block, None] * rest >= lowest - _MARGIN)
        if len(i) > _FEW * n * len(near[block]):
            i, j = np.nonzero(rows[block] @ rows.T >= lowest - _MARGIN)
        i += block.start
        i, j = i[i < j], j[i < j]
        for part in blocks(len(i), 8 * rows.shape[1]):
            a, b = i[part], j[part]
            cosine = np.einsum("nk,nk->n", rows[a], rows[b])
            alike = cosine >= _COSINE
            if place is not None:
                alike |= (cosine >= _COSINE_IN_ONE_PLACE) & (place[a] == place[b])
            found.append(np.stack([a[alike], b[alike]]))
    pairs = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1)
    return sparse.coo_array((np.ones(pairs.shape[1], bool), (pairs[0], pairs[1])), shape=(n, n))
