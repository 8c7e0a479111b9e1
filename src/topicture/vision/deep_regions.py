"""Regions by what a network sees: fine superpixels, merged where colour and the network's map agree.

Colours alone part a cow at every patch of its coat and join it with the path it stands on. The network's finest map
tells such things apart, though coarsely; superpixels give the outline.
"""

import numpy as np
from skimage.segmentation import slic

from topicture.vision.label_maps import (
    contiguous,
    lab_colours,
    largest_first,
    merge_down,
    region_colours,
    shrink_to,
    split_to,
)
from topicture.vision.networks.deep import unit_rows

__all__ = ["DEEP", "DEEP_REGIONS_VERSION", "cell_shares", "deep_regions"]

DEEP = "deep"
DEEP_REGIONS_VERSION = 1  # raise it whenever the same pixels would give other regions

WORKING_SIDE = 160  # longest side, in pixels, at which superpixels are sought: the map is coarser still
N_SUPERPIXELS = 200
COLOUR_WEIGHT = 0.02  # one unit of CIE L*a*b* against the length 1 of a cell of the map


def deep_regions(
    pixels: np.ndarray, feature_map: np.ndarray, min_regions: int, max_regions: int
) -> np.ndarray:
    """Divide a picture (H, W, 3) into regions, a label map at working size, by a feature map (C, h, w) of all of it.

    Labels are 0 .. n_regions - 1, the largest region first.
    """
    small = shrink_to(pixels, WORKING_SIDE)
    lab = lab_colours(small)
    if lab[..., 0].size <= N_SUPERPIXELS:
        pieces = np.arange(lab[..., 0].size).reshape(lab.shape[:2])
    else:
        # Of the picture in RGB: one in L*a*b* would be scaled to 0 .. 1, where this compactness gives mere squares.
        pieces = contiguous(slic(small, N_SUPERPIXELS, compactness=20, max_num_iter=3, start_label=0))
    shares = cell_shares(pieces, feature_map.shape[1:])
    seen = unit_rows(shares @ feature_map.reshape(len(feature_map), -1).T)
    look = np.concatenate([COLOUR_WEIGHT * region_colours(pieces, lab), seen], axis=1)
    merged = merge_down(pieces, look, min_regions, max_regions, alike=0.0)
    return largest_first(split_to(merged, min(min_regions, merged.size)))


def cell_shares(labels: np.ndarray, cells: tuple[int, ...]) -> np.ndarray:
    """How much of each region lies in each cell of a map, (n_regions, h * w) float32, rows sum to 1."""
    height, width = labels.shape
    rows = np.arange(height) * cells[0] // height
    columns = np.arange(width) * cells[1] // width
    n_cells = cells[0] * cells[1]
    at = labels.astype(np.int64) * n_cells + rows[:, None] * cells[1] + columns
    counts = np.bincount(at.ravel(), minlength=(int(labels.max()) + 1) * n_cells)
    counts = counts.reshape(-1, n_cells).astype(np.float32)
    return counts / counts.sum(axis=1, keepdims=True)
