"""XMP packets and blocks of EXIF of HEIF and AVIF files.

These are made of boxes (ISO 14496-12): the box `meta` lists items (`iinf`) and where each lies (`iloc`); the
XMP packet is the item of the type `application/rdf+xml`, EXIF that of the type `Exif`.
"""

import os
import struct
from collections.abc import Callable, Iterator
from enum import Enum
from typing import BinaryIO, NamedTuple

__all__ = ["BRANDS", "Item", "heif_items"]

BRANDS = {b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"mif2"}
"""What files of the family call themselves behind `ftyp`."""

_XMP_TYPE = b"application/rdf+xml"

Take = Callable[[int], bytes]


class Item(Enum):
    """What an item is."""

    XMP = "XMP"
    EXIF = "EXIF"


class _Box(NamedTuple):
    """A box: its type and content."""

    kind: bytes
    content: bytes


class _Reader:
    """Numbers from a content, one after the other; ValueError where it ends early."""

    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        found = self.content[self.at : self.at + size]
        if len(found) < size:
            raise ValueError("a box ends early")
        self.at += size
        return found

    def text(self) -> bytes:
        """Up to the next zero byte, or the end."""
        end = self.content.find(b"\0", self.at)
        end = len(self.content) if end < 0 else end
        found = self.content[self.at : end]
        self.at = end + 1
        return found


def heif_items(file: BinaryIO, take: Take, steps: Iterator[None]) -> Iterator[tuple[Item, bytes]]:
    """XMP packets and EXIF of a file; `take` reads so many bytes or raises, `steps` ends a walk that is too long."""
    file.seek(0)
    for _ in steps:
        head = file.read(8)
        if len(head) < 8:
            return
        size, kind = struct.unpack(">I4s", head)
        length = size - 8
        if size == 1:
            length = struct.unpack(">Q", take(8))[0] - 16
        if size == 0:
            length = os.fstat(file.fileno()).st_size - file.tell()
        if length < 0:
            raise ValueError("a box without a length")
        if kind == b"meta":
            yield from _items_of(take(length), file, take, steps)
            return
        file.seek(length, os.SEEK_CUR)


def _items_of(meta: bytes, file: BinaryIO, take: Take, steps: Iterator[None]) -> Iterator[tuple[Item, bytes]]:
    inside = {box.kind: box.content for box in _boxes(meta[4:], steps)}  # behind its version and flags
    wanted = dict(_known_items(inside.get(b"iinf", b""), steps))
    for item, method, extents in _places(inside.get(b"iloc", b""), steps) if wanted else ():
        if item not in wanted:
            continue
        try:
            packet = b""
            for offset, length in extents:
                if method == 1:
                    packet += inside.get(b"idat", b"")[offset : offset + length]
                elif method == 0:
                    file.seek(offset)
                    packet += take(length)
        except (ValueError, OverflowError):
            if wanted[item] is Item.XMP:
                raise
            continue  # a date that can't be read is no reason to doubt the words
        start = int.from_bytes(packet[:4], "big") + 4 if wanted[item] is Item.EXIF else 0
        yield wanted[item], packet[start:]


def _boxes(content: bytes, steps: Iterator[None]) -> Iterator[_Box]:
    at = 0
    for _ in steps:
        if at + 8 > len(content):
            return
        size, kind = struct.unpack_from(">I4s", content, at)
        head = 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", content, at + 8)
            head = 16
        size = size or len(content) - at
        if size < head:
            raise ValueError("a box without a length")
        yield _Box(kind, content[at + head : at + size])
        at += size


def _known_items(content: bytes, steps: Iterator[None]) -> Iterator[tuple[int, Item]]:
    """Numbers of the items that are XMP packets or EXIF."""
    if not content:
        return
    entries = content[6 if content[0] == 0 else 8 :]  # version, flags, and how many there are
    for box in _boxes(entries, steps):
        if box.kind != b"infe" or not box.content or box.content[0] < 2:
            continue
        reader = _Reader(box.content)
        version = reader.number(1)
        reader.take(3)
        item = reader.number(2 if version == 2 else 4)
        reader.take(2)  # how it is protected
        kind = reader.take(4)
        reader.text()  # its name
        if kind == b"mime" and reader.text() == _XMP_TYPE:
            yield item, Item.XMP
        elif kind == b"Exif":
            yield item, Item.EXIF


def _places(content: bytes, steps: Iterator[None]) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Items, the way their offsets count (0: from the start of the file, 1: in `idat`), and offsets with lengths."""
    if not content:
        return
    reader = _Reader(content)
    version = reader.number(1)
    reader.take(3)
    sizes = reader.number(2)
    offset_size, length_size, base_size, index_size = (sizes >> shift & 15 for shift in (12, 8, 4, 0))
    for _ in range(reader.number(4 if version == 2 else 2)):
        next(steps)
        item = reader.number(4 if version == 2 else 2)
        method = reader.number(2) & 15 if version else 0
        reader.take(2)  # the file it lies in
        base = reader.number(base_size)
        extents = []
        for _ in range(reader.number(2)):
            next(steps)
            if version:
                reader.take(index_size)
            extents.append((base + reader.number(offset_size), reader.number(length_size)))
        yield item, method, extents
