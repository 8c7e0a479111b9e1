"""From what a decoder gives to upright 8-bit sRGB, reduced in size: the conversions behind `read`."""

import io
import math
from functools import lru_cache

import numpy as np
from PIL import Image, ImageCms

from topicture.errors import ImageError

__all__ = ["STRIPS_FROM", "flatten", "orientation", "reduce", "to_srgb"]

STRIPS_FROM = 16_000_000
"""Pixels from which on a picture that must be converted is reduced strip by strip."""

_STRIP_PIXELS = 4_000_000
_GAP = 2.0  # a picture is reduced by means of blocks to this many times the size, then by interpolation
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


def orientation(image: Image.Image) -> Image.Transpose | None:
    """The turn that puts the picture upright; damaged EXIF data is no reason to lose a photo."""
    if image.format == "TIFF":  # Pillow turns it as it decodes, and tells the size that it has then
        return None
    try:
        return _UPRIGHT.get(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:
        return None


def _plain_mode(image: Image.Image) -> Image.Image:
    """Palettes, bitmaps and deep pixels in a mode that can be resized: 8 bits per channel, alpha kept."""
    if image.mode in _DEEP:
        return Image.fromarray(_to_eight_bits(np.asarray(image)))
    if image.mode == "F":
        raise ImageError("floating-point pixels have no agreed range")
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


def reduce(image: Image.Image, max_side: int | None) -> Image.Image:
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

    Converted whole, a large picture would take four to twelve more bytes per pixel: a gigabyte for a file of 100 kB. As
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


def to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
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


def flatten(image: Image.Image) -> Image.Image:
    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image)
    return image.convert("RGB")
