"""Images of unequal size, padded into a few shapes with masks, in blocks and chunks that bound memory.

A *block* is what one step of a scan works on; a *chunk* is a stack of blocks of one padded shape, the unit
that is handed to a compiled pass. Images are sorted by size and cut into at most `max_shapes` groups, so the
number of compiled shapes never grows with the corpus. Padding is done once and kept while it fits in
`keep_bytes`; beyond that each chunk is padded again when its turn comes, so memory follows the chunk and not
the corpus.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus.checks import ranges
from topicture.corpus.corpus import Corpus
from topicture.errors import CorpusError

__all__ = ["Batches", "Chunk", "Image", "Sizes", "Tokens"]

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
    chunk_images : at most so many images are padded and worked on at once
    """

    def __init__(
        self,
        corpus: Corpus,
        views: Sequence[str],
        *,
        dtype: Any = np.float64,
        block_images: Callable[[Sizes], int] = lambda sizes: 64,
        chunk_images: int = 8192,
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
        self._plans = _plan(_sizes(corpus, views), block_images, chunk_images, max_shapes, multiple)
        self._keep = sum(self._bytes(plan) for plan in self._plans) <= keep_bytes
        self._kept: dict[int, Chunk] = {}

    def __iter__(self) -> Iterator[Chunk]:
        for i, plan in enumerate(self._plans):
            if i in self._kept:
                yield self._kept[i]
                continue
            chunk = Chunk(plan.rows, self._pad(plan))
            if self._keep:
                self._kept[i] = chunk
            yield chunk

    def __len__(self) -> int:
        return len(self._plans)

    @property
    def kept(self) -> bool:
        """Whether padded chunks stay in memory between passes."""
        return self._keep

    @property
    def shapes(self) -> set[tuple[int, ...]]:
        """The distinct padded shapes: each costs one compilation of a pass."""
        return {(plan.n_blocks, plan.block, *plan.sizes) for plan in self._plans}

    # --- Padding -----------------------------------------------------------------------------------------

    def _bytes(self, plan: _Plan) -> int:
        n, (words, visual, regions, bag) = plan.n_blocks * plan.block, plan.sizes
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
        return n * total

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
            region_mask = np.zeros(n_padded * plan.sizes.regions, dtype)
            region_mask[target] = 1
            region_mask = shaped(region_mask.reshape(n_padded, -1))
            if "regions" in self.views:
                regions = np.zeros((n_padded * plan.sizes.regions, corpus.n_features or 0), dtype)
                regions[target] = corpus.regions[source]  # type: ignore[index]
                regions = shaped(regions.reshape(n_padded, plan.sizes.regions, -1))
            if "region_words" in self.views:
                ids, counts = _pad_tokens(corpus.region_words, source, len(source), plan.sizes.bag, dtype)  # type: ignore[arg-type]
                bags = Tokens(
                    *(
                        shaped(
                            _spread(part, target, n_padded * plan.sizes.regions).reshape(
                                n_padded, plan.sizes.regions, -1
                            )
                        )
                        for part in (ids, counts)
                    )
                )
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


def _spread(rows: np.ndarray, target: np.ndarray, n_rows: int) -> np.ndarray:
    out = np.zeros((n_rows, rows.shape[1]), rows.dtype)
    out[target] = rows
    return out


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
    chunk_images: int,
    max_shapes: int,
    multiple: int,
) -> list[_Plan]:
    cost = sizes[:, 0] + sizes[:, 1] + sizes[:, 2] * np.maximum(1, sizes[:, 3])
    order = np.argsort(cost, kind="stable")
    plans = []
    for rows in _cut(order, cost, max_shapes):
        padded = Sizes(*(_round_up(int(n)) for n in sizes[rows].max(axis=0)))
        block = max(1, min(block_images(padded), _round_up(len(rows)), chunk_images))
        per_chunk = max(block * multiple, chunk_images // (block * multiple) * (block * multiple))
        # All chunks of a group share one shape, except that a group smaller than a chunk gets a smaller one.
        n_blocks = min(per_chunk, -(-len(rows) // (block * multiple)) * (block * multiple)) // block
        n_blocks = -(-_round_up(n_blocks) // multiple) * multiple
        for start in range(0, len(rows), n_blocks * block):
            plans.append(_Plan(rows[start : start + n_blocks * block], padded, n_blocks, block))
    return plans


def _cut(order: np.ndarray, cost: np.ndarray, max_shapes: int) -> list[np.ndarray]:
    """Cut the images, sorted by cost, where that saves padding: only sizes that differ clearly get their own group."""
    if len(order) < 64:
        return [order]
    quantiles = [cost[order[(len(order) - 1) * (i + 1) // max_shapes]] for i in range(max_shapes)]
    groups, start = [], 0
    for i, top in enumerate(quantiles):
        last = i == max_shapes - 1
        if not last and _round_up(int(quantiles[i + 1])) == _round_up(int(top)):
            continue
        end = len(order) if last else int(np.searchsorted(cost[order], top, side="right"))
        if end > start:
            groups.append(order[start:end])
            start = end
    return groups


def _round_up(n: int) -> int:
    """The next of 0, 4, 8, 12, 16, 24, 32, 48, 64, ...: few shapes, and little padding where it costs."""
    if n <= 8:
        return -(-n // 4) * 4
    power = 1 << (n - 1).bit_length()
    return power * 3 // 4 if n <= power * 3 // 4 else power
