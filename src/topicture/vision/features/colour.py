"""Colour layout: which colours dominate the centre, the upper and the lower part of a picture.

The image descriptor of Liu and Tang [liu2005nlsa], after Monay and Gatica-Perez [monay2003latent]: a 6 x 6 x 6 RGB
histogram of each of three fixed regions, of which only the higher values are kept. The papers give neither the
regions' outlines nor the threshold. Here the parts are the two halves and the middle rectangle of half the height
and half the width, and a colour is dominant when at least 2 % of the part's pixels have it.
"""

import numpy as np

from topicture.errors import TopictureError
from topicture.vision.features.descriptor import Column, Descriptor
from topicture.vision.segment import check_pixels

__all__ = ["COLOUR_LAYOUT", "DOMINANT_SHARE", "colour_layout"]

LEVELS = 6  # of each channel
N_COLOURS = LEVELS**3
PARTS = ("centre", "upper", "lower")
DOMINANT_SHARE = 0.02


def _columns() -> tuple[Column, ...]:
    """One column for each part and colour, blue running fastest."""
    return tuple(
        Column(
            f"{part}_{red}{green}{blue}",
            f"share of the {part} part's pixels at red, green, blue level {red}, {green}, {blue} of {LEVELS}; "
            "0 unless dominant",
        )
        for part in PARTS
        for red in range(LEVELS)
        for green in range(LEVELS)
        for blue in range(LEVELS)
    )


COLOUR_LAYOUT = Descriptor(name="colour-layout", version=1, columns=_columns(), scope="image")


def colour_layout(pixels: np.ndarray, dominant_share: float = DOMINANT_SHARE) -> np.ndarray:
    """Describe where a picture's dominant colours are.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        sRGB.
    dominant_share : float in 0 .. 1
        Colours of a smaller share of a part's pixels become 0. The part's commonest colour always stays.

    Returns
    -------
    float64 array (648,)
        Columns as in `COLOUR_LAYOUT`: shares, so that the size of the picture does not matter.

    Raises
    ------
    ImageError
        `pixels` is not uint8 (H, W, 3).
    TopictureError
        `dominant_share` is not within 0 .. 1.
    """
    check_pixels(pixels)
    if not 0 <= dominant_share <= 1:
        raise TopictureError(f"dominant_share must be between 0 and 1, not {dominant_share}")
    colour = _colour_index(pixels)
    return np.concatenate([_dominant(_shares(part), dominant_share) for part in _parts(colour)])


def _colour_index(pixels: np.ndarray) -> np.ndarray:
    """Histogram bin (H, W) of every pixel, 0 .. 215."""
    level = (np.arange(256) * LEVELS // 256).astype(np.uint8)
    red, green, blue = np.moveaxis(level[pixels], 2, 0)
    return (red * LEVELS + green) * LEVELS + blue  # at most 215: fits uint8


def _parts(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views of the parts in the order of `PARTS`; an odd middle row belongs to both halves, so none is empty."""
    height, width = image.shape
    centre = image[height // 4 : -(-3 * height // 4), width // 4 : -(-3 * width // 4)]
    return centre, image[: -(-height // 2)], image[height // 2 :]


def _shares(colour: np.ndarray) -> np.ndarray:
    return np.bincount(colour.ravel(), minlength=N_COLOURS) / colour.size


def _dominant(share: np.ndarray, threshold: float) -> np.ndarray:
    return np.where(share >= min(threshold, share.max()), share, 0.0)
