"""Images of unequal size, padded into a few shapes with masks, in blocks and chunks that bound memory.

A *block* is what one step of a scan works on; a *chunk* is a stack of blocks of one padded shape, the unit
that is handed to a compiled pass. Images are sorted by size and cut into at most `max_shapes` groups, so the
number of compiled shapes never grows with the corpus. Padding is done once and kept while it fits in
`keep_bytes`; beyond that each chunk is padded again when its turn comes, so memory follows the chunk and not
the corpus.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus.checks import ranges
from topicture.corpus.corpus import Corpus
from topicture.errors import CorpusError
from topicture.moved import renamed

__all__ = ["Batches", "Chunk", "Image", "Sizes", "Tokens"]

_OWN_SHAPE = 4096  # images: in so many, padding costs more than compiling once more, such as for another fold
VIEWS = ("captions", "visual_words", "regions", "region_words", "descriptor")


class Tokens(NamedTuple):
    """A bag of words: distinct ids (n,) with their counts (n,); padding has id 0 and count 0."""

    ids: Any
    counts: Any


class Image(NamedTuple):
    """One image, padded. A batch of images is the same with leading axes. Views that were not asked for are None."""

    weight: Any  # 1 for an image, 0 for padding
    tagged: Any  # 1 if the image has a caption
    words: Any  # Tokens (M,): the caption
    visual: Any  # Tokens (n,): visual words of the image
    regions: Any  # (N, F)
    region_mask: Any  # (N,) 1 for a region, 0 for padding
    bags: Any  # Tokens (N, n): visual words of each region
    descriptor: Any  # (L,)


class Sizes(NamedTuple):
    """Padded sizes of one group of images: caption words, visual words, regions, visual words of a region."""

    words: int
    visual: int
    regions: int
    bag: int


class Chunk(NamedTuple):
    """Images of one padded shape: their positions in the corpus, and arrays with leading axes (blocks, block)."""

    rows: np.ndarray
    image: Image


class _Plan(NamedTuple):
    rows: np.ndarray
    sizes: Sizes
    n_blocks: int
    block: int


class Batches:
    """The padded form of the views of a corpus; iterate over it for its chunks, as often as needed.

    Parameters
    ----------
    views : names of the corpus fields that the model reads
    block_images : from the padded sizes of a group, how many images one scan step should hold
    chunk_images, chunk_bytes : at most this many images, and this much memory, are padded and worked on at once
    max_shapes : at most this many padded shapes
    keep_bytes : padded chunks are kept if all of them together take no more
    multiple : the number of blocks of a chunk is a multiple of this (the number of devices)
    """

    def __init__(
        self,
        corpus: Corpus,
        views: Sequence[str],
        *,
        dtype: Any = np.float64,
        block_images: Callable[[Sizes], int] = lambda sizes: 64,
        chunk_images: int = 8192,
        chunk_bytes: int = 1 << 28,
        max_shapes: int = 4,
        keep_bytes: int = 1 << 29,
        multiple: int = 1,
    ):
        for view in views:
            if view not in VIEWS:
                raise CorpusError(f"batches: there is no view {view!r}")
            if getattr(corpus, view) is None:
                raise CorpusError(missing_view(view))
        self.corpus, self.views, self.dtype = corpus, tuple(views), np.dtype(dtype)
        self._plans = _plan(
            _sizes(corpus, views),
            block_images,
            lambda sizes: min(chunk_images, chunk_bytes // max(1, self._bytes(sizes))),
            max_shapes,
            multiple,
        )
        total = sum(plan.n_blocks * plan.block * self._bytes(plan.sizes) for plan in self._plans)
        self._keep = total <= keep_bytes
        self._kept: dict[int, Chunk] = {}

    def __iter__(self) -> Iterator[Chunk]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Chunk:
        if i in self._kept:
            return self._kept[i]
        chunk = Chunk(self._plans[i].rows, self._pad(self._plans[i]))
        if self._keep:
            self._kept[i] = chunk
        return chunk

    def __len__(self) -> int:
        return len(self._plans)

    def rows(self, i: int) -> np.ndarray:
        """Positions in the corpus of the images of chunk i, which need not be padded for that."""
        return self._plans[i].rows

    @property
    def in_memory(self) -> bool:
        """Whether padded chunks stay in memory between passes."""
        return self._keep

    @property
    def kept(self) -> bool:
        """The earlier name of `in_memory`."""
        return renamed(self, "kept", "in_memory")

    @property
    def shapes(self) -> set[tuple[int, ...]]:
        """The distinct padded shapes: each costs one compilation of a pass."""
        return {(plan.n_blocks, plan.block, *plan.sizes) for plan in self._plans}

    # --- Padding -----------------------------------------------------------------------------------------

    def _bytes(self, sizes: Sizes) -> int:
        """Memory of one padded image."""
        words, visual, regions, bag = sizes
        token = 4 + self.dtype.itemsize
        total = 0
        if "captions" in self.views:
            total += words * token
        if "visual_words" in self.views:
            total += visual * token
        if "regions" in self.views:
            total += regions * (self.corpus.n_features or 0) * self.dtype.itemsize
        if "region_words" in self.views:
            total += regions * bag * token
        if "descriptor" in self.views:
            total += self.corpus.descriptor.shape[1] * self.dtype.itemsize  # type: ignore[union-attr]
        return total

    def _pad(self, plan: _Plan) -> Image:
        corpus, dtype, rows = self.corpus, self.dtype, plan.rows
        lead = (plan.n_blocks, plan.block)
        n_padded = plan.n_blocks * plan.block

        def shaped(array: np.ndarray) -> np.ndarray:
            return array.reshape(*lead, *array.shape[1:])

        weight = np.zeros(n_padded, dtype)
        weight[: len(rows)] = 1
        tagged = np.zeros(n_padded, dtype)
        tagged[: len(rows)] = corpus.tagged[rows]
        words = visual = bags = regions = region_mask = descriptor = None
        if "captions" in self.views:
            words = _pad_tokens(corpus.captions, rows, n_padded, plan.sizes.words, dtype)
            words = Tokens(*map(shaped, words))
        if "visual_words" in self.views:
            visual = _pad_tokens(corpus.visual_words, rows, n_padded, plan.sizes.visual, dtype)  # type: ignore[arg-type]
            visual = Tokens(*map(shaped, visual))
        if corpus.region_offsets is not None and {"regions", "region_words"} & set(self.views):
            n_regions = corpus.n_regions[rows]
            source = ranges(corpus.region_offsets[rows], n_regions)
            target = ranges(np.arange(len(rows)) * plan.sizes.regions, n_regions)
            by_image = (n_padded, plan.sizes.regions)
            region_mask = np.zeros(n_padded * plan.sizes.regions, dtype)
            region_mask[target] = 1
            region_mask = shaped(region_mask.reshape(by_image))
            if "regions" in self.views:
                features = np.asarray(corpus.regions[source], dtype)  # type: ignore[index]
                regions = shaped(_spread(features, target, by_image))
            if "region_words" in self.views:
                bag = _pad_tokens(corpus.region_words, source, len(source), plan.sizes.bag, dtype)  # type: ignore[arg-type]
                bags = Tokens(*(shaped(_spread(part, target, by_image)) for part in bag))
        if "descriptor" in self.views:
            descriptor = np.zeros((n_padded, corpus.descriptor.shape[1]), dtype)  # type: ignore[union-attr]
            descriptor[: len(rows)] = corpus.descriptor[rows]  # type: ignore[index]
            descriptor = shaped(descriptor)
        return Image(shaped(weight), shaped(tagged), words, visual, regions, region_mask, bags, descriptor)


def missing_view(view: str) -> str:
    """What to tell a user whose corpus lacks a view that a model needs."""
    how = {
        "regions": "describe regions when you build the corpus (regions=...)",
        "region_words": "count visual words in each region (region_words=...)",
        "visual_words": "count visual words in each image (visual_words=..., or region_words=...)",
        "descriptor": "describe whole images (descriptor=...)",
    }
    return f"the model needs the view '{view}', which the corpus lacks: {how.get(view, 'add it')}"


def _pad_tokens(
    matrix: sparse.csr_array, rows: np.ndarray, n_padded: int, width: int, dtype: np.dtype
) -> Tokens:
    """The non-zero entries of the chosen rows, as ids and counts of shape (n_padded, width)."""
    sizes = np.diff(matrix.indptr)[rows]
    source = ranges(matrix.indptr[rows].astype(np.int64), sizes)
    target = ranges(np.arange(len(rows)) * width, sizes)
    ids = np.zeros(n_padded * width, np.int32)
    counts = np.zeros(n_padded * width, dtype)
    ids[target] = matrix.indices[source]
    counts[target] = matrix.data[source]
    return Tokens(ids.reshape(n_padded, width), counts.reshape(n_padded, width))


def _spread(rows: np.ndarray, target: np.ndarray, by_image: tuple[int, int]) -> np.ndarray:
    """Rows (R, .) at their places among all padded regions, (images, regions, .)."""
    n_padded, n_regions = by_image
    out = np.zeros((n_padded * n_regions, rows.shape[1]), rows.dtype)
    out[target] = rows
    return out.reshape(n_padded, n_regions, rows.shape[1])


# --- Which images go together ------------------------------------------------------------------------------


def _sizes(corpus: Corpus, views: Sequence[str]) -> np.ndarray:
    """Sizes of every image, (D, 4) in the order of `Sizes`; 0 for views that are not used."""
    sizes = np.zeros((len(corpus), 4), np.int64)
    if "captions" in views:
        sizes[:, 0] = np.diff(corpus.captions.indptr)
    if "visual_words" in views:
        sizes[:, 1] = np.diff(corpus.visual_words.indptr)  # type: ignore[union-attr]
    if {"regions", "region_words"} & set(views):
        sizes[:, 2] = corpus.n_regions
    if "region_words" in views:
        # The largest bag among the regions of the image. reduceat needs non-empty segments.
        bag = np.diff(corpus.region_words.indptr)  # type: ignore[union-attr]
        some = corpus.n_regions > 0
        if some.any():
            starts = corpus.region_offsets[:-1][some]  # type: ignore[index]
            sizes[some, 3] = np.maximum.reduceat(bag, starts)
    return sizes


def _plan(
    sizes: np.ndarray,
    block_images: Callable[[Sizes], int],
    chunk_images: Callable[[Sizes], int],
    max_shapes: int,
    multiple: int,
) -> list[_Plan]:
    plans = []
    for rows in _cut(sizes, max_shapes):
        largest = sizes[rows].max(axis=0)
        # A large group earns a shape of its own; small ones share a few.
        padded = Sizes(*(int(n) if len(rows) >= _OWN_SHAPE else _round_up(int(n)) for n in largest))
        at_most = max(multiple, chunk_images(padded))
        # All chunks of a group share one shape, so the images are dealt out evenly.
        n_chunks = -(-len(rows) // at_most)
        per_device = _round_up(-(-len(rows) // (n_chunks * multiple)))
        block = max(1, min(block_images(padded), per_device, at_most // multiple))
        n_blocks = multiple * min(-(-per_device // block), at_most // (block * multiple))
        for start in range(0, len(rows), n_blocks * block):
            plans.append(_Plan(rows[start : start + n_blocks * block], padded, n_blocks, block))
    return plans


def _cut(sizes: np.ndarray, max_shapes: int) -> list[np.ndarray]:
    """The images in at most `max_shapes` groups of similar size, cut where that saves most padding.

    Every group costs a compilation, so the fewest groups are taken that come near the least volume: within a tenth, or
    within a half where there are so few images that compiling takes longer than learning from them.
    """
    cost = _volume(sizes)
    order = np.argsort(cost, kind="stable")
    if len(order) < 64:
        return [order]
    # Cuts are considered where the rounded size changes, at a few dozen places.
    distinct, first = np.unique(cost[order], return_index=True)
    starts = first[np.unique([_round_up(int(c)) for c in distinct], return_index=True)[1]]
    largest = np.vectorize(_round_up)(np.maximum.reduceat(sizes[order], starts, axis=0))
    ends = np.append(starts[1:], len(order))
    # best[g][j]: least padded volume of all images before start j in g groups, and where the last group begins.
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    for _ in range(min(max_shapes, len(starts))):
        best.append(
            {
                j + 1: min(
                    (before + _volume(largest[i : j + 1].max(axis=0)) * (ends[j] - starts[i]), i)
                    for i, (before, _) in best[-1].items()
                    if i <= j
                )
                for j in range(len(best) - 1, len(starts))
            }
        )
    totals = [table[len(starts)][0] for table in best[1:]]
    allowed = 1.1 if len(order) >= _OWN_SHAPE else 1.5
    n_groups = 1 + next(g for g, total in enumerate(totals) if total <= allowed * min(totals))
    cuts, j = [len(order)], len(starts)
    for table in best[n_groups:0:-1]:
        j = table[j][1]
        cuts.append(int(starts[j]))
    return [order[start:end] for end, start in pairwise(cuts)][::-1]


def _volume(sizes: np.ndarray) -> Any:
    """Numbers stored for images of the given sizes (..., 4)."""
    words, visual, regions, bag = np.moveaxis(sizes, -1, 0)
    return words + visual + regions * np.maximum(1, bag)


def _round_up(n: int) -> int:
    """The next of 0, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, ...: 2 steps an octave to 64, 4 to 512, then 8.

    Few shapes while a compilation costs more than a pass, little padding where it is the other way round.
    """
    if n <= 8:
        return -(-n // 4) * 4
    power = 1 << (int(n) - 1).bit_length()
    step = power // (4 if n <= 64 else 8 if n <= 512 else 16)
    return -(-n // step) * step
