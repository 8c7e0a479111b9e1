"""Files that hold what people photographed, by their names and by how they begin; more kinds than Topicture reads."""

import os

from topicture.collection.kinds import PHOTOS, RAW, VIDEOS

__all__ = ["is_precious_name", "looks_like_a_picture"]

_PICTURES = "ai cdr eps exr gif hdr icns insp j2k jp2 jxl jxr pcx pgm ppm psb psd svg svgz tga xcf"
_METADATA = "xmp thm aae"  # what cameras and editors keep beside a photo

_SUFFIXES = PHOTOS | RAW | VIDEOS | {f".{kind}" for kind in f"{_PICTURES} {_METADATA}".split()}

_BEGINNINGS = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"GIF8",
    b"II*\x00",  # TIFF and most raw formats
    b"MM\x00*",
    b"IIRO",  # Olympus
    b"IIU\x00",  # Panasonic
    b"FUJIFILM",
    b"8BPS",  # Photoshop
    b"gimp xcf",
    b"\xff\x0a",  # JPEG XL
    b"\x1aE\xdf\xa3",  # Matroska
)


def is_precious_name(name: str) -> bool:
    """Whether a file is named like a photo, a video or what belongs to one."""
    return os.path.splitext(name)[1].lower() in _SUFFIXES


def looks_like_a_picture(start: bytes) -> bool:
    """Whether the first 32 bytes of a file are those of a photo or video, whatever its name."""
    in_a_container = start[4:8] == b"ftyp" or (start[:4] == b"RIFF" and start[8:12] in (b"WEBP", b"AVI "))
    return in_a_container or start.startswith(_BEGINNINGS)
