"""Which tagged images are near copies of one another: shots of one burst, a photo and its crop, a photo saved twice.

Images are linked where their views, less the mean of the corpus, have a high cosine; groups are the connected parts.
Two images from one place, such as a folder, are linked from a lower cosine on: bursts lie side by side.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from topicture.corpus import Corpus
from topicture.models.neighbours import blocks, unit_rows
from topicture.models.view_rows import even_axes

__all__ = ["look_alikes"]

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


def look_alikes(corpus: Corpus, places: Sequence[Any] | None = None) -> NDArray[np.int64]:
    """A number for the group of each image, (D,); an untagged image, or one that is like no other, is a group alone.

    The descriptor decides, or the visual words where there is none. `places` (D,) says where images come from.
    """
    groups = np.arange(len(corpus))
    tagged = np.flatnonzero(corpus.tagged)
    view: Any = corpus.descriptor if corpus.descriptor is not None else corpus.visual_words
    if view is None or view.shape[1] < _FEWEST_COLUMNS or len(tagged) < 2:
        return groups
    if sparse.issparse(view):
        rows = view[tagged].toarray()  # counts lie around 0 as they are
    else:
        rows = view[tagged].astype(np.float32) - view.mean(axis=0, dtype=np.float64).astype(np.float32)
    place = None if places is None else np.unique(np.asarray(places)[tagged], return_inverse=True)[1]
    links = _links(unit_rows(rows.astype(np.float32, copy=False)), place)
    component = connected_components(links, directed=False)[1]
    first = np.unique(component, return_index=True)[1]
    groups[tagged] = tagged[first[component]]
    return groups


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
