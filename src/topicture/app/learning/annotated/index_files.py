"""The folder that search and `similar` read: written from presences as they pass, with what an earlier one holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicture.atomic.mapped import new_array
from topicture.corpus import Vocabulary
from topicture.models.neighbours import blocks
from topicture.search import WordIndex
from topicture.store.shards import FeatureShards, write_shards
from topicture.vision.networks.deep import unit_rows

__all__ = ["Earlier", "write_index"]

BLOCK_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class Earlier:
    """An index of other photos that a new one takes over."""

    index: WordIndex
    images: np.ndarray  # (D,) their numbers, ascending
    features: FeatureShards | None


def write_index(
    folder: Path,
    vocabulary: Vocabulary,
    numbers: np.ndarray,
    presences: Iterable[np.ndarray],
    descriptor: np.ndarray | None,
    earlier: Earlier | None = None,
) -> None:
    """Write the index of photos, by ascending numbers, from blocks (B, V) of presences and what they look like."""
    every = numbers if earlier is None else np.concatenate([earlier.images, numbers])
    order = np.argsort(every, kind="stable")
    n_earlier = len(every) - len(numbers)
    if earlier is not None:
        presences = _merged(order < n_earlier, earlier.index, presences, len(vocabulary))
    WordIndex.build(folder, vocabulary, [str(n) for n in every[order]], presences)
    np.save(folder / "images.npy", every[order].astype(np.int64), allow_pickle=False)
    if descriptor is None:
        return
    known = earlier.features if earlier is not None else None
    if earlier is not None and known is None:
        return
    scratch = folder / "features.npy"
    rows = new_array(scratch, np.float16, (len(every), descriptor.shape[1]))
    place = np.argsort(order, kind="stable")  # of each photo in the index
    for block in blocks(n_earlier, 8 * rows.shape[1], BLOCK_BYTES):
        assert known is not None
        rows[place[block]] = known[block]
    for block in blocks(len(numbers), 8 * rows.shape[1], BLOCK_BYTES):
        rows[place[n_earlier:][block]] = unit_rows(np.asarray(descriptor[block], np.float32))
    write_shards(folder / "features", rows)
    scratch.unlink()


def _merged(
    known: np.ndarray, index: WordIndex, presences: Iterable[np.ndarray], n_words: int
) -> Iterator[np.ndarray]:
    """Rows of the earlier index and new ones in the order of `known` (D,): both come ascending already."""
    new = (row for block in presences for row in block)
    done = 0
    for block in blocks(len(known), 8 * n_words, BLOCK_BYTES):
        here = known[block]
        rows: Any = np.empty((len(here), n_words), np.float32)
        n = int(here.sum())
        if n:
            rows[here] = index.probabilities(done, done + n)
        for at in np.flatnonzero(~here):
            rows[at] = next(new)
        done += n
        yield rows
