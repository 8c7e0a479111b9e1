"""The map as one file under the catalog's cache: a line that says what it is, its words as JSON, and the columns.

It can be made again at any time; it appears whole or not at all.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicture.atomic import write_atomically
from topicture.errors import TopictureError

__all__ = ["MapFile", "MapFileError", "read_map", "write_map"]

NAME = "map.bin"
MARK = b"topicture map 1\n"


class MapFileError(TopictureError, ValueError):
    """A map that is damaged or foreign."""


@dataclass(frozen=True, eq=False)
class MapFile:
    """A map: `images` ascending, their `places` (D, 2), words with theirs, and what it was made from."""

    version: str
    index: str
    source: str
    made: float
    words: tuple[tuple[str, float, float], ...]
    images: np.ndarray
    places: np.ndarray


def write_map(
    cache: Path,
    *,
    index: str,
    source: str,
    made: float,
    words: list[tuple[str, float, float]],
    images: np.ndarray,
    places: np.ndarray,
) -> str:
    """Write a map; its version."""
    columns = images.astype("<i4").tobytes() + places.astype("<f4").T.tobytes()
    version = hashlib.blake2b(columns + repr(made).encode(), digest_size=8).hexdigest()
    facts = {
        "version": version,
        "index": index,
        "source": source,
        "made": made,
        "words": words,
        "n": len(images),
    }
    header = json.dumps(facts).encode()
    write_atomically(cache / NAME, MARK + len(header).to_bytes(4, "little") + header + columns)
    return version


def read_map(cache: Path) -> MapFile | None:
    """The map that was made last; None where none was. Raises MapFileError."""
    path = cache / NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MapFileError(f"{path}: can't be read ({error.strerror})") from None
    try:
        return _parse(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MapFileError(f"{path}: damaged, or not a map; make it again") from None


def _parse(content: bytes) -> MapFile:
    start = len(MARK) + 4
    if content[: len(MARK)] != MARK:
        raise ValueError("another mark")
    end = start + int.from_bytes(content[len(MARK) : start], "little")
    facts: dict[str, Any] = json.loads(content[start:end])
    n = int(facts["n"])
    if len(content) != end + 12 * n:
        raise ValueError("another length")
    images = np.frombuffer(content, "<i4", n, end)
    places = np.frombuffer(content, "<f4", 2 * n, end + 4 * n).reshape(2, n).T
    if not np.isfinite(places).all() or (np.diff(images) <= 0).any():
        raise ValueError("no places")
    words = tuple((str(word), float(x), float(y)) for word, x, y in facts["words"])
    return MapFile(
        str(facts["version"]),
        str(facts["index"]),
        str(facts["source"]),
        float(facts["made"]),
        words,
        images,
        places,
    )
