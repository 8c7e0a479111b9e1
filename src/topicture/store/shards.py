"""Feature rows of many photos on disk: a memory-mapped array, and a manifest with its hash.

manifest.json     format, rows, columns, dtype; for each shard its file, rows and BLAKE2 hash
00000.npy ...     the rows, in order: one shard; earlier versions cut them into several, which are read whole

A reader maps the array and touches only the rows it asks for. The hashes are compared by `damage`, when somebody
asks whether the catalog is whole, since that reads everything.
"""

import errno
import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from topicture.atomic import make_folder, write_atomically
from topicture.errors import TopictureError

__all__ = ["FeatureShards", "ShardError", "read_image_numbers", "write_shards"]

FORMAT = 1
_MANIFEST = "manifest.json"
_SMALL = 1024  # bytes


class ShardError(TopictureError, ValueError):
    """A folder of features that is damaged, foreign or of another version."""


def write_shards(folder: Path, rows: np.ndarray) -> None:
    """Write (D, L) rows into a new folder; the manifest comes last, so a folder with one is whole."""
    if folder.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(folder))
    make_folder(folder)
    path = folder / "00000.npy"
    with open(path, "wb") as file:
        np.save(file, np.ascontiguousarray(rows), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    manifest = {
        "format": FORMAT,
        "rows": len(rows),
        "columns": rows.shape[1],
        "dtype": str(rows.dtype),
        "shards": [{"file": path.name, "rows": len(rows), "blake2b": _hash(path)}],
    }
    write_atomically(folder / _MANIFEST, json.dumps(manifest, indent=1).encode())


class FeatureShards:
    """Rows (D, L) on disk, read like an array: by position, slice, or array of positions.

    Raises ShardError where the folder is not what its manifest says, OSError where it has none.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        try:
            manifest = json.loads((folder / _MANIFEST).read_bytes())
            if manifest["format"] != FORMAT:
                raise ShardError(
                    f"{folder.name}: features of format {manifest['format']}, which is not known here"
                )
            self.shape = int(manifest["rows"]), int(manifest["columns"])
            self.dtype = np.dtype(manifest["dtype"])
            if self.dtype.kind != "f":
                raise ShardError(f"{folder.name}: features of type {self.dtype}, which can't be")
            self._listed: list[dict[str, Any]] = list(manifest["shards"])
            self._shards = [self._open(shard) for shard in self._listed]
        except (KeyError, TypeError, ValueError, EOFError, RecursionError) as error:
            if isinstance(error, ShardError):
                raise
            raise ShardError(f"{folder.name}: damaged features ({error})") from None
        if (n_rows := sum(map(len, self._shards))) != self.shape[0]:
            raise ShardError(f"{folder.name}: {n_rows} rows of features where {self.shape[0]} are listed")

    def _open(self, shard: dict[str, Any]) -> np.ndarray:
        name = str(shard["file"])
        if Path(name).name != name:
            raise ShardError(f"{self.folder.name}: {name!r} is not a file of the folder")
        try:
            rows = _map(self.folder / name)
        except OSError as error:
            raise ShardError(f"{self.folder / name}: {error.strerror}; run 'topicture annotate'") from None
        if rows.shape != (shard["rows"], self.shape[1]) or rows.dtype != self.dtype:
            raise ShardError(f"{name}: {rows.dtype} {rows.shape}, not what the manifest says")
        return rows

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, positions: Any) -> np.ndarray:
        return np.asarray(self._rows[positions])

    @cached_property
    def _rows(self) -> np.ndarray:
        if len(self._shards) == 1:
            return self._shards[0]
        return np.concatenate([np.empty((0, self.shape[1]), self.dtype), *self._shards])

    def check_length(self, n_photos: int) -> None:
        """Raise ShardError where there is not one row for every photo."""
        if len(self) != n_photos:
            raise ShardError(
                f"{self.folder}: {len(self)} rows of features for {n_photos} photos; run 'topicture annotate'"
            )

    def damage(self) -> list[str]:
        """Shards whose content is not what was written, one line each; reads everything."""
        found = []
        for shard, rows in zip(self._listed, self._shards, strict=True):
            name = f"{self.folder.name}/{shard['file']}"
            if _hash(self.folder / shard["file"]) != shard["blake2b"]:
                found.append(f"{name}: its content has changed")
            elif not np.isfinite(rows).all():
                found.append(f"{name}: holds values that are not numbers")
        return found


def read_image_numbers(path: Path) -> np.ndarray:
    """The images that an index is about, (D,) ascending, memory-mapped.

    Raises ShardError where the file is missing or is not that.
    """
    try:
        numbers = _map(path)
    except (OSError, ValueError, EOFError, MemoryError):
        raise ShardError(f"{path}: missing or damaged; run 'topicture annotate'") from None
    if numbers.ndim != 1 or numbers.dtype != np.int64 or (numbers[1:] <= numbers[:-1]).any():
        raise ShardError(f"{path}: not a list of photos; run 'topicture annotate'")
    return numbers


def _map(path: Path) -> np.ndarray:
    """The array in a file. Not np.load, which takes archives and pickles too and leaves a damaged file open."""
    if path.stat().st_size > _SMALL:
        return np.lib.format.open_memmap(path, mode="r")
    with open(path, "rb") as file:  # an array without elements can't be mapped
        return np.lib.format.read_array(file, allow_pickle=False)


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
