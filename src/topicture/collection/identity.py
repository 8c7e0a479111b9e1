"""What makes two files the same picture: a hash of the picture data, without the metadata around it.

Renaming, moving and copying a photo keep it, and so does another program that writes keywords, ratings or captions into
the file: in JPEG and PNG those lie in segments of their own, which are left out of the hash. Other formats are hashed
whole, and so are files whose segments do not add up.

The catalog knows a photo by its `picture_id`. What is measured on pixels goes by the `seen_id`: the same, and besides
what a decoder takes from the metadata: which way is up (EXIF, or else XMP) and what the colours mean (JFIF, ICC).

Files are read once or twice from end to end, a piece at a time: memory does not grow with them.
"""

import errno
import hashlib
import io
import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

from topicture.collection.pixel_settings import PNG_TEXT, pixel_settings
from topicture.collection.segments import JPEG, PNG, Damaged, Part, jpeg_parts, png_parts, read_span

__all__ = ["MAX_BYTES", "picture_id", "seen_id"]

MAX_BYTES = 4 << 30
"""Largest file that has an identity. No photo is so large; a sparse file of terabytes would be read for hours."""
_PIECE = 1 << 20
# Comments and application segments carry metadata; Adobe's (14) says how colours are coded and belongs to the picture.
_JPEG_METADATA = {0xFE, *range(0xE0, 0xEE), 0xEF}
_PNG_METADATA = {*PNG_TEXT, b"eXIf", b"tIME"}

Span = tuple[int, int]
"""Where a part of a file begins and ends."""


def picture_id(path: str | os.PathLike) -> bytes:
    """SHA-256 of the picture data of a file.

    Raises OSError where the file can't be read, is not a regular file, or is larger than `MAX_BYTES`.
    """
    with _open(path) as file:
        return _digest(file, _size(file, path))


def seen_id(source: str | os.PathLike | bytes) -> bytes:
    """SHA-256 of all that decides the pixels a decoder makes of a file, or of its content.

    Raises OSError as `picture_id` does.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else _open(source) as file:
        size = len(source) if isinstance(source, bytes) else _size(file, source)
        picture = _digest(file, size)
        try:
            settings = pixel_settings(file, size)
        except (struct.error, Damaged):
            return _hash_of(file, iter([(0, size)]))
        return picture if settings is None else hashlib.sha256(picture + settings).digest()


def _open(path: str | os.PathLike) -> BinaryIO:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(None, "not a regular file", os.fspath(path))
    return open(path, "rb", opener=_without_waiting)


def _size(file: BinaryIO, path: str | os.PathLike) -> int:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        reason = f"{size / 1e9:.1f} GB is over the limit of {MAX_BYTES / 1e9:.1f} GB"
        raise OSError(errno.EFBIG, reason, os.fspath(path))
    return size


def _without_waiting(path: str, flags: int) -> int:
    """Open what may have become a pipe since it was looked at, which would block for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(file: BinaryIO, size: int) -> bytes:
    start = read_span(file, 0, len(PNG))
    try:
        if start.startswith(JPEG):
            return _hash_of(file, _without(_JPEG_METADATA, jpeg_parts(file, size)))
        if start == PNG:
            return _hash_of(file, _without(_PNG_METADATA, png_parts(file, size)))
    except (struct.error, Damaged):
        pass  # a damaged file is its own identity
    return _hash_of(file, iter([(0, size)]))


def _hash_of(file: BinaryIO, spans: Iterator[Span]) -> bytes:
    digest = hashlib.sha256()
    for begin, end in spans:
        file.seek(begin)
        while begin < end:
            piece = file.read(min(_PIECE, end - begin))
            if not piece:
                break  # cut short meanwhile: the next scan sees another size
            digest.update(piece)
            begin += len(piece)
    return digest.digest()


def _without(metadata: set, parts: Iterator[Part]) -> Iterator[Span]:
    return ((begin, end) for kind, begin, end in parts if kind not in metadata)
