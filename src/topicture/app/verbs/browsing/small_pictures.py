"""Photos as a few pixels, made by a worker that stays warm while somebody looks at one after another."""

from typing import Any, Self

import numpy as np

from topicture.errors import TopictureError
from topicture.vision.thumbnails.pixels import MOST_PIXELS, small_pixels
from topicture.vision.workers import WarmPool

__all__ = ["SmallPictures"]

TIMEOUT_SECONDS = 20.0


class SmallPictures:
    """A context manager; the worker starts with the first photo."""

    def __init__(self) -> None:
        self._pool = WarmPool(small_pixels, 1, TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.close()

    def pixels(self, path: str) -> np.ndarray | None:
        """uint8 (H, W, 3), or None where the file can't be shown."""
        try:
            found = self._pool.ask(path).result(3 * TIMEOUT_SECONDS)
        except (TopictureError, TimeoutError):
            return None
        return found if _is_picture(found) else None


def _is_picture(found: Any) -> bool:
    """The worker is not trusted: whatever it sends is either a small picture or nothing."""
    return (
        isinstance(found, np.ndarray)
        and found.dtype == np.uint8
        and found.ndim == 3
        and found.shape[2] == 3
        and 0 < min(found.shape) <= max(found.shape) <= MOST_PIXELS
    )
