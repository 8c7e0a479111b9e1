"""The only door for pixels: a photo file, or its bytes, to uint8 (H, W, 3) in sRGB.

Nothing downstream changes depth, orientation or colour space: whatever a camera, scanner or web page put into the file
is settled here. A photo that can't be read is an ordinary event with a one-line reason, not the end of a run.

The type of a file comes from its content, never from its name, and only the formats of `FORMATS` are ever tried:
decoders that run programs (EPS) or that nobody's photos need (FITS, PSD, ...) are out of reach.
"""

import io
import os
import stat
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from topicture.collection.kinds import reads_heic, reads_raw
from topicture.collection.metadata.boxes import BRANDS
from topicture.collection.skipped import Skipped as Unreadable
from topicture.collection.words import printable
from topicture.errors import ImageError
from topicture.vision.convert import flatten, orientation, reduce, to_srgb
from topicture.vision.raw import is_raw, may_be_raw, preview

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "Picture",
    "Source",
    "Unreadable",
    "check_file",
    "may_pass",
    "open_picture",
    "optional_decoders",
    "read",
    "read_content",
    "shrink",
    "try_read",
]

Source = str | bytes | os.PathLike
"""A path (str or PathLike), or the content of a file (bytes)."""

FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "GIF", "BMP", "AVIF", "HEIF")
"""Formats that are read; HEIF where `pi-heif` is installed. RAW files are read by their preview (see `raw`)."""

MAX_PIXELS = 128_000_000
"""Largest picture, in pixels, by its header: 512 MB once decoded. Medium-format cameras give 102 million."""

MAX_BYTES = 1 << 30
"""Largest file."""

READ_VERSION = 2  # raise it whenever the same file would give other pixels

# Reasons that lie with the system, not with the photo.
NOT_OPENED = "can't be opened"
CHANGED_MEANWHILE = "it changed while it was read: try again"

# What a file that is no photo most often is; only to say so in the reason.
_FOREIGN: dict[str, bytes | tuple[bytes, ...]] = {
    "PDF": b"%pdf",
    "PostScript": b"%!ps",
    "EPS": b"\xc5\xd0\xd3\xc6",
    "Photoshop": b"8bps",
    "FITS": b"simple  =",
    "HTML": (b"<!doctype html", b"<html"),
    "SVG": b"<svg",
    "XML": b"<?xml",
    "ZIP": b"pk\x03\x04",
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A photo that was read.

    Attributes
    ----------
    source : str
        Printable name of the file, or "<bytes>".
    pixels : uint8 array (H, W, 3)
        sRGB, upright.
    format : str
        As the decoder saw it: one of `FORMATS`, or RAW.
    """

    source: str
    pixels: np.ndarray
    format: str


def read(source: Source, max_side: int | None = None) -> np.ndarray:
    """The pixels of a photo: uint8 (H, W, 3), sRGB, upright, opaque (transparency over white).

    Parameters
    ----------
    source : path or bytes
        A file, or the content of one.
    max_side : int, optional
        Longest side of the result in pixels. Larger photos are reduced, JPEGs already while decoding, which is several
        times faster; smaller ones stay as they are.

    Raises
    ------
    ImageError
        The photo can't be read; the message names the file and the reason.
    """
    outcome = try_read(source, max_side)
    if isinstance(outcome, Unreadable):
        raise ImageError(str(outcome))
    return outcome.pixels


def try_read(source: Source, max_side: int | None = None) -> Picture | Unreadable:
    """As `read`, but a bad photo gives an `Unreadable`, never an exception."""
    name = "<bytes>" if isinstance(source, bytes) else printable(os.fspath(source))
    try:
        # Pillow warns of odd metadata and large pictures; both are dealt with here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pixels, kind = _decode(source, max_side)
    except ImageError as refusal:
        return Unreadable(name, str(refusal))
    except MemoryError:
        return Unreadable(name, "not enough memory to decode it")
    except Exception as error:  # a decoder may raise nearly anything on damaged data
        return Unreadable(name, f"can't be decoded ({printable(str(error)) or type(error).__name__})")
    return Picture(name, pixels, kind)


def shrink(pixels: np.ndarray, max_side: int) -> np.ndarray:
    """Pixels (H, W, 3) that are already at hand, reduced as `read` reduces a photo; raises ImageError."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise ImageError(f"pixels must be uint8 (H, W, 3) and not empty, not {pixels.dtype} {pixels.shape}")
    if max(pixels.shape[:2]) <= max_side:
        return pixels
    return np.asarray(reduce(Image.fromarray(pixels), max_side))


def read_content(path: str | os.PathLike) -> bytes | Unreadable:
    """The bytes of a photo file, if it is a regular file within `MAX_BYTES`."""
    try:
        return _content(path)
    except ImageError as refusal:
        return Unreadable(printable(os.fspath(path)), str(refusal))


# --- Opening ----------------------------------------------------------------------------------------------------


def _decode(source: Source, max_side: int | None) -> tuple[np.ndarray, str]:
    if max_side is not None and max_side < 1:
        raise ValueError(f"max_side must be at least 1, not {max_side}")
    content = source if isinstance(source, bytes) else _content(source)
    with open_picture(content) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise ImageError(_too_large(width, height))
        upright = orientation(image)
        if max_side is not None:
            image.draft(None, (max_side, max_side))  # a JPEG decodes at 1/2, 1/4 or 1/8, never below this
        reduced = reduce(image, max_side)
        if upright is not None:
            reduced = reduced.transpose(upright)
        rgb = flatten(to_srgb(reduced, image.info.get("icc_profile")))
        return np.asarray(rgb, dtype=np.uint8), str(image.format)


def check_file(path: str | os.PathLike) -> None:
    """Raise ImageError where a file should not even be opened, and OSError where it can't be looked at."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # a pipe or device could block for ever
        raise ImageError("not a regular file")
    if status.st_size > MAX_BYTES:
        raise ImageError(f"{status.st_size} bytes is over the limit of {MAX_BYTES}")


def may_pass(reason: str) -> bool:
    """Whether a photo that could not be read for this reason may be readable later, without having changed."""
    return reason.startswith((NOT_OPENED, CHANGED_MEANWHILE))


def _content(path: str | os.PathLike) -> bytes:
    try:
        check_file(path)
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ImageError(f"{NOT_OPENED} ({reason})") from error


def open_picture(content: bytes) -> Image.Image:
    """A picture of which the header was read, in one of `FORMATS`, or the preview of a RAW file; raises ImageError."""
    if not content:
        raise ImageError("empty file")
    if is_raw(content):
        return preview(content)
    if may_be_raw(content) and reads_raw():
        with suppress(ImageError):  # a scan, say, that is a plain TIFF after all
            return preview(content)
    try:
        return Image.open(io.BytesIO(content), formats=[f for f in FORMATS if _has_decoder(f)])
    except Image.DecompressionBombError:
        raise ImageError(f"too large to decode (limit {MAX_PIXELS / 1e6:.0f} million pixels)") from None
    except UnidentifiedImageError:
        raise ImageError(_not_a_photo(content)) from None


@lru_cache
def _has_decoder(name: str) -> bool:
    Image.init()
    if name == "HEIF" and name not in Image.OPEN and reads_heic():
        import pi_heif

        pi_heif.register_heif_opener()
    return name in Image.OPEN


def optional_decoders() -> str:
    """Which of the packages are installed that not everybody needs: what can't be read without one may be with it."""
    return f"heic{reads_heic():d} raw{reads_raw():d}"


def _not_a_photo(content: bytes) -> str:
    if content[4:8] == b"ftyp" and content[8:12] in BRANDS and not _has_decoder("HEIF"):
        return "a HEIC photo, for which a package is missing: pip install 'topicture[heic]'"
    start = content[:64].lstrip().lower()
    for kind, first_bytes in _FOREIGN.items():
        if start.startswith(first_bytes):
            return f"not a photo format that is read (it is {kind})"
    return "not a photo format that is read, or its header is damaged"


def _too_large(width: int, height: int) -> str:
    return f"{width} x {height} pixels is over the limit of {MAX_PIXELS / 1e6:.0f} million"
