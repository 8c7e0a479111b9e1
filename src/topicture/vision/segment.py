"""Pixels in, label map out: the regions that the models put words on.

A label map is int32 (H, W) with the values 0 .. n_regions - 1, all present; -1 marks pixels to ignore (only maps
that a user brings have any). Regions come largest first, as in the Corel region data, except on a grid, where they come
in reading order.

Every method over-segments the picture and then keeps the number of regions within bounds: neighbours are merged by
Ward's criterion (small or similar pairs first), and where the pieces are too few the largest is halved.

    slic          about 100 SLIC superpixels [achanta2012slic], merged
    ncuts         normalized cuts [shi2000normalized] of the graph of those superpixels
    felzenszwalb  graph-based segmentation [felzenszwalb2004efficient], merged
    grid          rectangles, the same for every picture of one size
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackError
from skimage.graph import RAG, cut_normalized
from skimage.segmentation import felzenszwalb, slic

from topicture.errors import ImageError, TopictureError
from topicture.vision.label_maps import (
    adjacency,
    contiguous,
    enlarge,
    lab_colours,
    largest_first,
    merge_down,
    region_colours,
    shrink_to,
    split_to,
)

__all__ = ["SEGMENT_VERSION", "check_pixels", "crop_dark_border", "dark_border", "segment", "segment_methods"]

SEGMENT_VERSION = 1  # raise it whenever the same pixels would give other regions

WORKING_SIDE = (
    320  # longest side, in pixels, at which regions are sought: more costs time and finds the same regions
)
N_SUPERPIXELS = 100  # normalized cuts take seconds per image with 350
ALIKE = (
    6.0  # neighbours whose mean colours differ by less (CIE76, 2.3 is just noticeable) need not stay apart
)
NCUT_SCALE = 50.0  # squared colour distance at which the similarity of two superpixels has fallen to 1/e
NCUT_THRESHOLDS = (0.1, 0.2, 0.4, 1.0)  # dearest cut allowed; tried in turn until there are enough regions

BORDER_SHARE = 0.06  # of the side: the Corel borders are 2 to 6 pixels of 128 and 192
BORDER_LEVEL = 48  # brightest channel, 0 .. 255, of the lightest line that can still be slide mount


def segment(
    pixels: np.ndarray, method: str = "slic", min_regions: int = 6, max_regions: int = 10, seed: int = 0
) -> np.ndarray:
    """Divide a picture into regions.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        sRGB.
    method : str
        One of `segment_methods()`.
    min_regions, max_regions : int
        Bounds on the number of regions; a picture of fewer than `min_regions` pixels gets one region per pixel.
    seed : int
        Starting vector of the eigensolver of `ncuts`; the other methods draw nothing.

    Returns
    -------
    int32 array (H, W)
        Labels 0 .. n_regions - 1, all present. The same input gives the same labels.

    Raises
    ------
    ImageError
        `pixels` is not a uint8 (H, W, 3) array with at least one pixel.
    TopictureError
        Unknown method, or bounds that are not 1 <= min_regions <= max_regions.
    """
    check_pixels(pixels)
    if method not in _METHODS:
        raise TopictureError(f"unknown segmentation {method!r}: choose from {', '.join(_METHODS)}")
    if not 1 <= min_regions <= max_regions:
        raise TopictureError(f"region bounds must be 1 <= min <= max, not {min_regions} and {max_regions}")
    small = shrink_to(pixels, WORKING_SIDE)
    labels = _METHODS[method](_Task(small, lab_colours(small), min_regions, max_regions, seed))
    return enlarge(labels, *pixels.shape[:2])


def segment_methods() -> tuple[str, ...]:
    """Names that `segment` accepts."""
    return tuple(_METHODS)


def check_pixels(pixels: np.ndarray) -> None:
    """Raise ImageError unless `pixels` is a uint8 (H, W, 3) array with at least one pixel."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise ImageError(f"pixels must be uint8 (H, W, 3) and not empty, not {pixels.dtype} {pixels.shape}")


# --- Slide borders ------------------------------------------------------------------------------------------


def crop_dark_border(pixels: np.ndarray) -> np.ndarray:
    """The picture without the dark frame of a slide mount: a view of `pixels` (H, W, 3)."""
    rows, columns = dark_border(pixels)
    return pixels[rows, columns]


def dark_border(pixels: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns inside the dark frame of a slide mount; everything where there is none.

    Dark means half as bright as the lines further in, so a night sky that reaches the edge is picture. A side
    loses its dark lines, and one more where the scanner blurred frame into picture, if they end within
    `BORDER_SHARE` of the side.
    """
    check_pixels(pixels)
    brightest = pixels.max(axis=2)
    # The 90th percentile tells a dark line with a few bright specks from a line of the picture.
    row_level = np.percentile(brightest, 90, axis=1)
    column_level = np.percentile(brightest, 90, axis=0)
    return _inside(row_level), _inside(column_level)


def _inside(level: np.ndarray) -> slice:
    limit = int(BORDER_SHARE * len(level))
    return slice(_border_width(level, limit), len(level) - _border_width(level[::-1], limit))


def _border_width(level: np.ndarray, limit: int) -> int:
    """Lines to drop at the start of `level`, at most `limit`."""
    picture = float(np.median(level[limit : 2 * limit + 1]))
    bright = np.flatnonzero(level[: limit + 1] >= min(BORDER_LEVEL, picture / 2))
    if len(bright) == 0 or bright[0] == 0:
        return 0
    first = int(bright[0])
    blurred = level[first] < 0.7 * picture
    return min(first + int(blurred), limit)


# --- Methods: picture at working size -> labels ----------------------------------------------------------------


class _Task(NamedTuple):
    """A picture at working size and the bounds on its regions."""

    pixels: np.ndarray  # uint8 (h, w, 3)
    lab: np.ndarray  # float32 (h, w, 3), CIE L*a*b*
    min_regions: int
    max_regions: int
    seed: int


def _by_slic(task: _Task) -> np.ndarray:
    return largest_first(_bound(_superpixels(task.pixels), task))


def _by_ncuts(task: _Task) -> np.ndarray:
    superpixels = _superpixels(task.pixels)
    regions = superpixels
    for threshold in NCUT_THRESHOLDS:
        regions = _normalized_cut(superpixels, task, threshold)
        if regions.max() + 1 >= task.min_regions:
            break
    return largest_first(_bound(regions, task))


def _by_felzenszwalb(task: _Task) -> np.ndarray:
    if _few_pixels(task.pixels):
        return _by_slic(task)
    # A piece of less than half a superpixel tells nothing, and the floor bounds the merging that follows.
    min_size = max(2, task.pixels[..., 0].size // (2 * N_SUPERPIXELS))
    pieces = felzenszwalb(task.pixels, scale=200, sigma=0.8, min_size=min_size)
    return largest_first(_bound(contiguous(pieces), task))


def _by_grid(task: _Task) -> np.ndarray:
    height, width = task.pixels.shape[:2]
    n_rows, n_columns = _grid_shape(height, width, task.min_regions, task.max_regions)
    row = np.arange(height) * n_rows // height
    column = np.arange(width) * n_columns // width
    return split_to(row[:, None] * n_columns + column, min(task.min_regions, height * width))


_METHODS: dict[str, Callable[[_Task], np.ndarray]] = {
    "slic": _by_slic,
    "ncuts": _by_ncuts,
    "felzenszwalb": _by_felzenszwalb,
    "grid": _by_grid,
}


def _superpixels(pixels: np.ndarray) -> np.ndarray:
    if _few_pixels(pixels):
        return np.arange(pixels[..., 0].size).reshape(pixels.shape[:2])
    return contiguous(slic(pixels, N_SUPERPIXELS, compactness=20, max_num_iter=5, start_label=0))


def _few_pixels(pixels: np.ndarray) -> bool:
    return pixels[..., 0].size <= N_SUPERPIXELS


def _normalized_cut(superpixels: np.ndarray, task: _Task, threshold: float) -> np.ndarray:
    """Superpixels grouped by recursive two-way cuts, none dearer than `threshold`."""
    colour = region_colours(superpixels, task.lab)
    graph = RAG()
    graph.add_nodes_from((n, {"labels": [n]}) for n in range(len(colour)))
    for a, b in zip(*np.nonzero(np.triu(adjacency(superpixels))), strict=True):
        similarity = np.exp(-np.sum((colour[a] - colour[b]) ** 2) / NCUT_SCALE)
        graph.add_edge(int(a), int(b), weight=float(similarity))
    try:
        return contiguous(cut_normalized(superpixels, graph, thresh=threshold, rng=task.seed))
    except ArpackError:  # no eigenvector found: the superpixels themselves are still a segmentation
        return superpixels


def _grid_shape(height: int, width: int, min_regions: int, max_regions: int) -> tuple[int, int]:
    """Rows and columns of the grid within the bounds whose cells are nearest to square."""
    shapes = [
        (n_rows, n_columns)
        for n_rows in range(1, min(max_regions, height) + 1)
        for n_columns in range(1, min(max_regions // n_rows, width) + 1)
    ]
    enough = [shape for shape in shapes if shape[0] * shape[1] >= min_regions]
    if not enough:  # too few pixels one way or the other: as many cells as there can be
        return max(shapes, key=lambda shape: shape[0] * shape[1])
    return min(enough, key=lambda s: (round(abs(np.log(height * s[1] / (width * s[0]))), 9), -s[0] * s[1]))


# --- Bounds on the number of regions ----------------------------------------------------------------------------


def _bound(labels: np.ndarray, task: _Task) -> np.ndarray:
    """Merge and split regions until their number is within the task's bounds."""
    look = region_colours(labels, task.lab)
    labels = merge_down(labels, look, task.min_regions, task.max_regions, ALIKE)
    return split_to(labels, min(task.min_regions, labels.size))
