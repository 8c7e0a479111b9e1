"""A word index on disk: a folder of .npy files and index.json, replaced as a whole and opened without reading it.

index.json        format, vocabulary, number of images, number type
log_p.npy         (V, D) natural logarithm of p(word | image), one row per word; where that would be large, the
                  likeliest words of each image instead (`postings`)
id_text.npy       uint8: the UTF-8 of all image ids, one after the other
id_offsets.npy    int64 (D + 1,): the id of image d is id_text[id_offsets[d]:id_offsets[d + 1]]
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topicture.atomic import finish_replacing, new_folder
from topicture.corpus import Vocabulary
from topicture.errors import CorpusError, DataNotFound, TopictureError
from topicture.search.postings import Postings, write_postings

__all__ = ["ImageIds", "IndexFiles", "SearchIndexError", "open_files", "write_files"]

FORMAT, FORMAT_OF_POSTINGS = 1, 2
# Images times words from which on only the likeliest words of each image are kept.
MANY_NUMBERS = 1 << 29
DTYPES = ("float32", "float16")
# Images whose probabilities are turned into rows together: with 300 words about 10 MB of working memory.
BLOCK_IMAGES = 8192
# Rows of p(w | image) are sums of floating-point numbers: a probability may exceed 1 by rounding, not by more.
ROUNDING = 1e-6


class SearchIndexError(TopictureError, ValueError):
    """An index folder that is damaged, foreign or of another version; says what to build again."""


class ImageIds(NamedTuple):
    """The ids of D images as text that stays on disk until an id is asked for."""

    text: np.ndarray  # uint8
    offsets: np.ndarray  # int64 (D + 1,)

    @classmethod
    def encode(cls, image_ids: Iterable[str]) -> "ImageIds":
        encoded = [str(image_id).encode("utf-8", "surrogateescape") for image_id in image_ids]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    @property
    def n_images(self) -> int:
        return len(self.offsets) - 1

    def at(self, position: int) -> str:
        """The id of the image at a position."""
        start, stop = self.offsets[position], self.offsets[position + 1]
        return self.text[start:stop].tobytes().decode("utf-8", "surrogateescape")


class IndexFiles(NamedTuple):
    """What the folder holds."""

    vocabulary: Vocabulary
    image_ids: ImageIds
    log_p: Any  # (V, D): an array, or Postings


# --- Write ------------------------------------------------------------------------------------------------------


def write_files(
    folder: Path,
    vocabulary: Vocabulary,
    image_ids: Sequence[str] | np.ndarray,
    blocks: Iterable[ArrayLike],
    dtype: str,
) -> None:
    """Write an index beside `folder` and swap it in; whatever fails, a former index stays as it was.

    Raises CorpusError where a block is not a table of probabilities or the rows do not fit the ids.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype is one of {', '.join(DTYPES)}; got {dtype!r}")
    ids = ImageIds.encode(image_ids)
    with _replacing(folder.absolute()) as staging:
        np.save(staging / "id_text.npy", ids.text, allow_pickle=False)
        np.save(staging / "id_offsets.npy", ids.offsets, allow_pickle=False)
        shape = (len(vocabulary), ids.n_images)
        many = shape[0] * shape[1] > MANY_NUMBERS
        if many:
            rows = _log_blocks(blocks, *shape)
            write_postings(staging, shape, np.dtype(dtype), rows, staging / "scratch")
        else:
            with open(staging / "log_p.npy", "wb") as file:
                _write_rows(file, shape, np.dtype(dtype), blocks)
        header = {
            "topicture_index": FORMAT_OF_POSTINGS if many else FORMAT,
            "n_images": ids.n_images,
            "dtype": dtype,
            "vocabulary": list(vocabulary),
        }
        (staging / "index.json").write_bytes(json.dumps(header).encode("ascii"))


def _write_rows(file: BinaryIO, shape: tuple[int, int], dtype: np.dtype, blocks: Iterable[ArrayLike]) -> None:
    """Blocks come by image and rows go by word, so each block fills one strip of every row.

    Plain writes instead of a memory map: the strips leave the process at once, and its memory stays that of a block.
    """
    n_words, n_images = shape
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype.str, "fortran_order": False, "shape": (n_words, n_images)}
    )
    begin, done = file.tell(), 0
    file.truncate(begin + n_words * n_images * dtype.itemsize)
    for block in _log_blocks(blocks, n_words, n_images):
        strip = np.ascontiguousarray(block.T, dtype)
        for word, row in enumerate(strip):
            file.seek(begin + (word * n_images + done) * dtype.itemsize)
            file.write(row.data)
        done += len(block)
    if done < n_images:
        raise CorpusError(f"there are {n_images} image ids, and probabilities of only {done} images")


def _log_blocks(blocks: Iterable[ArrayLike], n_words: int, n_images: int) -> Iterator[np.ndarray]:
    """ln p of small blocks (B, V), in float32 where they come in it; ln 0 is minus infinity."""
    done = 0
    for block in blocks:
        whole = np.asarray(block)
        if whole.ndim != 2 or whole.shape[1] != n_words:
            raise CorpusError(
                f"a block of shape {whole.shape}, where each image needs {n_words} probabilities"
            )
        if done + len(whole) > n_images:
            raise CorpusError(f"there are {n_images} image ids, and probabilities of more images than that")
        for start in range(0, len(whole), BLOCK_IMAGES):
            p = whole[start : start + BLOCK_IMAGES]
            if not (p.min(initial=0.0) >= 0 and p.max(initial=0.0) <= 1 + ROUNDING):  # false for NaN
                valid = ((p >= 0) & (p <= 1 + ROUNDING)).all(axis=1)
                image = done + start + int(np.flatnonzero(~valid)[0])
                raise CorpusError(f"image {image}: its word probabilities are not all between 0 and 1")
            with np.errstate(divide="ignore"):
                log_p = np.log(p, dtype=p.dtype if p.dtype == np.float32 else np.float64)
            yield np.minimum(log_p, 0.0, out=log_p)
        done += len(whole)


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of an index, and of nothing else; synced as a whole."""
    if folder.exists() and not (folder / "index.json").exists() and any(folder.iterdir()):
        raise SearchIndexError(f"{folder}: the folder holds other files; an index needs one of its own")
    with new_folder(folder) as new:
        yield new


# --- Open -------------------------------------------------------------------------------------------------------


def open_files(folder: Path) -> IndexFiles:
    """Map an index into memory; raises DataNotFound where there is none and SearchIndexError where it is damaged."""
    finish_replacing(folder)
    header = _header(folder)
    try:
        shape = (len(header["vocabulary"]), int(header["n_images"]))
        vocabulary = Vocabulary(header["vocabulary"])
        dtype = np.dtype(header["dtype"])
    except (KeyError, TypeError, ValueError, OverflowError, SyntaxError) as error:
        raise _damaged(folder / "index.json", f"incomplete header: {error}") from None
    log_p: Any = None
    if header["topicture_index"] == FORMAT_OF_POSTINGS:
        log_p = _map_postings(folder, dtype, *shape)
    else:
        log_p = _map(folder / "log_p.npy", dtype, shape)
    offsets = _map(folder / "id_offsets.npy", np.dtype(np.int64), (shape[1] + 1,))
    text = _map(folder / "id_text.npy", np.dtype(np.uint8), (int(offsets[-1]),))
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise _damaged(folder / "id_offsets.npy", "the offsets do not increase")
    return IndexFiles(vocabulary, ImageIds(text, offsets), log_p)


def _map_postings(folder: Path, dtype: np.dtype, n_words: int, n_images: int) -> Postings:
    starts = _map(folder / "posting_starts.npy", np.dtype(np.int64), (n_words + 1,))
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise _damaged(folder / "posting_starts.npy", "the starts do not increase")
    size = (int(starts[-1]),)
    images = _map(folder / "posting_images.npy", np.dtype(np.int32), size)
    values = _map(folder / "posting_log_p.npy", dtype, size)
    rest = _map(folder / "posting_rest.npy", np.dtype(np.float32), (n_words,))
    return Postings(starts, images, values, rest, n_images)


def _header(folder: Path) -> dict[str, Any]:
    path = folder / "index.json"
    try:
        header = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataNotFound(f"{folder}: no search index there (index.json is missing)") from None
    except (ValueError, OSError) as error:
        raise _damaged(path, f"can't be read: {error}") from None
    if not isinstance(header, dict) or header.get("topicture_index") not in (
        FORMAT,
        FORMAT_OF_POSTINGS,
    ):
        raise SearchIndexError(f"{path}: not a search index of format {FORMAT}; build the index again")
    return header


# The header of .npy is Python, and its shape may be anything.
_UNREADABLE = (ValueError, OSError, EOFError, SyntaxError, TokenError, TypeError, OverflowError, SystemError)


def _map(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = _read_empty(path) if 0 in shape else np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise _damaged(path, "the file is missing") from None
    except _UNREADABLE as error:
        raise _damaged(path, f"can't be read: {error}") from None
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise _damaged(path, f"does not hold {dtype} rows of shape {shape}")
    return array


def _read_empty(path: Path) -> np.ndarray:
    """An array without elements, which can't be mapped."""
    with open(path, "rb") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _damaged(path: Path, reason: str) -> SearchIndexError:
    return SearchIndexError(f"{path}: damaged ({' '.join(reason.split())}); build the index again")
