"""What a valid corpus is, and the conversions that lead there. Errors name the image and the field."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from topicture.errors import CorpusError

if TYPE_CHECKING:
    from topicture.corpus.corpus import Corpus

__all__ = [
    "canonical",
    "check_compatible",
    "check_corpus",
    "check_offsets",
    "check_same_regions",
    "counts",
    "freeze",
    "number_of_images",
    "part_sizes",
    "positions",
    "ranges",
    "reals",
    "same",
    "stack_regions",
    "sum_by_image",
]

# --- Conversion --------------------------------------------------------------------------------------------


def counts(values: Any, field: str) -> sparse.csr_array | None:
    """Anything matrix-like as sparse float64 counts in canonical form (sorted, no stored zeros)."""
    if values is None:
        return None
    if not sparse.issparse(values):
        try:
            values = np.asarray(values)
        except ValueError as error:  # rows of different lengths
            raise CorpusError(f"{field}: expected a matrix of counts ({error})") from None
    if values.dtype.kind not in "biuf":
        raise CorpusError(f"{field}: expected numbers, got {values.dtype}")
    if values.ndim != 2:
        raise CorpusError(f"{field}: expected a matrix of counts, got {values.ndim} dimensions")
    return canonical(sparse.csr_array(values, dtype=np.float64, copy=True))


def canonical(matrix: Any) -> sparse.csr_array:
    """Sorted rows, no stored zeros, and 32-bit indices where they suffice (scikit-learn takes no others)."""
    matrix = sparse.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz < 2**31:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = sparse.csr_array(parts, shape=matrix.shape)
    return matrix


def reals(values: Any, field: str) -> np.ndarray | None:
    """Anything matrix-like as a contiguous matrix of float64, or of float32 where it is one; a copy.

    Only an array that nobody can write to, such as one mapped from disk, is taken as it is.
    """
    if values is None:
        return None
    dtype = np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64
    if isinstance(values, np.ndarray) and values.dtype == dtype and values.flags.c_contiguous:
        copy = values.flags.writeable
    else:
        copy = True
    try:
        matrix = np.array(values, dtype=dtype, order="C", copy=copy or None)
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{field}: expected a matrix of numbers ({error})") from None
    if matrix.ndim != 2:
        raise CorpusError(f"{field}: expected a matrix, got {matrix.ndim} dimensions")
    return matrix


def stack_regions(parts: Any, field: str) -> tuple[Any, np.ndarray]:
    """One array per image, stacked, and the offsets of each image's rows."""
    if sparse.issparse(parts) or (isinstance(parts, np.ndarray) and parts.ndim == 2):
        raise CorpusError(f"{field}: stacked rows need region_offsets (D+1 positions)")
    parts = list(parts)
    if not parts:
        raise CorpusError(f"{field}: the corpus holds no image")
    matrices = [_two_dimensional(part, f"{field}: image number {i}") for i, part in enumerate(parts)]
    widths = {m.shape[1] for m in matrices if m.shape[0] > 0}
    if len(widths) > 1:
        raise CorpusError(f"{field}: images have different numbers of columns: {sorted(widths)}")
    width = widths.pop() if widths else max(m.shape[1] for m in matrices)
    matrices = [m if m.shape[0] else np.zeros((0, width)) for m in matrices]
    offsets = np.concatenate([[0], np.cumsum([m.shape[0] for m in matrices])]).astype(np.int64)
    if any(sparse.issparse(m) for m in matrices):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(m) for m in matrices])), offsets
    return np.concatenate(matrices), offsets


def _two_dimensional(part: Any, where: str) -> Any:
    """The regions of one image, (N, .); a single row is one region, an empty list none."""
    if not sparse.issparse(part):
        try:
            part = np.asarray(part, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CorpusError(f"{where}: expected a matrix of numbers ({error})") from None
        part = part.reshape(0, 0) if part.size == 0 and part.ndim < 2 else np.atleast_2d(part)
    if part.ndim != 2:
        raise CorpusError(f"{where}: expected a matrix, got {part.ndim} dimensions")
    return part


def positions(values: Any, field: str) -> np.ndarray | None:
    """A row of whole numbers, as int64 (a copy)."""
    if values is None:
        return None
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) == 0:
        raise CorpusError(f"{field}: expected a row of whole numbers, got {given.dtype} {given.shape}")
    return given.astype(np.int64)


def sum_by_image(region_words: sparse.csr_array, offsets: np.ndarray) -> sparse.csr_array:
    """Bags per image, (D, U): the sum of the bags of its regions."""
    n_images, n_rows = len(offsets) - 1, region_words.shape[0]
    image = np.repeat(np.arange(n_images), np.diff(offsets))
    members = sparse.csr_array((np.ones(n_rows), (image, np.arange(n_rows))), shape=(n_images, n_rows))
    return canonical(members @ region_words)


def number_of_images(
    image_ids: Sequence[str] | None,
    captions: Any,
    visual_words: Any,
    descriptor: Any,
    region_offsets: np.ndarray | None,
) -> int:
    for values in (captions, visual_words, descriptor):
        if values is not None:
            return values.shape[0]
    if region_offsets is not None:
        return len(region_offsets) - 1
    if image_ids is not None:
        return len(image_ids)
    raise CorpusError("corpus: nothing to build it from: give captions or a visual view")


def ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The positions start, start+1, ..., start+size-1 of every pair, concatenated."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - sizes), sizes)


def part_sizes(parts: Sequence[float] | Sequence[int], n_images: int) -> list[int]:
    """Numbers of images from fractions (rounded so that they never exceed the corpus) or numbers."""
    given = np.asarray(parts)
    if given.dtype.kind == "f":
        if not (np.all(given >= 0) and given.sum() <= 1 + 1e-9):  # also refuses NaN
            raise CorpusError(f"split: fractions must be at least 0 and sum to at most 1, got {list(parts)}")
        bounds = np.rint(np.concatenate([[0], np.cumsum(given)]) * n_images).astype(int)
        sizes = np.diff(np.minimum(bounds, n_images))
    else:
        sizes = given.astype(int)
        if np.any(sizes < 0) or sizes.sum() > n_images:
            raise CorpusError(f"split: {list(parts)} images asked of a corpus of {n_images}")
    if np.any(sizes == 0):
        raise CorpusError(f"split: a part would be empty: {[int(s) for s in sizes]} of {n_images} images")
    return [int(s) for s in sizes]


def freeze(value: Any) -> None:
    """Make the arrays of a field read-only."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif sparse.issparse(value):
        for array in (value.data, value.indices, value.indptr):
            array.flags.writeable = False


def same(a: Any, b: Any) -> bool:
    """Equal values, whatever their kind."""
    if a is None or b is None:
        return a is b
    if sparse.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


# --- Checks ------------------------------------------------------------------------------------------------


def check_corpus(corpus: "Corpus") -> None:
    """Raise CorpusError at the first thing that is wrong."""
    n_images = len(corpus.image_ids)
    if n_images == 0:
        raise CorpusError("corpus: it holds no image")
    if corpus.image_ids.ndim != 1:
        raise CorpusError(f"image_ids: expected one id per image, got {corpus.image_ids.ndim} dimensions")
    _check_ids(corpus.image_ids)
    for field in ("captions", "visual_words", "descriptor"):
        values = getattr(corpus, field)
        if values is not None and values.shape[0] != n_images:
            raise CorpusError(f"{field}: {values.shape[0]} rows for {n_images} images")
    if corpus.captions.shape[1] != len(corpus.vocabulary):
        raise CorpusError(
            f"captions: {corpus.captions.shape[1]} columns for a vocabulary of {len(corpus.vocabulary)} words"
        )
    _check_regions(corpus)
    image_of_row = np.repeat(np.arange(n_images), corpus.n_regions)
    _check_counts(corpus.captions, "captions", corpus.image_ids, columns=corpus.vocabulary.words)
    # Before visual_words, which may be their sum: the error should name the region.
    _check_counts(corpus.region_words, "region_words", corpus.image_ids, image_of_row)
    _check_counts(corpus.visual_words, "visual_words", corpus.image_ids)
    _check_finite(corpus.descriptor, "descriptor", corpus.image_ids)
    _check_finite(corpus.regions, "regions", corpus.image_ids, image_of_row)
    if corpus.word_vectors is not None:
        _check_word_vectors(corpus.word_vectors, corpus)


def _check_word_vectors(vectors: np.ndarray, corpus: "Corpus") -> None:
    if vectors.shape[0] != len(corpus.vocabulary):
        raise CorpusError(
            f"word_vectors: {vectors.shape[0]} rows for a vocabulary of {len(corpus.vocabulary)} words"
        )
    if corpus.descriptor is not None and vectors.shape[1] != corpus.descriptor.shape[1]:
        raise CorpusError(
            f"word_vectors: {vectors.shape[1]} columns, but the descriptor has {corpus.descriptor.shape[1]}: "
            "words and images must be described by one network"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise CorpusError(f"word_vectors: {corpus.vocabulary[int(bad[0])]!r}: a value is not a finite number")


def _check_ids(image_ids: np.ndarray) -> None:
    values, times = np.unique(image_ids, return_counts=True)
    if np.any(times > 1):
        first = int(np.argmax(times > 1))
        raise CorpusError(f"image_ids: {str(values[first])!r} occurs {times[first]} times")


def _check_regions(corpus: "Corpus") -> None:
    views = {field: getattr(corpus, field) for field in ("regions", "region_words")}
    if corpus.region_offsets is not None:
        check_offsets(corpus.region_offsets, corpus.image_ids, views)
    for field, rows in views.items():
        if rows is not None and corpus.region_offsets is None:
            raise CorpusError(f"{field}: region_offsets are missing")


def check_offsets(offsets: np.ndarray, image_ids: np.ndarray, views: dict[str, Any]) -> None:
    """One range of rows per image, together all rows of every view (a view may be None)."""
    n_images = len(image_ids)
    if offsets.shape != (n_images + 1,):
        raise CorpusError(
            f"region_offsets: {len(offsets)} positions for {n_images} images (expected {n_images + 1})"
        )
    falls = np.flatnonzero(np.diff(offsets) < 0)
    if offsets[0] != 0 or falls.size:
        where = f"image {str(image_ids[falls[0]])!r}" if falls.size else "the first image"
        raise CorpusError(f"region_offsets: positions must start at 0 and never fall; wrong at {where}")
    for field, rows in views.items():
        if rows is not None and offsets[-1] != rows.shape[0]:
            raise CorpusError(f"{field}: {rows.shape[0]} rows, but region_offsets end at {offsets[-1]}")


def _check_counts(
    matrix: sparse.csr_array | None,
    field: str,
    image_ids: np.ndarray,
    image_of_row: np.ndarray | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    if matrix is None:
        return
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        column = int(matrix.indices[bad[0]])
        name = repr(columns[column]) if columns is not None else f"column {column}"
        raise CorpusError(
            f"{field}: image {_name(image_ids, row, image_of_row)}, {name}: {_what(matrix.data[bad[0]])}"
        )


def _check_finite(
    matrix: np.ndarray | None, field: str, image_ids: np.ndarray, image_of_row: np.ndarray | None = None
) -> None:
    if matrix is None:
        return
    # Block by block, so that a memory-mapped matrix is never held whole.
    for start in range(0, matrix.shape[0], 65536):
        block = np.asarray(matrix[start : start + 65536])
        with np.errstate(over="ignore", invalid="ignore"):
            total = block.sum()
        if np.isfinite(total) or np.isfinite(block).all():
            continue
        row, column = np.argwhere(~np.isfinite(block))[0]
        name = _name(image_ids, start + int(row), image_of_row)
        raise CorpusError(f"{field}: image {name}, column {column}: {_what(block[row, column])}")


def _name(image_ids: np.ndarray, row: int, image_of_row: np.ndarray | None) -> str:
    if image_of_row is None:
        return repr(str(image_ids[row]))
    image = int(image_of_row[row])
    return f"{str(image_ids[image])!r}, region {row - int(np.searchsorted(image_of_row, image))}"


def _what(value: float) -> str:
    if np.isnan(value):
        return "the value is not a number (NaN)"
    if np.isinf(value):
        return "the value is infinite"
    return f"the count is negative ({value:g})"


def check_same_regions(offsets: np.ndarray, other: np.ndarray, image_ids: Sequence[str] | None) -> None:
    if len(offsets) != len(other):
        raise CorpusError(f"region_words: {len(other) - 1} images, but regions has {len(offsets) - 1}")
    wrong = np.flatnonzero(np.diff(offsets) != np.diff(other))
    if wrong.size:
        name = image_ids[wrong[0]] if image_ids is not None else f"number {wrong[0]}"
        got, expected = np.diff(other)[wrong[0]], np.diff(offsets)[wrong[0]]
        raise CorpusError(f"region_words: image {name}: {got} regions, but regions has {expected}")


def check_compatible(first: "Corpus", other: "Corpus", who: str) -> None:
    """The two share vocabulary, views and feature sizes."""
    if other.vocabulary != first.vocabulary:
        raise CorpusError(
            f"{who}: its vocabulary differs ({len(other.vocabulary)} words, not {len(first.vocabulary)})"
        )
    if (first.region_offsets is None) != (other.region_offsets is None):
        raise CorpusError(f"{who}: only one of the two has regions")
    for field in ("regions", "region_words", "visual_words", "descriptor"):
        a, b = getattr(first, field), getattr(other, field)
        if (a is None) != (b is None):
            raise CorpusError(
                f"{who}: the view '{field}' is {'missing' if b is None else 'there, but not in the first'}"
            )
        if a is not None and a.shape[1] != b.shape[1]:
            raise CorpusError(f"{who}: the view '{field}' has {b.shape[1]} columns, not {a.shape[1]}")
    if not same(first.word_vectors, other.word_vectors):
        raise CorpusError(f"{who}: its word_vectors differ")
