"""RAW files of cameras, looked at by the preview that the camera put into them; needs the package `rawpy`."""

import io
import struct
from typing import Any

from PIL import Image

from topicture.errors import ImageError

__all__ = ["is_raw", "may_be_raw", "preview"]

INSTALL = "pip install 'topicture[raw]'"

_BEGINNINGS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0", b"FOVb", b"\0MRM")
_MAKE, _SUB_DIRECTORIES, _DNG_VERSION, _ORIENTATION = 0x010F, 0x014A, 0xC612, 0x0112
_MOST_ENTRIES = 512
_ORIENTATION_OF_FLIP = {3: 3, 5: 8, 6: 6}  # LibRaw's number -> EXIF's


def is_raw(content: bytes) -> bool:
    """Whether a content is that of a RAW file beyond doubt."""
    canon = content[8:10] == b"CR" or content[4:12] == b"ftypcrx "
    return canon or content.startswith(_BEGINNINGS) or _DNG_VERSION in _tags(content)


def may_be_raw(content: bytes) -> bool:
    """Whether a TIFF file may be a RAW file: its camera is named, and the pictures lie deeper."""
    return {_MAKE, _SUB_DIRECTORIES} <= _tags(content)


def _tags(content: bytes) -> set[int]:
    """The tags of the first directory of a TIFF file; none where there is no such directory."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(content[:4])
    if order is None or len(content) < 8:
        return set()
    (at,) = struct.unpack_from(order + "I", content, 4)
    if at + 2 > len(content):
        return set()
    (count,) = struct.unpack_from(order + "H", content, at)
    count = min(count, _MOST_ENTRIES, (len(content) - at - 2) // 12)
    return {struct.unpack_from(order + "H", content, at + 2 + 12 * n)[0] for n in range(count)}


def preview(content: bytes) -> Image.Image:
    """The picture inside, with the orientation that the file tells in its EXIF data; raises ImageError."""
    try:
        import rawpy
    except ImportError:
        raise ImageError(f"a RAW file, for which a package is missing: {INSTALL}") from None
    try:
        with rawpy.imread(io.BytesIO(content)) as raw:
            flip = raw.sizes.flip
            found = raw.extract_thumb()
            image = _opened(found, rawpy)
    except rawpy.LibRawError as error:
        raise ImageError(f"a RAW file without a preview that can be read ({_text(error)})") from None
    exif = image.getexif()
    if flip in _ORIENTATION_OF_FLIP and exif.get(_ORIENTATION, 1) == 1:
        exif[_ORIENTATION] = _ORIENTATION_OF_FLIP[flip]
    image.format = "RAW"
    return image


def _opened(found: Any, rawpy: Any) -> Image.Image:
    if found.format == rawpy.ThumbFormat.JPEG:
        return Image.open(io.BytesIO(found.data), formats=["JPEG"])
    return Image.fromarray(found.data)


def _text(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
