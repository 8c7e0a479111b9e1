"""What a decoder takes from the metadata of a photo: which way is up, and what the colours mean.

Only for JPEG and PNG, where these lie apart from the picture. Pillow takes the orientation from EXIF, or else from XMP,
and colours from JFIF and ICC segments. Where the metadata are not plain, all that might say it is given instead: two
files that a decoder shows differently never have the same settings.
"""

import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO

from topicture.collection.metadata.containers import png_text
from topicture.collection.segments import JPEG, PNG, Damaged, jpeg_parts, png_parts, read_span

__all__ = ["MAX_SETTINGS", "PNG_TEXT", "pixel_settings"]

MAX_SETTINGS = 16 << 20
"""Most bytes of metadata that are looked at."""
PNG_TEXT = {b"tEXt", b"zTXt", b"iTXt"}

_JPEG_JFIF, _JPEG_APP1, _JPEG_APP2 = 0xE0, 0xE1, 0xE2
_EXIF_HEADER, _ICC_HEADER = b"Exif\0\0", b"ICC_PROFILE\0"
_XMP_HEADER, _PNG_XMP = b"http://ns.adobe.com/xap/1.0/\0", b"XML:com.adobe.xmp"
_PNG_OLD_EXIF = b"Raw profile type exif"
_ORIENTATION_TAG, _SHORT = 0x0112, 3
_XMP_ORIENTATION = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')
_UPRIGHT = b"1"
# Bytes of a value, by its type.
_TIFF_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}


@dataclass
class _Settings:
    """EXIF blocks and XMP packets, which may say which way is up, and what else decides the pixels."""

    exif: list[bytes] = field(default_factory=list)
    xmp: list[bytes] = field(default_factory=list)
    others: list[bytes] = field(default_factory=list)
    size: int = 0

    def take(self, file: BinaryIO, begin: int, end: int) -> bytes:
        self.count(end - begin)
        return read_span(file, begin, end)

    def count(self, n_bytes: int) -> None:
        self.size += n_bytes
        if self.size > MAX_SETTINGS:
            raise Damaged

    def to_bytes(self) -> bytes:
        return _orientation(self.exif, self.xmp) + b"\0" + b"".join(self.others)


def pixel_settings(file: BinaryIO, size: int) -> bytes | None:
    """What the metadata of a JPEG or PNG file say about its pixels; None for other formats.

    Raises Damaged or struct.error where its segments do not add up or are too many.
    """
    start = read_span(file, 0, len(PNG))
    if start.startswith(JPEG):
        return _jpeg_settings(file, size).to_bytes()
    return _png_settings(file, size).to_bytes() if start == PNG else None


def _jpeg_settings(file: BinaryIO, size: int) -> _Settings:
    found = _Settings()
    for marker, begin, end in jpeg_parts(file, size):
        if marker not in (_JPEG_JFIF, _JPEG_APP1, _JPEG_APP2):
            continue
        content = found.take(file, begin + 4, end)
        if marker == _JPEG_APP1 and content.startswith(_EXIF_HEADER):
            found.exif.append(content.removeprefix(_EXIF_HEADER))
        elif marker == _JPEG_APP1 and content.startswith(_XMP_HEADER):
            found.xmp.append(content)
        elif marker == _JPEG_JFIF or content.startswith(_ICC_HEADER):
            found.others.append(content)
    return found


def _png_settings(file: BinaryIO, size: int) -> _Settings:
    """Profiles of colour belong to the picture here, so only the orientation is left."""
    found = _Settings()
    for kind, begin, end in png_parts(file, size):
        begin, end = begin + 8, end - 4  # a checksum follows
        if kind == b"IEND":
            break
        if kind == b"eXIf":
            found.exif.append(found.take(file, begin, end))
        elif kind in PNG_TEXT:
            keyword, _, text = read_span(file, begin, min(end, begin + 80)).partition(b"\0")
            if keyword == _PNG_XMP and kind == b"iTXt":
                text = found.take(file, begin + len(keyword) + 1, end)
                try:
                    packet = png_text(text)
                except (ValueError, zlib.error):
                    found.others.append(text)
                else:
                    found.count(len(packet))
                    found.xmp.append(packet)
            elif keyword in (_PNG_XMP, _PNG_OLD_EXIF):
                found.others.append(found.take(file, begin, end))
    return found


def _orientation(exif: list[bytes], xmp: list[bytes]) -> bytes:
    """The digit that says which way is up, in EXIF or else in XMP; where they are not plain, all that might say it."""
    digits = [
        b",".join(_XMP_ORIENTATION.findall(packet)) for packet in xmp
    ]  # of several packets the last counts
    of_xmp = _UPRIGHT if set(digits) <= {b"", _UPRIGHT} else b";".join(digits)
    try:
        return (_exif_orientation(exif) if exif else None) or of_xmp
    except (struct.error, ValueError):
        return b"".join(exif) + of_xmp


def _exif_orientation(blocks: list[bytes]) -> bytes | None:
    """None where the first directory has no orientation; raises ValueError or struct.error where it is not plain.

    A decoder gives up at the first entry that points beyond the block, so one such entry makes all of them doubtful.
    """
    block = blocks[0]
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if len(blocks) > 1 or order is None:
        raise ValueError("not one block of the usual kind")
    (start,) = struct.unpack_from(order + "I", block, 4)
    (count,) = struct.unpack_from(order + "H", block, start)
    found = []
    for n in range(count):
        tag, kind, number, place = struct.unpack_from(order + "HHII", block, start + 2 + 12 * n)
        size = number * _TIFF_SIZES.get(kind, len(block) + 1)
        if size > 4 and place + size > len(block):
            raise ValueError("an entry of an unknown kind, or beyond the block")
        if tag == _ORIENTATION_TAG:
            found.append((kind, number, *struct.unpack_from(order + "H", block, start + 10 + 12 * n)))
    if not found:
        return None
    kind, number, value = found[0]
    if len(found) > 1 or (kind, number) != (_SHORT, 1):
        raise ValueError("not one short number")
    return str(value).encode() if 2 <= value <= 8 else _UPRIGHT
