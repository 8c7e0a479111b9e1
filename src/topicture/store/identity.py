"""What makes two files the same picture: a hash of the picture data, without the metadata around it.

Renaming, moving and copying a photo keep it, and so does another program that writes keywords, ratings or captions into
the file: in JPEG and PNG those lie in segments of their own, which are left out of the hash. Other formats are hashed
whole, and so are files whose segments do not add up.

Files are read once or twice from end to end, a piece at a time: memory does not grow with them.
"""

import errno
import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["MAX_BYTES", "picture_id"]

MAX_BYTES = 4 << 30
"""Largest file that has an identity. No photo is so large; a sparse file of terabytes would be read for hours."""
MAX_SEGMENTS = 250_000
"""Most segments, and fill bytes between them, that are told apart: a PNG of 2 GB in pieces of 8 kB has as many."""

_PIECE = 1 << 20
_JPEG = b"\xff\xd8"
_PNG = b"\x89PNG\r\n\x1a\n"
# Comments and application segments carry metadata; Adobe's (14) says how colours are coded and belongs to the picture.
_JPEG_METADATA = {0xFE, *range(0xE0, 0xEE), 0xEF}
_JPEG_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_JPEG_SCAN = 0xDA
_PNG_METADATA = {b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"}

Span = tuple[int, int]
"""Where a part of a file begins and ends."""


def picture_id(path: str | os.PathLike) -> bytes:
    """SHA-256 of the picture data of a file.

    Raises OSError where the file can't be read, is not a regular file, or is larger than `MAX_BYTES`.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(None, "not a regular file", os.fspath(path))
    with open(path, "rb", opener=_without_waiting) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            reason = f"{size / 1e9:.1f} GB is over the limit of {MAX_BYTES / 1e9:.1f} GB"
            raise OSError(errno.EFBIG, reason, os.fspath(path))
        return _digest(file, size)


def _without_waiting(path: str, flags: int) -> int:
    """Open what may have become a pipe since it was looked at, which would block for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(file: BinaryIO, size: int) -> bytes:
    start = file.read(len(_PNG))
    try:
        if start.startswith(_JPEG):
            return _hash_of(file, _jpeg_parts(file, size))
        if start == _PNG:
            return _hash_of(file, _png_parts(file, size))
    except (struct.error, _Damaged):
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


class _Damaged(Exception):
    """The segments do not add up, or are too many for a photo."""


def _jpeg_parts(file: BinaryIO, size: int) -> Iterator[Span]:
    """The segments that are not metadata, and from the first scan on everything."""
    position = len(_JPEG)
    for _ in range(MAX_SEGMENTS):
        file.seek(position)
        head = file.read(4)
        if len(head) < 2 or head[0] != 0xFF:
            raise _Damaged
        marker = head[1]
        if marker == 0xFF:  # padding before a marker
            position += 1
            continue
        if marker == _JPEG_SCAN:
            yield position, size
            return
        length = 0 if marker in _JPEG_WITHOUT_LENGTH else struct.unpack(">H", head[2:])[0]
        end = position + 2 + length
        if marker not in _JPEG_METADATA:
            yield position, end
        position = end
    raise _Damaged


def _png_parts(file: BinaryIO, size: int) -> Iterator[Span]:
    """The chunks that are not metadata."""
    position = len(_PNG)
    for _ in range(MAX_SEGMENTS):
        if position >= size:
            return
        file.seek(position)
        length, kind = struct.unpack(">I4s", file.read(8))
        end = position + 12 + length
        if end > size:
            raise _Damaged
        if kind not in _PNG_METADATA:
            yield position, end
        position = end
    raise _Damaged
