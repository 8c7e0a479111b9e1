"""Values between processes as plain data: what arrives can be wrong, but it can't run code or fill the memory.

A message is the length of its head, the length of its body, a JSON head and a body of raw bytes. The head holds the
value; bytes and arrays lie in the body, in order. Nothing is unpickled: a worker that decodes hostile files may itself
have been taken over, and its parent must be able to read what it says.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import IO, Any

import numpy as np

__all__ = ["MAX_BODY", "MAX_HEAD", "BadMessage", "receive_message", "send_message"]

MAX_HEAD = 4 << 20
MAX_BODY = 256 << 20
"""Largest parts, in bytes; the measurements of a photo take a few million."""

_LENGTHS = struct.Struct("<QQ")
_KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_DTYPES = {np.dtype(kind).newbyteorder("<").str: np.dtype(kind).newbyteorder("<") for kind in _KINDS}


class BadMessage(Exception):
    """Bytes that are no message; the text says why."""


# --- Sending ----------------------------------------------------------------------------------------------------------


def send_message(stream: IO[bytes], value: Any) -> None:
    """Write a value: None, truth values, numbers, text, bytes, arrays of numbers; dataclasses, lists, tuples and dicts
    of them. Raises TypeError for anything else, ValueError for what is too large."""
    body: list[bytes] = []
    head = json.dumps(_packed(value, body)).encode("ascii")
    size = sum(map(len, body))
    if len(head) > MAX_HEAD or size > MAX_BODY:
        raise ValueError(f"an answer of {len(head) + size} bytes is over the limit")
    stream.write(_LENGTHS.pack(len(head), size) + head)
    for part in body:
        stream.write(part)
    stream.flush()


def _packed(value: Any, body: list[bytes]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    elif hasattr(value, "__array__"):  # of JAX, too
        value = np.asarray(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, bytes):
        body.append(value)
        return {"bytes": len(value)}
    if isinstance(value, np.ndarray):
        plain = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        if plain.dtype.str not in _DTYPES:
            raise TypeError(f"arrays of {value.dtype} can't be sent")
        body.append(plain.tobytes())
        return {"array": plain.dtype.str, "shape": list(value.shape)}
    if isinstance(value, list):
        return [_packed(part, body) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_packed(part, body) for part in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_packed(key, body), _packed(part, body)] for key, part in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        values = [_packed(getattr(value, field.name), body) for field in fields(value)]
        return {"record": type(value).__name__, "values": values}
    raise TypeError(f"a {type(value).__name__} can't be sent")


# --- Receiving --------------------------------------------------------------------------------------------------------


def receive_message(stream: IO[bytes], records: Mapping[str, type] | None = None) -> Any:
    """Read a value that `send_message` wrote; `records` are the dataclasses that may occur, by name.

    Raises EOFError where the stream ends early, and BadMessage for everything that is not a message. A dataclass checks
    its own values when it is made: what it raises is a BadMessage too.
    """
    head_size, body_size = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    if head_size > MAX_HEAD or body_size > MAX_BODY:
        raise BadMessage(f"it claims {head_size} and {body_size} bytes, over the limits")
    head, body = _read_exactly(stream, head_size), _read_exactly(stream, body_size)
    try:
        reader = _Reader(body, records or {})
        value = reader.unpacked(json.loads(head))
        if reader.position != len(body):
            raise BadMessage("bytes are left over")
        return value
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise BadMessage(f"{type(error).__name__}: {error}") from None


class _Reader:
    def __init__(self, body: bytes, records: Mapping[str, type]) -> None:
        self.position = 0
        self._body = body
        self._records = records

    def unpacked(self, packed: Any) -> Any:
        if isinstance(packed, list):
            return [self.unpacked(part) for part in packed]
        if not isinstance(packed, dict):
            return packed
        match packed:
            case {"bytes": int(size), **rest} if not rest:
                return self._take(size)
            case {"array": str(kind), "shape": list(shape), **rest} if not rest:
                return self._array(_DTYPES[kind], shape)
            case {"tuple": list(parts), **rest} if not rest:
                return tuple(self.unpacked(part) for part in parts)
            case {"dict": list(pairs), **rest} if not rest:
                return {self.unpacked(key): self.unpacked(part) for key, part in pairs}
            case {"record": str(name), "values": list(values), **rest} if not rest:
                return self._records[name](*(self.unpacked(part) for part in values))
        raise BadMessage(f"an unknown form {sorted(packed)[:5]}")

    def _array(self, dtype: np.dtype, shape: list[Any]) -> np.ndarray:
        if len(shape) > 8 or not all(type(n) is int and n >= 0 for n in shape):
            raise BadMessage(f"an array of shape {shape[:9]}")
        size = dtype.itemsize
        for n in shape:
            size *= n
        # Copied: a view would keep the whole message, and could not be written to.
        return np.frombuffer(self._take(size), dtype).reshape(shape).copy()

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._body) - self.position:
            raise BadMessage("its parts are longer than it is")
        self.position += size
        return self._body[self.position - size : self.position]


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content
