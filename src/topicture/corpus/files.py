"""A corpus on disk: a folder of .npy files and corpus.json. Plain arrays only; nothing in it can run code."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from topicture.atomic import finish_replacing, new_folder
from topicture.corpus.vocabulary import Vocabulary
from topicture.errors import CorpusError, DataNotFound

if TYPE_CHECKING:
    from topicture.corpus.corpus import Corpus

__all__ = ["load", "save"]

FORMAT = 1
DENSE = ("regions", "region_offsets", "descriptor", "word_vectors", "completeness", "places")
_WHOLE, _SHARES = ((np.int64,), 1), ((np.float64,), 1)
_KINDS = {"region_offsets": _WHOLE, "places": _WHOLE, "completeness": _SHARES}
SPARSE = ("captions", "region_words", "visual_words", "answers")


def save(corpus: "Corpus", folder: Path) -> None:
    folder = folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise CorpusError(f"{folder}: a file; a corpus needs a folder")
    if folder.exists() and not (folder / "corpus.json").exists() and any(folder.iterdir()):
        raise CorpusError(f"{folder}: the folder holds other files; a corpus needs one of its own")
    with new_folder(folder) as staging:
        _write(corpus, staging)


def _write(corpus: "Corpus", folder: Path) -> None:
    shapes: dict[str, list[int]] = {}
    for name in DENSE:
        if (array := getattr(corpus, name)) is not None:
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
    for name in SPARSE:
        if (matrix := getattr(corpus, name)) is not None:
            shapes[name] = [int(n) for n in matrix.shape]
            for part in ("data", "indices", "indptr"):
                np.save(folder / f"{name}.{part}.npy", getattr(matrix, part), allow_pickle=False)
    header = {
        "topicture_corpus": FORMAT,
        "image_ids": corpus.image_ids.tolist(),
        "vocabulary": list(corpus.vocabulary.words),
        "dense": [name for name in DENSE if getattr(corpus, name) is not None],
        "sparse": shapes,
    }
    (folder / "corpus.json").write_text(json.dumps(header), encoding="ascii")


def load(folder: Path, *, mmap: bool) -> dict[str, Any]:
    """The fields of the corpus."""
    finish_replacing(folder)
    header = _header(folder)
    fields: dict[str, Any] = {
        "image_ids": np.array(header["image_ids"], dtype=np.str_),
        "vocabulary": Vocabulary(header["vocabulary"]),
    }
    for name in header["dense"]:
        fields[name] = _read(folder / f"{name}.npy", mmap)
        dtypes, ndim = _KINDS.get(name, ((np.float64, np.float32), 2))
        if fields[name].dtype not in dtypes or fields[name].ndim != ndim:
            raise CorpusError(f"{folder / name}.npy: not the array that a corpus stores")
    for name, shape in header["sparse"].items():
        parts = tuple(_read(folder / f"{name}.{part}.npy", mmap) for part in ("data", "indices", "indptr"))
        fields[name] = _sparse(parts, tuple(shape), folder / name)
    return fields


def _header(folder: Path) -> dict[str, Any]:
    """What corpus.json says, every entry of the kind that `save` writes."""
    path = folder / "corpus.json"
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataNotFound(f"{folder}: no corpus there (corpus.json is missing)") from None
    except (ValueError, OSError, RecursionError) as error:
        raise CorpusError(f"{path}: can't be read ({error})") from None
    if not isinstance(header, dict) or header.get("topicture_corpus") != FORMAT:
        raise CorpusError(f"{path}: not a corpus of format {FORMAT}")
    for entry in ("image_ids", "vocabulary", "dense"):
        if not _is_list_of(header.get(entry), str):
            raise CorpusError(f"{path}: {entry!r} is not a list of strings")
    shapes = header.get("sparse")
    if not isinstance(shapes, dict) or not all(_is_shape(shape) for shape in shapes.values()):
        raise CorpusError(f"{path}: 'sparse' does not give two sizes for every matrix")
    if unknown := set(header["dense"]) - set(DENSE) | set(shapes) - set(SPARSE):
        raise CorpusError(f"{path}: unknown view {min(unknown)!r}")
    if "captions" not in shapes:
        raise CorpusError(f"{path}: the captions are missing")
    return header


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)


def _is_shape(value: Any) -> bool:
    return _is_list_of(value, int) and len(value) == 2 and all(0 <= n < 2**62 for n in value)


def _read(path: Path, mmap: bool) -> np.ndarray:
    """One .npy file. Not np.load, which takes archives too and leaves a damaged one open."""
    try:
        if mmap and path.stat().st_size > 4096:
            array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
        else:
            with open(path, "rb") as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise CorpusError(f"{path}: the file is missing") from None
    except (ValueError, OSError, EOFError, OverflowError, MemoryError) as error:
        raise CorpusError(f"{path}: can't be read ({error})") from None
    if array.dtype.kind not in "fiu":
        raise CorpusError(f"{path}: holds {array.dtype}, not numbers")
    return array


def _sparse(parts: tuple[np.ndarray, ...], shape: tuple[int, ...], path: Path) -> sparse.csr_array:
    try:
        matrix = sparse.csr_array(parts, shape=shape, copy=False)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise CorpusError(f"{path}: not a valid sparse matrix ({error})") from None
    whole = all(part.dtype.kind in "iu" for part in parts[1:])
    if matrix.dtype != np.float64 or not whole or not matrix.has_canonical_format:
        raise CorpusError(f"{path}: not the sparse matrix that a corpus stores")
    return matrix
