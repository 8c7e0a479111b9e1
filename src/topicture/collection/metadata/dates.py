"""When a photo was taken, on the clock of its camera: as EXIF and XMP note it."""

import re
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from lxml import etree

from topicture.collection.metadata.xmp import EXIF, PHOTOSHOP, XMP, property_values

__all__ = ["ExifDates", "camera_date", "dates_in_block", "exif_dates", "xmp_date"]

_XMP_DATES = (EXIF + "DateTimeOriginal", PHOTOSHOP + "DateCreated", XMP + "CreateDate")
_STAMP = re.compile(r"\s*(\d{4})[:-](\d\d)[:-](\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?", re.ASCII)
_ORDERS = {b"II": "<", b"MM": ">"}
_DETAILS, _ORIGINAL, _DIGITISED, _CHANGED = 0x8769, 36867, 36868, 306
_LONGEST = 64  # bytes of a date that is looked at

ReadAt = Callable[[int, int], bytes]
"""Bytes from an offset on, as many as asked for; raises ValueError where there are fewer."""


class ExifDates(NamedTuple):
    """When a photo was taken, and when its file was changed, as far as EXIF says."""

    taken: str | None = None
    changed: str | None = None


def camera_date(text: str) -> str | None:
    """A date as EXIF or XMP write it, as "2024-05-01T12:30:00"; None where it is none, or less than a day is said.

    A time zone behind it is left out: days and hours are those that the photographer saw.
    """
    match = _STAMP.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second).isoformat()
    except ValueError:  # no such day or hour
        return None


def xmp_date(tree: etree._ElementTree) -> str | None:
    """What an XMP document says."""
    said = (camera_date(text) for name in _XMP_DATES for text in property_values(tree, name))
    return next(filter(None, said), None)


def dates_in_block(block: bytes) -> ExifDates:
    """What a block of EXIF says, as it lies in JPEG, PNG, WebP and HEIF files."""

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(block):
            raise ValueError("beyond the block")
        return block[offset : offset + size]

    return exif_dates(read)


def exif_dates(read: ReadAt) -> ExifDates:
    """What the directories of a TIFF structure say; damaged ones say nothing, which is no reason to lose a photo."""
    taken = changed = None
    try:
        order = _ORDERS[read(0, 2)]
        (first,) = struct.unpack(order + "I", read(4, 4))
        found = dict(_entries(read, order, first, {_DETAILS, _CHANGED}))
        changed = _text(read, order, found.get(_CHANGED))
        if _DETAILS in found:
            (details,) = struct.unpack(order + "I", found[_DETAILS][8:])
            dates = dict(_entries(read, order, details, {_ORIGINAL, _DIGITISED}))
            taken = _text(read, order, dates.get(_ORIGINAL)) or _text(read, order, dates.get(_DIGITISED))
    except (KeyError, ValueError, OverflowError, OSError, struct.error):
        pass
    return ExifDates(taken, changed)


def _entries(read: ReadAt, order: str, directory: int, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    (count,) = struct.unpack(order + "H", read(directory, 2))
    entries = read(directory + 2, 12 * count)
    for at in range(0, len(entries), 12):
        (tag,) = struct.unpack_from(order + "H", entries, at)
        if tag in wanted:
            yield tag, entries[at : at + 12]


def _text(read: ReadAt, order: str, entry: bytes | None) -> str | None:
    if entry is None:
        return None
    _, _, size, place = struct.unpack(order + "HHII", entry)
    return camera_date(read(place, size).decode("latin-1")) if 4 < size <= _LONGEST else None
