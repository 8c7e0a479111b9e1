"""What makes two files the same picture: a hash of the picture data, without the metadata around it.

Renaming, moving and copying a photo keep it, and so does another program that writes keywords, ratings or captions into
the file: in JPEG and PNG those lie in segments of their own, which are left out of the hash. Other formats are hashed
whole.
"""

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

__all__ = ["picture_id"]

_JPEG = b"\xff\xd8"
_PNG = b"\x89PNG\r\n\x1a\n"
# Comments and application segments carry metadata; Adobe's (14) says how colours are coded and belongs to the picture.
_JPEG_METADATA = {0xFE, *range(0xE0, 0xEE), 0xEF}
_JPEG_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_JPEG_SCAN = 0xDA
_PNG_METADATA = {b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"}


def picture_id(path: str | os.PathLike) -> bytes:
    """SHA-256 of the picture data of a file; raises OSError where it can't be read or is not a regular file."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe could block for ever
        raise OSError(None, "not a regular file", os.fspath(path))
    content = memoryview(Path(path).read_bytes())
    digest = hashlib.sha256()
    for part in _picture_parts(content):
        digest.update(part)
    return digest.digest()


def _picture_parts(content: memoryview) -> list[memoryview]:
    try:
        if content[:2] == _JPEG:
            return list(_jpeg_parts(content))
        if content[:8] == _PNG:
            return list(_png_parts(content))
    except (struct.error, IndexError, _Damaged):
        pass  # a damaged file is its own identity
    return [content]


class _Damaged(Exception):
    """The segments do not add up."""


def _jpeg_parts(content: memoryview) -> Iterator[memoryview]:
    """The segments that are not metadata, and from the first scan on everything."""
    position = 2
    while True:
        if content[position] != 0xFF:
            raise _Damaged
        marker = content[position + 1]
        if marker == 0xFF:  # padding before a marker
            position += 1
            continue
        if marker == _JPEG_SCAN:
            yield content[position:]
            return
        (length,) = (
            (0,)
            if marker in _JPEG_WITHOUT_LENGTH
            else struct.unpack(">H", content[position + 2 : position + 4])
        )
        end = position + 2 + length
        if marker not in _JPEG_METADATA:
            yield content[position:end]
        position = end


def _png_parts(content: memoryview) -> Iterator[memoryview]:
    position = len(_PNG)
    while position < len(content):
        (length,) = struct.unpack(">I", content[position : position + 4])
        end = position + 12 + length
        if end > len(content):
            raise _Damaged
        if bytes(content[position + 4 : position + 8]) not in _PNG_METADATA:
            yield content[position:end]
        position = end
