"""Keywords of IPTC-IIM records, the older kind of photo metadata [IPTC-NAA Information Interchange Model 4.2].

A record is a row of data sets: a marker, two numbers that name the field, a length, the value. Keywords are 2:25, one
each; 1:90 names the character set of the text.
"""

import struct
from collections.abc import Iterator

__all__ = ["MAX_KEYWORD", "iptc_keywords"]

MAX_KEYWORD = 64
"""Bytes that the standard allows a keyword; writers cut longer ones off."""

_MARKER = 0x1C
_CHARACTER_SET = (1, 90)
_KEYWORD = (2, 25)
_UTF8 = b"\x1b%G"


def iptc_keywords(record: bytes) -> tuple[list[str], list[str]]:
    """The keywords of a record, and a line for each that can't be read.

    Text is UTF-8 where the record says so (ESC % G). Otherwise it is taken for Windows-1252, which is Latin-1 with
    letters and quotes in place of control characters, and what most writers without the mark used.
    """
    keywords: list[str] = []
    problems: list[str] = []
    utf8 = False
    try:
        for field, value in _data_sets(record):
            if field == _CHARACTER_SET:
                utf8 = value == _UTF8
            elif field == _KEYWORD:
                try:
                    keywords.append(_decode(value, utf8))
                except UnicodeDecodeError:
                    problems.append(f"IPTC keyword {value!r} is not the UTF-8 it claims to be")
    except (struct.error, ValueError) as error:
        problems.append(f"IPTC record is damaged ({error})")
    return keywords, problems


def _decode(value: bytes, utf8: bool) -> str:
    text = value.rstrip(b"\0 \r\n")
    if utf8:
        return text.decode("utf-8")
    try:
        return text.decode("cp1252")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def _data_sets(record: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while at < len(record) and record[at] == _MARKER:
        group, number, size = struct.unpack_from(">BBH", record, at + 1)
        at += 5
        if size & 0x8000:  # a long value: the low bits say how many bytes its length takes
            width = size & 0x7FFF
            size = int.from_bytes(record[at : at + width], "big")
            at += width
        if at + size > len(record):
            raise ValueError("a value ends early")
        yield (group, number), record[at : at + size]
        at += size
