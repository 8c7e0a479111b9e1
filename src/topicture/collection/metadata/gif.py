"""XMP packets of GIF files: they stand in an application block, as they are, not cut into sub-blocks.

A reader that knows nothing of XMP takes the letters of the packet for lengths of sub-blocks; a trailer of descending
numbers behind it leads it to the end, wherever it lands.
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO

__all__ = ["gif_packets"]

_XMP = b"XMP DataXMP"
_TRAILER = b"\x01" + bytes(range(255, -1, -1))
_PICTURE, _EXTENSION, _APPLICATION = b"\x2c", b"\x21", b"\xff"


def gif_packets(file: BinaryIO, take: Callable[[int], bytes], steps: Iterator[None]) -> Iterator[bytes]:
    """The packets of a file; `take` reads this many bytes or raises, `steps` ends a walk that is too long."""
    file.seek(10)
    _skip_colours(file, take(3)[0])
    for _ in steps:
        kind = file.read(1)
        if kind == _PICTURE:
            _skip_colours(file, take(9)[8])
            take(1)  # the size of codes
        elif kind != _EXTENSION:
            return
        elif take(1) == _APPLICATION and take(take(1)[0]) == _XMP:
            begin = file.tell()
            size = sum(1 + length for length in _sub_blocks(file, take, steps))
            file.seek(begin)
            yield take(size).removesuffix(_TRAILER)
            take(1)
            continue
        for _ in _sub_blocks(file, take, steps):
            pass


def _skip_colours(file: BinaryIO, flags: int) -> None:
    """A table of colours follows where the highest bit says so; the lowest three tell its size."""
    if flags & 0x80:
        file.seek(3 << (flags & 7) + 1, os.SEEK_CUR)


def _sub_blocks(file: BinaryIO, take: Callable[[int], bytes], steps: Iterator[None]) -> Iterator[int]:
    """Lengths of the sub-blocks that follow, each of which is passed over; an empty one is the last."""
    while length := take(1)[0]:
        next(steps)
        file.seek(length, os.SEEK_CUR)
        yield length
