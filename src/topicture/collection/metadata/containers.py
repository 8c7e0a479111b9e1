"""The metadata inside a photo file: XMP packets, IPTC records and EXIF dates, found without decoding a pixel.

Files are read here directly rather than through an image library: only the blocks are read, not the
pictures, so that a folder of large scans costs little; text behind the pixels of a PNG and the extended XMP of a JPEG
are seen; and no block may be larger than `MAX_BLOCK`, whatever its header claims. The walk ends after `MAX_SEGMENTS`
steps: a file made of millions of empty segments is no photo, and reading it in the main process would take minutes.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import BinaryIO

from topicture.collection.metadata.boxes import BRANDS, Item, heif_items
from topicture.collection.metadata.dates import ExifDates, dates_in_block, exif_dates
from topicture.collection.metadata.gif import gif_packets

__all__ = ["MAX_BLOCK", "MAX_SEGMENTS", "Blocks", "png_text", "read_blocks"]

MAX_BLOCK = 16 << 20
"""Largest block of metadata that is read, in bytes, and most of all blocks of a kind together."""
MAX_EXIF = 1 << 20
"""Largest block of EXIF that is looked at; larger ones are passed over."""
MAX_BLOCKS = 1000
"""Most blocks of a kind."""
MAX_SEGMENTS = 250_000
"""Most segments or chunks that are walked through: a PNG of 2 GB in pieces of 8 kB has as many."""

_EXIF_HEADER = b"Exif\0\0"
_XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
_EXTENDED_HEADER = b"http://ns.adobe.com/xmp/extension/\0"
_PHOTOSHOP_HEADER = b"Photoshop 3.0\0"
_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_KEYWORD = b"XML:com.adobe.xmp"
_IPTC_RESOURCE = 0x0404
# The last four are RAW files of Olympus and Panasonic; those of many others begin as TIFF does.
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")
_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP = 700, 33723, 34377
_TIFF_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1, 13: 4, 16: 8, 18: 8}  # bytes of a value, by its type


@dataclass
class Blocks:
    """What was found: XMP packets, IPTC-IIM records, dates, and a line for each thing that could not be read."""

    xmp: list[bytes] = field(default_factory=list)
    iptc: list[bytes] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    dates: ExifDates = field(default_factory=ExifDates)

    def add(self, kind: list[bytes], content: bytes) -> None:
        """Keep a block, unless all of them together grow beyond the limits."""
        if len(kind) == MAX_BLOCKS:
            raise ValueError(f"more than {MAX_BLOCKS} blocks of metadata")
        if sum(map(len, kind)) + len(content) > MAX_BLOCK:
            raise ValueError(f"more than {MAX_BLOCK} bytes of metadata")
        kind.append(content)

    def say(self, dates: ExifDates) -> None:
        """Note dates; of several blocks of EXIF the first that says something counts."""
        if not any(self.dates):
            self.dates = dates


def read_blocks(path: str | os.PathLike) -> Blocks:
    """The metadata blocks of a photo; its kind comes from the first bytes, and others have none. Raises OSError."""
    blocks = Blocks()
    with open(path, "rb") as file:
        start = file.read(12)
        file.seek(0)
        try:
            if start.startswith(b"\xff\xd8"):
                _read_jpeg(file, blocks)
            elif start.startswith(_PNG_START):
                _read_png(file, blocks)
            elif start[:4] == b"RIFF" and start[8:] == b"WEBP":
                _read_webp(file, blocks)
            elif start[:4] in _TIFF_STARTS:
                _read_tiff(file, blocks)
            elif start[:4] == b"GIF8":
                for packet in gif_packets(file, partial(_take, file), _steps()):
                    blocks.add(blocks.xmp, packet)
            elif start[4:8] == b"ftyp" and start[8:] in BRANDS:
                for kind, content in heif_items(file, partial(_take, file), _steps()):
                    if kind is Item.XMP:
                        blocks.add(blocks.xmp, content)
                    else:
                        blocks.say(dates_in_block(content))
        except (struct.error, zlib.error, ValueError, OverflowError) as error:
            blocks.problems.append(f"metadata is damaged ({error})")
    return blocks


def _take(file: BinaryIO, size: int) -> bytes:
    """Exactly `size` bytes."""
    if not 0 <= size <= MAX_BLOCK:
        raise ValueError(f"a block of {size} bytes is outside the limit of {MAX_BLOCK}")
    content = file.read(size)
    if len(content) < size:
        raise ValueError("a block ends early")
    return content


def _take_at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return _take(file, size)


def _steps() -> Iterator[None]:
    """The steps of a walk, which ends in an error where there are too many."""
    yield from repeat(None, MAX_SEGMENTS)
    raise ValueError(f"more than {MAX_SEGMENTS} segments")


# --- JPEG: segments up to the first scan ----------------------------------------------------------------------------


def _read_jpeg(file: BinaryIO, blocks: Blocks) -> None:
    extended: dict[bytes, dict[int, bytes]] = {}
    photoshop = bytearray()
    pieces = 0
    file.seek(2)
    for _ in _steps():
        marker = file.read(2)
        if marker == b"\xff\xff":  # a fill byte
            file.seek(-1, os.SEEK_CUR)
            continue
        if len(marker) < 2 or marker[0] != 0xFF or marker[1] in (0xD9, 0xDA):
            break
        if marker[1] == 0x01 or 0xD0 <= marker[1] <= 0xD7:  # markers that stand alone
            continue
        (length,) = struct.unpack(">H", _take(file, 2))
        if length < 2:
            raise ValueError("a segment without a length")
        if marker[1] not in (0xE1, 0xED):
            file.seek(length - 2, os.SEEK_CUR)
            continue
        content = _take(file, length - 2)
        if content.startswith(_EXIF_HEADER):
            blocks.say(dates_in_block(content[len(_EXIF_HEADER) :]))
        elif content.startswith(_XMP_HEADER):
            blocks.add(blocks.xmp, content[len(_XMP_HEADER) :])
        elif content.startswith(_EXTENDED_HEADER):
            start = len(_EXTENDED_HEADER)
            (offset,) = struct.unpack(">I", content[start + 36 : start + 40])
            extended.setdefault(content[start : start + 32], {})[offset] = content[start + 40 :]
            pieces += length
        elif content.startswith(_PHOTOSHOP_HEADER):
            photoshop += content[len(_PHOTOSHOP_HEADER) :]  # resources may run on into the next segment
            pieces += length
        if pieces > MAX_BLOCK:
            raise ValueError(f"more than {MAX_BLOCK} bytes of metadata")
    for parts in extended.values():
        blocks.add(blocks.xmp, _join(parts))
    for record in _photoshop_iptc(bytes(photoshop)):
        blocks.add(blocks.iptc, record)


def _join(parts: dict[int, bytes]) -> bytes:
    """The pieces of an extended packet in order; each lies at its offset."""
    whole = bytearray()
    for offset, part in sorted(parts.items()):
        if offset != len(whole):
            raise ValueError("a part of the extended XMP is missing")
        whole += part
    return bytes(whole)


def _photoshop_iptc(resources: bytes) -> list[bytes]:
    """The IPTC records among Photoshop's image resources."""
    found = []
    at = 0
    while resources[at : at + 4] == b"8BIM":
        number, name_length = struct.unpack_from(">HB", resources, at + 4)
        at += (
            6 + (name_length + 2) // 2 * 2
        )  # number, then the name with its length byte, padded to an even size
        (size,) = struct.unpack_from(">I", resources, at)
        if number == _IPTC_RESOURCE:
            found.append(resources[at + 4 : at + 4 + size])
        at += 4 + (size + 1) // 2 * 2
    return found


# --- PNG and WebP: chunks ---------------------------------------------------------------------------------------------


def _read_png(file: BinaryIO, blocks: Blocks) -> None:
    file.seek(len(_PNG_START))
    for _ in _steps():
        if len(head := file.read(8)) < 8:
            return
        length, kind = struct.unpack(">I4s", head)
        if kind == b"IEND":
            return
        if kind == b"eXIf" and length <= MAX_EXIF:
            blocks.say(dates_in_block(_take(file, length)))
            length = 0
        if kind != b"iTXt":
            file.seek(length + 4, os.SEEK_CUR)  # the checksum follows
            continue
        keyword, _, rest = _take(file, length).partition(b"\0")
        file.seek(4, os.SEEK_CUR)
        if keyword == _PNG_KEYWORD:
            blocks.add(blocks.xmp, png_text(rest))


def png_text(rest: bytes) -> bytes:
    """The text of an iTXt chunk behind its keyword: two flags, language, translated keyword, text.

    Raises ValueError or zlib.error where it is damaged.
    """
    text = rest[2:].split(b"\0", 2)[2:]
    if not text:
        raise ValueError("a text chunk ends early")
    if rest[0] == 0:
        return text[0]
    inflater = zlib.decompressobj()
    plain = inflater.decompress(text[0], MAX_BLOCK)
    if inflater.unconsumed_tail:
        raise ValueError(f"a compressed block is over the limit of {MAX_BLOCK} bytes")
    return plain


def _read_webp(file: BinaryIO, blocks: Blocks) -> None:
    file.seek(12)
    for _ in _steps():
        if len(head := file.read(8)) < 8:
            return
        kind, length = struct.unpack("<4sI", head)
        behind = file.tell() + length + length % 2
        if kind == b"XMP ":
            blocks.add(blocks.xmp, _take(file, length))
        elif kind == b"EXIF" and length <= MAX_EXIF:
            blocks.say(dates_in_block(_take(file, length).removeprefix(_EXIF_HEADER)))
        file.seek(behind)


# --- TIFF: the first directory ----------------------------------------------------------------------------------------


def _read_tiff(file: BinaryIO, blocks: Blocks) -> None:
    order = "<" if file.read(2) == b"II" else ">"
    (version,) = struct.unpack(order + "H", _take(file, 2))
    big = version == 43
    if not big:
        blocks.say(exif_dates(partial(_take_at, file)))
    count_format, entry_format, offset_format = ("Q", "HHQ8s", "Q") if big else ("H", "HHI4s", "I")
    file.seek(8 if big else 4)
    (directory,) = struct.unpack(order + offset_format, _take(file, struct.calcsize(order + offset_format)))
    file.seek(directory)
    (count,) = struct.unpack(order + count_format, _take(file, struct.calcsize(order + count_format)))
    entry_size = struct.calcsize(order + entry_format)
    entries = _take(file, count * entry_size)
    wanted = {_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP}
    for tag, kind, number, value in struct.iter_unpack(order + entry_format, entries):
        if tag not in wanted:
            continue
        wanted.remove(
            tag
        )  # a directory has an entry once; a million of them could point to the same megabytes
        size = number * _TIFF_SIZES.get(kind, 1)
        if size > len(value):
            file.seek(struct.unpack(order + offset_format, value)[0])
            value = _take(file, size)
        content = value[:size]
        if tag == _TIFF_XMP:
            blocks.add(blocks.xmp, content)
        elif tag == _TIFF_IPTC:
            blocks.add(blocks.iptc, _swapped(content) if kind == 4 and order == "<" else content)
        else:
            for record in _photoshop_iptc(content):
                blocks.add(blocks.iptc, record)


def _swapped(content: bytes) -> bytes:
    """Some writers store the record as 4-byte numbers in the file's order; an IPTC record always begins with 0x1c."""
    if content[:1] == b"\x1c":
        return content
    return b"".join(content[at : at + 4][::-1] for at in range(0, len(content), 4))
