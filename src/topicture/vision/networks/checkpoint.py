"""Weights out of a PyTorch checkpoint without PyTorch and without running its pickle.

A checkpoint of the older ("legacy") format is one file: five pickles (magic number, protocol version, byte order,
the state dictionary, the storage keys), then for each key its element count and raw little-endian values. A pickle is
a program, so this reader trusts nothing: the SHA-256 of the whole file is checked first, and the unpickler knows four
names only, each bound to a function of this module.
"""

import hashlib
import io
import pickle
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from topicture.errors import DataNotFound, ModelFileError

__all__ = ["read_checkpoint"]

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001
MAX_BYTES = 1 << 30

_ITEM_TYPES: dict[str, np.dtype] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_checkpoint(path: Path, sha256: str) -> dict[str, np.ndarray]:
    """Parameter name -> array (float32, or int64 for counters), in the file's order.

    Raises
    ------
    DataNotFound
        There is no such file.
    ModelFileError
        The SHA-256 differs from `sha256`, or the content is not a plain legacy state dictionary.
    """
    if not path.is_file():
        raise DataNotFound(f"no checkpoint at {path}")
    if path.stat().st_size > MAX_BYTES:
        raise ModelFileError(f"{path.name}: larger than {MAX_BYTES} bytes")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ModelFileError(f"{path.name}: SHA-256 is {found[:12]}..., expected {sha256[:12]}...")
    return parse_checkpoint(content, path.name)


def parse_checkpoint(content: bytes, name: str) -> dict[str, np.ndarray]:
    """The arrays in the bytes of a checkpoint; `name` is for error messages."""
    stream = io.BytesIO(content)
    try:
        magic, protocol, system, state, keys = (_StateUnpickler(stream).load() for _ in range(5))
        if magic != LEGACY_MAGIC or protocol != LEGACY_PROTOCOL or not system["little_endian"]:
            raise ModelFileError(f"{name}: not a little-endian legacy PyTorch checkpoint")
        tensors = {str(key): value for key, value in state.items() if isinstance(value, _Tensor)}
        item_types = {tensor.storage.key: tensor.storage.item_type for tensor in tensors.values()}
        storages = {key: _read_storage(stream, item_types[key]) for key in keys}
        return {key: tensor.view(storages[tensor.storage.key]) for key, tensor in tensors.items()}
    except ModelFileError:
        raise
    except Exception as error:  # a malformed pickle can raise nearly anything
        raise ModelFileError(
            f"{name}: not a readable checkpoint ({error or type(error).__name__})"
        ) from error


# --- What the pickle may name -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _StorageRef:
    """A reference to a run of raw values that follows the pickles."""

    key: str
    item_type: str


@dataclass(frozen=True)
class _Tensor:
    """A strided window on a storage; offset and strides count elements."""

    storage: _StorageRef
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def view(self, storage: np.ndarray) -> np.ndarray:
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if min((self.offset, *self.shape, *self.strides)) < 0 or last >= storage.size:
            raise ValueError("a tensor reaches outside its storage")
        byte_strides = [step * storage.itemsize for step in self.strides]
        window = np.lib.stride_tricks.as_strided(storage[self.offset :], self.shape, byte_strides)
        return np.ascontiguousarray(window).reshape(self.shape)


class _State(dict):
    """Stands for OrderedDict; PyTorch attaches module versions as attributes, which are of no use here."""

    def __setstate__(self, state: object) -> None:
        pass


def _make_state() -> _State:
    return _State()


def _make_tensor(storage: _StorageRef, offset: int, shape: tuple, strides: tuple, *_: object) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


class _StateUnpickler(pickle.Unpickler):
    """Refuses every global but the four of a plain state dictionary."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("collections", "OrderedDict"):
            return _make_state
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _make_tensor
        if module == "torch" and name in _ITEM_TYPES:
            return name
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is not allowed")

    def persistent_load(self, reference: tuple) -> _StorageRef:
        kind, item_type, key, _device, _size, view = reference
        if kind != "storage" or view is not None:
            raise pickle.UnpicklingError("it holds something other than tensors")
        return _StorageRef(str(key), item_type)


def _read_storage(stream: io.BytesIO, item_name: str) -> np.ndarray:
    item_type = _ITEM_TYPES[item_name]
    (count,) = struct.unpack("<q", stream.read(8))
    raw = stream.read(count * item_type.itemsize) if count >= 0 else b""
    if count < 0 or len(raw) != count * item_type.itemsize:
        raise ValueError("it ends early")
    return np.frombuffer(raw, dtype=item_type)
