"""A photo to small JPEG pictures, upright and without any of its metadata; runs in a worker."""

import io
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from PIL import Image

from topicture.collection.identity import picture_id
from topicture.collection.metadata.dates import camera_date
from topicture.vision.convert import orientation
from topicture.vision.read import Unreadable, open_picture, read_content, try_read
from topicture.vision.worker_process import Failure

__all__ = ["SIZES", "Made", "Wanted", "make_thumbnails"]

SIZES = {"small": (1280, 320), "large": (1600, 1600)}
"""Name of a size -> most pixels across and down."""

MOST_BYTES = 4 << 20  # of one small picture
_QUALITY = 82
_EXIF, _TAKEN = 0x8769, (36867, 36868)  # DateTimeOriginal, DateTimeDigitized
_CHANGED = 306  # DateTime
_ON_THE_SIDE = (
    Image.Transpose.ROTATE_90,
    Image.Transpose.ROTATE_270,
    Image.Transpose.TRANSPOSE,
    Image.Transpose.TRANSVERSE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


class Wanted(NamedTuple):
    """A task: a file, and the sizes to make of it."""

    path: str
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """What a worker made; it checks its values, since the worker is not trusted.

    Attributes
    ----------
    content : identity of the picture that the file holds now
    width, height : of the photo, upright
    taken : "YYYY-MM-DDTHH:MM:SS" by the camera's clock, where it says so
    """

    content: bytes
    width: int
    height: int
    taken: str | None
    jpegs: dict[str, bytes]

    def __post_init__(self) -> None:
        sides = (self.width, self.height)
        if not all(type(side) is int and 0 < side < 1 << 31 for side in sides):
            raise ValueError("a picture has a width and a height")
        if not (isinstance(self.content, bytes) and len(self.content) == 32):
            raise ValueError("an identity is 32 bytes")
        if self.taken is not None and not (isinstance(self.taken, str) and _DATE.fullmatch(self.taken)):
            raise ValueError("not a date")
        if not isinstance(self.jpegs, dict) or not all(
            name in SIZES
            and isinstance(jpeg, bytes)
            and jpeg[:3] == b"\xff\xd8\xff"
            and len(jpeg) <= MOST_BYTES
            for name, jpeg in self.jpegs.items()
        ):
            raise ValueError("not JPEG pictures")


def make_thumbnails(wanted: Wanted) -> Made | Failure:
    """The small pictures of a photo, and what its header says; or why there are none."""
    content = read_content(wanted.path)
    if isinstance(content, Unreadable):
        return Failure(content.reason)  # it may be there another time
    picture = try_read(content, max(max(SIZES[size]) for size in wanted.sizes))
    if isinstance(picture, Unreadable):
        return Failure(picture.reason, lasting=True)
    with open_picture(content) as header:
        width, height = header.size
        if orientation(header) in _ON_THE_SIDE:
            width, height = height, width
        taken = _taken(header)
    jpegs = {size: _jpeg(picture.pixels, SIZES[size]) for size in wanted.sizes}
    return Made(picture_id(wanted.path), width, height, taken, jpegs)


def _jpeg(pixels: np.ndarray, most: tuple[int, int]) -> bytes:
    """The pixels alone, encoded anew: nothing else of the file reaches a browser."""
    image = Image.fromarray(pixels)
    image.thumbnail(most, Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=_QUALITY, optimize=True, progressive=max(image.size) > 640)
    return stream.getvalue()


def _taken(image: Image.Image) -> str | None:
    """When the photo was taken; damaged metadata is no reason to lose a photo."""
    try:
        exif = image.getexif()
        details = exif.get_ifd(_EXIF)
        for value in (*(details.get(tag) for tag in _TAKEN), exif.get(_CHANGED)):
            if isinstance(value, str) and (date := camera_date(value)) is not None:
                return date
    except Exception:
        pass
    return None
