"""The only door for pixels: a photo file, or its bytes, to uint8 (H, W, 3) in sRGB.

Nothing downstream changes depth, orientation or colour space: whatever a camera, scanner or web page put into the file
is settled here. A photo that can't be read is an ordinary event with a one-line reason, not the end of a run.

The type of a file comes from its content, never from its name, and only the formats of `FORMATS` are ever tried:
decoders that run programs (EPS) or that nobody's photos need (FITS, PSD, ...) are out of reach.
"""

import io
import math
import os
import stat
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms, ImageFile, UnidentifiedImageError

from topicture.collection.words import printable
from topicture.errors import ImageError

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "Picture",
    "Source",
    "Unreadable",
    "check_file",
    "read",
    "read_content",
    "shrink",
    "try_read",
]

Source = str | bytes | os.PathLike
"""A path (str or PathLike), or the content of a file (bytes)."""

FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "GIF", "BMP", "AVIF", "HEIF")
"""Formats that are read; AVIF and HEIF where the installed Pillow has a decoder for them."""

MAX_PIXELS = 128_000_000
"""Largest picture, in pixels, by its header: 512 MB once decoded. Medium-format cameras give 102 million."""

MAX_BYTES = 1 << 30
"""Largest file."""

STRIPS_FROM = 16_000_000
"""Pixels from which on a picture that must be converted is reduced strip by strip."""

READ_VERSION = 1  # raise it whenever the same file would give other pixels

_STRIP_PIXELS = 4_000_000
_GAP = 2.0  # a picture is reduced by means of blocks to so many times the size, then by interpolation
_DEEP = ("I", "I;16", "I;16L", "I;16B", "I;16N")
_CONVERTED = (*_DEEP, "P", "1", "YCbCr", "HSV")
_WHITE = (255, 255, 255, 255)
_ORIENTATION_TAG = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What a file that is no photo most often is; only to say so in the reason.
_FOREIGN = {
    b"%PDF": "PDF",
    b"%!PS": "PostScript",
    b"\xc5\xd0\xd3\xc6": "EPS",
    b"8BPS": "Photoshop",
    b"SIMPLE  =": "FITS",
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<svg": "SVG",
    b"<?xml": "XML",
    b"PK\x03\x04": "ZIP",
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
        As the decoder saw it: one of `FORMATS`.
    """

    source: str
    pixels: np.ndarray
    format: str


@dataclass(frozen=True)
class Unreadable:
    """A photo that could not be read, and why, in one line."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


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
    except _Refused as refusal:
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
    return np.asarray(_reduce(Image.fromarray(pixels), max_side))


def read_content(path: str | os.PathLike) -> bytes | Unreadable:
    """The bytes of a photo file, if it is a regular file within `MAX_BYTES`."""
    try:
        return _content(path)
    except _Refused as refusal:
        return Unreadable(printable(os.fspath(path)), str(refusal))


# --- Opening ----------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """A reason not to decode."""


def _decode(source: Source, max_side: int | None) -> tuple[np.ndarray, str]:
    if max_side is not None and max_side < 1:
        raise ValueError(f"max_side must be at least 1, not {max_side}")
    content = source if isinstance(source, bytes) else _content(source)
    with _open(content) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise _Refused(_too_large(width, height))
        upright = _orientation(image)
        if max_side is not None:
            image.draft(None, (max_side, max_side))  # a JPEG decodes at 1/2, 1/4 or 1/8, never below this
        reduced = _reduce(image, max_side)
        if upright is not None:
            reduced = reduced.transpose(upright)
        rgb = _flatten(_to_srgb(reduced, image.info.get("icc_profile")))
        return np.asarray(rgb, dtype=np.uint8), str(image.format)


def check_file(path: str | os.PathLike) -> None:
    """Raise ImageError where a file should not even be opened, and OSError where it can't be looked at."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # a pipe or device could block for ever
        raise ImageError("not a regular file")
    if status.st_size > MAX_BYTES:
        raise ImageError(f"{status.st_size} bytes is over the limit of {MAX_BYTES}")


def _content(path: str | os.PathLike) -> bytes:
    try:
        check_file(path)
        return Path(path).read_bytes()
    except ImageError as refusal:
        raise _Refused(str(refusal)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _Refused(f"can't be opened ({reason})") from error


def _open(content: bytes) -> ImageFile.ImageFile:
    if not content:
        raise _Refused("empty file")
    try:
        return Image.open(io.BytesIO(content), formats=[f for f in FORMATS if _has_decoder(f)])
    except Image.DecompressionBombError:
        raise _Refused(f"too large to decode (limit {MAX_PIXELS / 1e6:.0f} million pixels)") from None
    except UnidentifiedImageError:
        raise _Refused(_not_a_photo(content)) from None


@lru_cache
def _has_decoder(name: str) -> bool:
    Image.init()
    return name in Image.OPEN


def _not_a_photo(content: bytes) -> str:
    start = content[:64].lstrip().lower()
    for magic, kind in _FOREIGN.items():
        if start.startswith(magic.lower()):
            return f"not a photo format that is read (it is {kind})"
    return "not a photo format that is read, or its header is damaged"


def _too_large(width: int, height: int) -> str:
    return f"{width} x {height} pixels is over the limit of {MAX_PIXELS / 1e6:.0f} million"


# --- To upright 8-bit sRGB -----------------------------------------------------------------------------------------


def _orientation(image: Image.Image) -> Image.Transpose | None:
    """The turn that puts the picture upright; damaged EXIF data is no reason to lose a photo."""
    try:
        return _UPRIGHT.get(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:
        return None


def _plain_mode(image: Image.Image) -> Image.Image:
    """Palettes, bitmaps and deep pixels in a mode that can be resized: 8 bits a channel, alpha kept."""
    if image.mode in _DEEP:
        return Image.fromarray(_to_eight_bits(np.asarray(image)))
    if image.mode == "F":
        raise _Refused("floating-point pixels have no agreed range")
    if image.has_transparency_data and image.mode != "RGBA":
        return image.convert("RGBA")
    if image.mode in ("P", "1", "YCbCr", "HSV"):
        return image.convert("RGB")
    return image


def _to_eight_bits(deep: np.ndarray) -> np.ndarray:
    """0 .. 65535 to 0 .. 255, rounded; by strips, since a large scan in wide integers would fill the memory."""
    eight = np.empty(deep.shape, dtype=np.uint8)
    for top in range(0, len(deep), 256):
        strip = np.clip(deep[top : top + 256].astype(np.int64), 0, 65535)
        eight[top : top + 256] = (strip + 128) // 257
    return eight


def _reduce(image: Image.Image, max_side: int | None) -> Image.Image:
    """The picture in a plain mode, no side longer than `max_side`."""
    if max_side is None or max(image.size) <= max_side:
        plain = _plain_mode(image)
        plain.load()
        return plain
    factor = max_side / max(image.size)
    size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
    small = image.width * image.height <= STRIPS_FROM
    if small or (image.mode not in _CONVERTED and not image.has_transparency_data):
        return _plain_mode(image).resize(size, Image.Resampling.BICUBIC, reducing_gap=_GAP)
    return _reduce_in_strips(image, size)


def _reduce_in_strips(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """What `resize` gives on the whole picture, converted strip by strip.

    Converted whole, a large picture would take four to twelve bytes a pixel more: a gigabyte for a file of 100 kB. As
    Pillow does it: colours weighted by their opacity, to the mean of whole blocks first, then by interpolation.
    """
    width, height = image.size
    block = int(width / size[0] / _GAP) or 1, int(height / size[1] / _GAP) or 1
    rows = block[1] * max(1, _STRIP_PIXELS // (width * block[1]))
    blocks: Image.Image | None = None
    for top in range(0, height, rows):
        strip = _plain_mode(image.crop((0, top, width, min(top + rows, height))))
        weighted = strip.convert("RGBa") if strip.mode == "RGBA" else strip
        if blocks is None:
            blocks = Image.new(weighted.mode, (math.ceil(width / block[0]), math.ceil(height / block[1])))
        blocks.paste(weighted.reduce(block), (0, top // block[1]))
    assert blocks is not None
    box = (0, 0, width / block[0], height / block[1])
    reduced = blocks.resize(size, Image.Resampling.BICUBIC, box)
    return reduced.convert("RGBA") if reduced.mode == "RGBa" else reduced


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """RGB or RGBA in sRGB. A profile that is damaged, or of another kind than the pixels, is ignored."""
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    colour = image.convert("RGB") if alpha is not None else image
    transform = _transform(profile, colour.mode) if profile else None
    rgb = colour.convert("RGB") if transform is None else transform.apply(colour)
    if alpha is not None:
        rgb.putalpha(alpha)
    return rgb


@lru_cache(maxsize=16)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """The colour transform from an embedded profile to sRGB; None where it can't be made."""
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None


def _flatten(image: Image.Image) -> Image.Image:
    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
    return image.convert("RGB")
