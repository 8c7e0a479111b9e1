"""Photos and regions as small pictures inside a page. A photo that can't be read is drawn as an empty frame."""

import base64
import io
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import binary_dilation

from topicture.errors import TopictureError
from topicture.vision.measure import photo_regions
from topicture.vision.read import Unreadable, try_read
from topicture.vision.recipe import Recipe

__all__ = ["Pictures", "data_uri"]

WIDTH, HEIGHT = 168, 126  # of a picture on the page, in pixels
MARGIN = 0.12  # around a region, as a share of its size
LEAST_SHOWN = 0.3  # of the photo's width and height, so that a small region can be recognised
FAINT, PALE = 0.3, 225  # what lies around a region is grey, this much of it left to see, on this grey
EDGE = 40  # grey of the line around a region
QUALITY = 80
GREY = 128


class Pictures:
    """Pictures of the photos under a root; what a photo needs to be read for is read once while it is asked for.

    Parameters
    ----------
    root : folder that paths are relative to
    recipe : how regions were found
    """

    def __init__(self, root: Path, recipe: Recipe):
        self._root = root
        self._recipe = recipe
        self._regions = lru_cache(maxsize=64)(self._find_regions)

    def of(self, path: str, region: int | None = None) -> str:
        """The address that holds the picture of a photo, or of one of its regions with the rest dimmed."""
        pixels = self._photo(path) if region is None else self._region(path, region)
        if pixels is None:
            return _PLACEHOLDER
        picture = Image.fromarray(pixels)
        picture.thumbnail((WIDTH, HEIGHT))
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=QUALITY)
        return data_uri("image/jpeg", stream.getvalue())

    def _photo(self, path: str) -> np.ndarray | None:
        outcome = try_read(self._root / path, 2 * max(WIDTH, HEIGHT))
        return None if isinstance(outcome, Unreadable) else outcome.pixels

    def _region(self, path: str, region: int) -> np.ndarray | None:
        found = self._regions(path)
        if found is None:
            return None
        pixels, labels = found
        inside = labels == region
        if not inside.any():  # the photo was edited since it was measured
            return None
        return np.ascontiguousarray(_highlighted(pixels, inside)[_window(inside)])

    def _find_regions(self, path: str) -> tuple[np.ndarray, np.ndarray] | None:
        try:
            return photo_regions(self._root / path, self._recipe)
        except TopictureError:
            return None


def _highlighted(pixels: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The region in its colours, with a line around it; the rest in pale grey."""
    around = FAINT * pixels.mean(axis=2, keepdims=True) + (1 - FAINT) * PALE
    shown = np.where(inside[..., None], pixels, around)
    shown[binary_dilation(inside) & ~inside] = EDGE
    return shown.astype(np.uint8)


def _window(inside: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns around a region: with a margin, large enough to be recognised, in the shape of a picture."""
    sides = []
    for axis, size in enumerate(inside.shape):
        positions = np.flatnonzero(inside.any(axis=1 - axis))
        low, high = int(positions[0]), int(positions[-1]) + 1
        sides.append((low, high, max((1 + 2 * MARGIN) * (high - low), LEAST_SHOWN * size)))
    (top, bottom, height), (left, right, width) = sides
    height, width = max(height, width * HEIGHT / WIDTH), max(width, height * WIDTH / HEIGHT)
    return _around(top, bottom, height, inside.shape[0]), _around(left, right, width, inside.shape[1])


def _around(low: int, high: int, length: float, size: int) -> slice:
    """A stretch of `length` about low to high; shifted, and at last cut, to lie within 0 to size."""
    start = round((low + high - length) / 2)
    start = max(0, min(start, size - round(length)))
    return slice(start, min(size, start + round(length)))


def data_uri(kind: str, content: bytes) -> str:
    """An address that holds its content."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _placeholder() -> str:
    """A frame with a stroke through it, readable on light and dark pages."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), (GREY, GREY, GREY))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((4, 4, WIDTH - 5, HEIGHT - 5), outline="white", width=2)
    draw.line((4, HEIGHT - 5, WIDTH - 5, 4), fill="white", width=2)
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return data_uri("image/png", stream.getvalue())


_PLACEHOLDER = _placeholder()
