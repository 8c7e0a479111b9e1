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
    "check_same_regions",
    "counts",
    "freeze",
    "number_of_images",
    "part_sizes",
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
        values = np.asarray(values)
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
    """Anything matrix-like as a contiguous float64 matrix (a copy)."""
    if values is None:
        return None
    try:
        matrix = np.array(values, dtype=np.float64, order="C")
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
    matrices = []
    widths = {m.shape[1] for p in parts if np.ndim(m := _two_dimensional(p)) == 2 and m.shape[0] > 0}
    if len(widths) > 1:
        raise CorpusError(f"{field}: images have different numbers of columns: {sorted(widths)}")
    width = widths.pop() if widths else max(_two_dimensional(p).shape[1] for p in parts)
    for part in parts:
        matrix = _two_dimensional(part)
        matrices.append(matrix if matrix.shape[0] else np.zeros((0, width)))
    offsets = np.concatenate([[0], np.cumsum([m.shape[0] for m in matrices])]).astype(np.int64)
    if any(sparse.issparse(m) for m in matrices):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(m) for m in matrices])), offsets
    return np.concatenate(matrices), offsets


def _two_dimensional(part: Any) -> Any:
    if sparse.issparse(part):
        return part
    part = np.asarray(part, dtype=np.float64)
    return part.reshape(0, 0) if part.size == 0 and part.ndim < 2 else np.atleast_2d(part)


def sum_by_image(region_words: sparse.csr_array, offsets: np.ndarray) -> sparse.csr_array:
    """Bags per image, (D, U): the sum of the bags of its regions."""
    n_images, n_rows = len(offsets) - 1, region_words.shape[0]
    if offsets[-1] != n_rows:
        raise CorpusError(f"region_words: {n_rows} rows, but region_offsets end at {offsets[-1]}")
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
        if np.any(given < 0) or given.sum() > 1 + 1e-9:
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
    _check_ids(corpus.image_ids)
    for field in ("captions", "visual_words", "descriptor"):
        values = getattr(corpus, field)
        if values is not None and values.shape[0] != n_images:
            raise CorpusError(f"{field}: {values.shape[0]} rows for {n_images} images")
    if corpus.captions.shape[1] != len(corpus.vocabulary):
        raise CorpusError(
            f"captions: {corpus.captions.shape[1]} columns for a vocabulary of {len(corpus.vocabulary)} words"
        )
    _check_regions(corpus, n_images)
    image_of_row = np.repeat(np.arange(n_images), corpus.n_regions)
    _check_counts(corpus.captions, "captions", corpus.image_ids, columns=corpus.vocabulary.words)
    _check_counts(corpus.visual_words, "visual_words", corpus.image_ids)
    _check_counts(corpus.region_words, "region_words", corpus.image_ids, image_of_row)
    _check_finite(corpus.descriptor, "descriptor", corpus.image_ids)
    _check_finite(corpus.regions, "regions", corpus.image_ids, image_of_row)


def _check_ids(image_ids: np.ndarray) -> None:
    values, times = np.unique(image_ids, return_counts=True)
    if np.any(times > 1):
        raise CorpusError(f"image_ids: {str(values[times > 1][0])!r} occurs {times.max()} times")


def _check_regions(corpus: "Corpus", n_images: int) -> None:
    offsets = corpus.region_offsets
    for field in ("regions", "region_words"):
        rows = getattr(corpus, field)
        if rows is None:
            continue
        if offsets is None:
            raise CorpusError(f"{field}: region_offsets are missing")
        if len(offsets) == n_images + 1 and offsets[-1] != rows.shape[0]:
            raise CorpusError(f"{field}: {rows.shape[0]} rows, but region_offsets end at {offsets[-1]}")
    if offsets is None:
        return
    if offsets.shape != (n_images + 1,):
        raise CorpusError(
            f"region_offsets: {len(offsets)} positions for {n_images} images (expected {n_images + 1})"
        )
    falls = np.flatnonzero(np.diff(offsets) < 0)
    if offsets[0] != 0 or falls.size:
        where = f"image {corpus.image_ids[falls[0]]!s}" if falls.size else "the first image"
        raise CorpusError(f"region_offsets: positions must start at 0 and never fall; wrong at {where}")


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
        if np.isfinite(block.sum()) or np.isfinite(block).all():
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
    for field in ("regions", "region_words", "visual_words", "descriptor"):
        a, b = getattr(first, field), getattr(other, field)
        if (a is None) != (b is None):
            raise CorpusError(
                f"{who}: the view '{field}' is {'missing' if b is None else 'there, but not in the first'}"
            )
        if a is not None and a.shape[1] != b.shape[1]:
            raise CorpusError(f"{who}: the view '{field}' has {b.shape[1]} columns, not {a.shape[1]}")
