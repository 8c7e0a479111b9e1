"""A corpus on disk: a folder of .npy files and corpus.json. Plain arrays only; nothing in it can run code."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from topicture.corpus.vocabulary import Vocabulary
from topicture.errors import CorpusError, DataNotFound

if TYPE_CHECKING:
    from topicture.corpus.corpus import Corpus

__all__ = ["load", "save"]

FORMAT = 1
DENSE = ("regions", "region_offsets", "descriptor")
SPARSE = ("captions", "region_words", "visual_words")


def save(corpus: "Corpus", folder: Path) -> None:
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists() and not (folder / "corpus.json").exists() and any(folder.iterdir()):
        raise CorpusError(f"{folder}: the folder holds other files; a corpus needs one of its own")
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _write(corpus, staging)
        _replace(staging, folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


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
    with open(folder / "corpus.json", "w", encoding="utf-8") as file:
        json.dump(header, file, ensure_ascii=True)
        file.flush()
        os.fsync(file.fileno())


def _replace(staging: Path, folder: Path) -> None:
    """Swap the new folder in; the old one is removed only when the new one is in place."""
    os.chmod(staging, 0o755)
    if not folder.exists():
        os.rename(staging, folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    os.rename(folder, old / "corpus")
    os.rename(staging, folder)
    shutil.rmtree(old)


def load(folder: Path, *, mmap: bool) -> dict[str, Any]:
    """The fields of the corpus."""
    try:
        header = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataNotFound(f"{folder}: no corpus there (corpus.json is missing)") from None
    except (ValueError, OSError) as error:
        raise CorpusError(f"{folder / 'corpus.json'}: can't be read ({error})") from None
    if not isinstance(header, dict) or header.get("topicture_corpus") != FORMAT:
        raise CorpusError(f"{folder / 'corpus.json'}: not a corpus of format {FORMAT}")
    try:
        fields: dict[str, Any] = {
            "image_ids": np.array(header["image_ids"], dtype=np.str_),
            "vocabulary": Vocabulary(header["vocabulary"]),
        }
        for name in header["dense"]:
            if name not in DENSE:
                raise CorpusError(f"{folder / 'corpus.json'}: unknown view {name!r}")
            fields[name] = _read(folder / f"{name}.npy", mmap)
        for name, shape in header["sparse"].items():
            if name not in SPARSE:
                raise CorpusError(f"{folder / 'corpus.json'}: unknown view {name!r}")
            parts = tuple(
                _read(folder / f"{name}.{part}.npy", mmap) for part in ("data", "indices", "indptr")
            )
            fields[name] = _sparse(parts, tuple(shape), folder / name)
    except (KeyError, TypeError) as error:
        raise CorpusError(f"{folder / 'corpus.json'}: incomplete header ({error})") from None
    return fields


def _read(path: Path, mmap: bool) -> np.ndarray:
    try:
        array = np.load(
            path, mmap_mode="r" if mmap and path.stat().st_size > 4096 else None, allow_pickle=False
        )
    except FileNotFoundError:
        raise CorpusError(f"{path}: the file is missing") from None
    except (ValueError, OSError, EOFError) as error:
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
    return matrix
