"""SIFT descriptors [lowe2004distinctive] of patches drawn at random places and sizes [yang2010emm].

A picture becomes a bag of a fixed number of patches: squares from 5 x 5 pixels to a quarter of the picture's shorter
side, each described upright by 4 x 4 cells of 8 gradient directions. Which patches are drawn depends on the
pixels and the seed alone, so the order of the pictures and the number of workers change nothing.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from topicture.errors import ImageError, TopictureError
from topicture.extras import optional_module
from topicture.vision.features.descriptor import Column, Descriptor
from topicture.vision.segment import check_pixels

__all__ = ["SIFT", "Patches", "sift_patches"]

MIN_SIDE = 5.0  # pixels
MAX_SHARE = 0.25  # of the shorter side of the picture
CELLS = 4  # along each side of a patch
DIRECTIONS = 8

# OpenCV's keypoint `size` is twice its scale, and a cell is three scales wide: a patch is 4 * 3 / 2 = 6 sizes.
SIDE_PER_SIZE = 6.0
FINEST_OCTAVE = -1  # the picture at double size: OpenCV goes no finer
BASE_SIDE = 19.2  # pixels: the patch of the first level of octave 0, whose blur is 1.6 = 19.2 / 12

SIFT = Descriptor(
    name="sift",
    version=1,
    columns=tuple(
        Column(
            f"cell_{row}{column}_{360 // DIRECTIONS * direction}",
            f"gradient at {360 // DIRECTIONS * direction} degrees in cell row {row}, column {column}, 0 .. 255",
        )
        for row in range(CELLS)
        for column in range(CELLS)
        for direction in range(DIRECTIONS)
    ),
    scope="patch",
)


class Patches(NamedTuple):
    """Square patches of one picture and their descriptors."""

    rows: np.ndarray  # float32 (P,): centres in pixels; the first pixel's centre is 0
    columns: np.ndarray  # float32 (P,)
    sides: np.ndarray  # float32 (P,): pixels
    descriptors: np.ndarray  # uint8 (P, 128): columns as in `SIFT`

    def regions(self, labels: np.ndarray) -> np.ndarray:
        """Label (P,) under the centre of each patch in the picture's label map (H, W); -1 where it is ignored."""
        return labels[np.rint(self.rows).astype(int), np.rint(self.columns).astype(int)]


def sift_patches(pixels: np.ndarray, n_patches: int = 1000, seed: int = 0) -> Patches:
    """Draw patches from a picture and describe them.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        sRGB.
    n_patches : int
        How many patches, at least one.
    seed : int
        Combined with the pixels themselves: the same picture gives the same patches wherever it is met.

    Returns
    -------
    Patches
        A patch without any gradient has a descriptor of zeros.

    Raises
    ------
    ImageError
        `pixels` is not uint8 (H, W, 3).
    TopictureError
        `n_patches` is below one.
    """
    check_pixels(pixels)
    if n_patches < 1:
        raise TopictureError(f"n_patches must be at least 1, not {n_patches}")
    rows, columns, sides = _draw(pixels, n_patches, seed)
    cv2 = _opencv()
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return Patches(rows, columns, sides, _describe(grey, rows, columns, sides))


def _draw(pixels: np.ndarray, n_patches: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres and sides of patches: sides uniform, then places uniform among those where the patch fits."""
    content = hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes(), digest_size=8).digest()
    rng = np.random.default_rng([seed, int.from_bytes(content, "little")])
    height, width = pixels.shape[:2]
    shorter = min(height, width)
    smallest = min(MIN_SIDE, shorter)  # a picture below 5 x 5 has one size of patch: its own
    sides = rng.uniform(smallest, max(smallest, MAX_SHARE * shorter), n_patches)
    rows = rng.uniform(0, height - sides) + (sides - 1) / 2
    columns = rng.uniform(0, width - sides) + (sides - 1) / 2
    return rows.astype(np.float32), columns.astype(np.float32), sides.astype(np.float32)


def _describe(grey: np.ndarray, rows: np.ndarray, columns: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """uint8 (P, 128): each patch read from the octave of the pyramid whose blur suits its size."""
    octaves = np.maximum(np.floor(np.log2(sides / BASE_SIDE)), FINEST_OCTAVE).astype(int)
    keypoints = [
        _keypoint(x, y, side, octave)
        for x, y, side, octave in zip(columns, rows, sides, octaves, strict=True)
    ]
    # OpenCV starts its pyramid at the finest octave asked for: one patch there keeps it the same for every draw.
    anchor = _keypoint(0, 0, MIN_SIDE, FINEST_OCTAVE)
    described, descriptors = _opencv().SIFT.create().compute(grey, [anchor, *keypoints])
    if len(described) != len(keypoints) + 1:
        raise ImageError(f"OpenCV described {len(described) - 1} of {len(keypoints)} patches")
    return descriptors[1:].astype(np.uint8)  # whole numbers already, held as floats


def _keypoint(x: float, y: float, side: float, octave: int) -> Any:
    # The octave travels as a signed byte; angle 0 is upright, where OpenCV's default of -1 would turn the patch.
    return _opencv().KeyPoint(float(x), float(y), float(side) / SIDE_PER_SIZE, 0.0, 0.0, int(octave) & 255)


def _opencv() -> Any:
    return optional_module("cv2", "visual-words", "SIFT patches")
