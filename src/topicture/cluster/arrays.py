"""Arrays in files that all workers see: safetensors, mapped into memory, known by their hash. Nothing in them runs."""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import save

from topicture.atomic import write_atomically
from topicture.errors import TopictureError

__all__ = ["ArrayFile", "read_arrays", "write_arrays"]

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "u1", "BOOL": "?"}
_LONGEST_HEADER = 1 << 24


class ArrayFile(NamedTuple):
    """A file, and what its content must be; no hash for what a worker wrote, which its task answers for."""

    path: str
    blake2b: str = ""


def write_arrays(path: Path, arrays: Sequence[np.ndarray]) -> ArrayFile:
    """Write arrays in their order; the file appears whole or not at all."""
    named = {f"{i:05d}": np.asarray(array, order="C") for i, array in enumerate(arrays)}
    content = save(named)
    write_atomically(path, content)
    return ArrayFile(str(path), hashlib.blake2b(content, digest_size=16).hexdigest())


def read_arrays(file: ArrayFile) -> list[np.ndarray]:
    """The arrays, mapped; the content is compared with its hash the first time that this process reads it."""
    try:
        _check(file)
        with open(file.path, "rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > _LONGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(stream.read(length))
        content = np.memmap(file.path, np.uint8, "r", offset=8 + length) if _has_data(header) else np.zeros(0)
        return [_array(content, header[name]) for name in sorted(header.keys() - {"__metadata__"})]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TopictureError(
            f"{file.path}: a worker can't read it ({error}); all workers need the same shared folder"
        ) from None


@lru_cache(maxsize=1 << 16)
def _check(file: ArrayFile) -> None:
    if not file.blake2b:
        return
    with open(file.path, "rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    if found != file.blake2b:
        raise ValueError("its content is not what was written")


def _has_data(header: dict) -> bool:
    return any(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")


def _array(content: np.ndarray, entry: dict) -> np.ndarray:
    start, end = entry["data_offsets"]
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    if start == end:
        return np.zeros(entry["shape"], dtype)
    return np.asarray(content[start:end]).view(dtype).reshape(entry["shape"])
