"""The segments of a JPEG file and the chunks of a PNG file, found without reading what is in them."""

import struct
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["JPEG", "MAX_SEGMENTS", "PNG", "Damaged", "Part", "jpeg_parts", "png_parts", "read_span"]

MAX_SEGMENTS = 250_000
"""Most segments, and fill bytes between them, that are told apart: a PNG of 2 GB in pieces of 8 kB has as many."""
JPEG = b"\xff\xd8"
PNG = b"\x89PNG\r\n\x1a\n"

_JPEG_WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}
_JPEG_SCAN = 0xDA

Part = tuple[int | bytes, int, int]
"""A marker or kind, and where the segment or chunk begins and ends."""


class Damaged(Exception):
    """The segments do not add up, or are too many for a photo."""


def read_span(file: BinaryIO, begin: int, end: int) -> bytes:
    """What lies between two places of a file; less where it ends before."""
    file.seek(begin)
    return file.read(max(end - begin, 0))


def jpeg_parts(file: BinaryIO, size: int) -> Iterator[Part]:
    """The segments; the first scan and everything behind it is one."""
    position = len(JPEG)
    for _ in range(MAX_SEGMENTS):
        head = read_span(file, position, position + 4)
        if len(head) < 2 or head[0] != 0xFF:
            raise Damaged
        marker = head[1]
        if marker == 0xFF:  # padding before a marker
            position += 1
            continue
        if marker == _JPEG_SCAN:
            yield marker, position, size
            return
        length = 0 if marker in _JPEG_WITHOUT_LENGTH else struct.unpack(">H", head[2:])[0]
        end = position + 2 + length
        yield marker, position, end
        position = end
    raise Damaged


def png_parts(file: BinaryIO, size: int) -> Iterator[Part]:
    """The chunks."""
    position = len(PNG)
    for _ in range(MAX_SEGMENTS):
        if position >= size:
            return
        length, kind = struct.unpack(">I4s", read_span(file, position, position + 8))
        end = position + 12 + length
        if end > size:
            raise Damaged
        yield kind, position, end
        position = end
    raise Damaged
