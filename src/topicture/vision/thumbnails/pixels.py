"""A photo as a few pixels, for a terminal; runs in a worker, and nothing that it sends is decoded by anybody else."""

import numpy as np
from PIL import Image

from topicture.vision.read import Unreadable, read_content, try_read
from topicture.vision.worker_process import Failure

__all__ = ["MOST_PIXELS", "small_pixels"]

MOST_PIXELS = 640  # across and down


def small_pixels(path: str) -> np.ndarray | Failure:
    """uint8 (H, W, 3) sRGB, upright; or why there are none."""
    content = read_content(path)
    if isinstance(content, Unreadable):
        return Failure(content.reason)
    picture = try_read(content, MOST_PIXELS)
    if isinstance(picture, Unreadable):
        return Failure(picture.reason, lasting=True)
    image = Image.fromarray(picture.pixels)
    image.thumbnail((MOST_PIXELS, MOST_PIXELS), Image.Resampling.LANCZOS)
    return np.asarray(image)
