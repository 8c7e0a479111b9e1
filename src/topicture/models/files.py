"""Model files: one safetensors file with a JSON header. Opening one can't run code.

The header says which model, which version, which vocabulary and which feature sizes; the arrays are the fitted
parameters. Writing is atomic: a reader sees the old file or the new one, whole.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from topicture.atomic import write_atomically
from topicture.errors import DataNotFound, ModelFileError

__all__ = ["FORMAT", "read_model", "write_model"]

FORMAT = 1
_KEY = "topicture"
_MAX_HEADER = 64 << 20


def write_model(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write header and arrays to one file. Raises ModelFileError for a header too long to be read again."""
    header = {**header, "format": FORMAT}
    contiguous = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    text = json.dumps(header, sort_keys=True, default=_plain)
    content = save(contiguous, metadata={_KEY: text})
    length = int.from_bytes(content[:8], "little")
    if length > _MAX_HEADER:
        raise ModelFileError(
            f"{path}: not written: the header of the model takes {length >> 20} MB, and {_MAX_HEADER >> 20} MB is the "
            "most that can be read again; learn with fewer words"
        )
    write_atomically(Path(path), content)


def _plain(value: Any) -> Any:
    """NumPy numbers, which a grid search hands over as hyper-parameters, as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a model file can't hold {value!r}")


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model file; anything else is refused with one clear line."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataNotFound(f"{path}: there is no such model file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: can't be read ({error.strerror})") from None
    header = _header(path, content)
    try:
        arrays = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path}: the file is damaged or truncated ({error})") from None
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ModelFileError(f"{path}: the array '{name}' holds values that are not numbers (NaN)")
    return header, arrays


def _header(path: Path, content: bytes) -> dict[str, Any]:
    """The JSON header, read by hand so that a foreign file is told apart before any parser sees it."""
    length = int.from_bytes(content[:8], "little") if len(content) >= 8 else -1
    if not 2 <= length <= _MAX_HEADER or content[8:9] != b"{":
        # Only now: a header of 640 or 896 bytes begins as a pickle does.
        if content[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
            raise ModelFileError(
                f"{path}: a pickle file; Topicture never opens those, since they can run code"
            )
        raise ModelFileError(f"{path}: not a Topicture model file")
    if len(content) < 8 + length:
        raise ModelFileError(f"{path}: the file is truncated")
    try:
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][_KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{path}: a safetensors file, but not one of Topicture's models") from None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError(f"{path}: the header of the model is damaged")
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path}: written by a newer Topicture (format {header['format']}, this one reads {FORMAT})"
        )
    return header
