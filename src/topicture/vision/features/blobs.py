"""Blob features: size, place, shape, colour and texture of a region in 46 numbers.

The kinds of measurement are those of the Corel region data [duygulu2002object, barnard2003matching]. Where the two
have a column in common (colour means and spreads, oriented energies) ours ranks pictures as theirs does. RGB is
linear light, as there: the mean of a region is then the mean of the light that came from it.

Lengths are in pixels and are divided by the region's or the picture's own size, so shape and place do not depend on
the picture's resolution. Texture does: its filters are fixed in pixels.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from topicture.errors import CorpusError
from topicture.extras import optional_module
from topicture.vision.features.descriptor import Column, Descriptor
from topicture.vision.segment import check_pixels

__all__ = ["BLOBS", "blob_features"]

ORIENTATIONS = tuple(
    range(0, 180, 15)
)  # degrees, of the edge that answers; turning from columns towards rows
DOG_SCALES = (0.7, 1.4, 2.8, 5.6)  # pixels; each band is the difference of blurs at s and 2 s
EDGE_SCALE = 1.0  # pixels across the edge
EDGE_LENGTH = 3.0  # times longer along the edge than across

_CHANNELS = (
    *((name, f"linear light {name}, 0 .. 1") for name in ("red", "green", "blue")),
    ("L", "CIE L*, lightness divided by 100, 0 .. 1"),
    ("a", "CIE a*, green to red, divided by 100"),
    ("b", "CIE b*, blue to yellow, divided by 100"),
    ("r_share", "red / (red + green + blue) in linear light; 1/3 for black"),
    ("g_share", "green / (red + green + blue) in linear light; 1/3 for black"),
)

BLOBS = Descriptor(
    name="blobs",
    version=1,
    columns=(
        Column("area", "share of the picture's pixels, 0 .. 1"),
        Column("row", "centre of mass from the top, 0 .. 1"),
        Column("column", "centre of mass from the left, 0 .. 1"),
        Column("row_spread", "standard deviation of the rows, in picture heights"),
        Column("column_spread", "standard deviation of the columns, in picture widths"),
        Column("boundary", "perimeter squared over area: 4 pi for a disc, 16 for a square"),
        Column("convexity", "area over area of the convex hull, 0 .. 1"),
        Column("inertia", "root mean squared distance to the centre over root of area: 0.399 for a disc"),
        Column("elongation", "eccentricity of the ellipse of equal second moments, 0 .. 1"),
        Column("extent", "area over area of the upright bounding box, 0 .. 1"),
        *(Column(f"mean_{name}", f"mean of {meaning}") for name, meaning in _CHANNELS),
        *(Column(f"spread_{name}", f"standard deviation of {meaning}") for name, meaning in _CHANNELS),
        *(
            Column(f"mean_dog_{s}", f"mean difference of Gaussians, {s} and {2 * s} px, of L")
            for s in DOG_SCALES
        ),
        *(Column(f"spread_dog_{s}", f"standard deviation of mean_dog_{s}'s response") for s in DOG_SCALES),
        *(
            Column(f"edge_{deg}", f"root mean oriented energy of L, edges at {deg} degrees")
            for deg in ORIENTATIONS
        ),
    ),
    scope="region",
)


def blob_features(pixels: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Describe every region of a picture.

    Parameters
    ----------
    pixels : uint8 array (H, W, 3)
        sRGB.
    labels : int array (H, W)
        Regions 0 .. n_regions - 1, all present; -1 is ignored.

    Returns
    -------
    float64 array (n_regions, 46)
        Columns as in `BLOBS`; always finite. No rows where every pixel is ignored.

    Raises
    ------
    ImageError
        `pixels` is not uint8 (H, W, 3).
    CorpusError
        `labels` has another size, or a value missing between 0 and its maximum.
    """
    check_pixels(pixels)
    regions = _Regions(labels, pixels.shape[:2])
    if len(regions.size) == 0:
        return np.zeros((0, len(BLOBS)))
    light = _linear_light()[pixels]
    cv2 = _opencv()
    lab = cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2Lab) / 100
    colour_mean, colour_spread = regions.mean_and_spread(
        [*np.moveaxis(light, 2, 0), *np.moveaxis(lab, 2, 0), *_chromaticity(light)]
    )
    dog_mean, dog_spread = regions.mean_and_spread(_difference_of_gaussians(lab[..., 0]))
    edges = np.sqrt(regions.mean(_oriented_energies(lab[..., 0])))
    return np.hstack([regions.geometry(), colour_mean, colour_spread, dog_mean, dog_spread, edges])


# --- Regions: sums of a picture's values by label ---------------------------------------------------------------


class _Regions:
    """A label map, ready to average arrays of its shape region by region."""

    def __init__(self, labels: np.ndarray, shape: tuple[int, ...]):
        if labels.shape != shape or labels.dtype.kind != "i":
            raise CorpusError(
                f"labels must be integers of the picture's size {shape}, not {labels.dtype} {labels.shape}"
            )
        self.labels = labels
        self.inside = labels.ravel() >= 0
        self.whole = bool(self.inside.all())
        self.flat = labels.ravel() if self.whole else labels.ravel()[self.inside]
        self.size = np.bincount(self.flat)
        if self.size.min(initial=1) == 0:
            raise CorpusError("labels must be 0 .. n_regions - 1 with every value present (-1 is ignored)")

    def mean(self, channels: list[np.ndarray]) -> np.ndarray:
        """Means (n_regions, len(channels)) of arrays (H, W)."""
        return (
            np.stack([self._sum(self._values(channel)) for channel in channels], axis=1) / self.size[:, None]
        )

    def mean_and_spread(self, channels: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations (n_regions, len(channels)) of arrays (H, W)."""
        mean = self.mean(channels)
        # Around the region's own mean: the difference of two large sums would lose small spreads.
        residuals = (self._values(channel) - mean[self.flat, j] for j, channel in enumerate(channels))
        variance = np.stack([self._sum(residual**2) for residual in residuals], axis=1) / self.size[:, None]
        return mean, np.sqrt(variance)

    def geometry(self) -> np.ndarray:
        """Size, place and shape (n_regions, 10), the first columns of `BLOBS`."""
        height, width = self.labels.shape
        rows, columns = (grid.astype(float) for grid in np.indices(self.labels.shape))
        centre = self.mean([rows, columns])
        row_res = self._values(rows) - centre[self.flat, 0]
        column_res = self._values(columns) - centre[self.flat, 1]
        # A pixel is a unit square, not a point: 1/12 is its own variance, which keeps thin regions finite.
        row_var = self._sum(row_res**2) / self.size + 1 / 12
        column_var = self._sum(column_res**2) / self.size + 1 / 12
        covariance = self._sum(row_res * column_res) / self.size
        total = row_var + column_var
        contrast = np.hypot(row_var - column_var, 2 * covariance)  # difference of the two principal variances
        hull, box = self._hull_and_box_areas()
        return np.column_stack(
            [
                self.size / self.labels.size,
                (centre[:, 0] + 0.5) / height,
                (centre[:, 1] + 0.5) / width,
                np.sqrt(row_var) / height,
                np.sqrt(column_var) / width,
                self._perimeter() ** 2 / self.size,
                self.size / hull,
                np.sqrt(total / self.size),
                np.sqrt(2 * contrast / (total + contrast)),  # sqrt(1 - minor / major)
                self.size / box,
            ]
        )

    def _values(self, channel: np.ndarray) -> np.ndarray:
        flat = channel.reshape(-1)
        return flat if self.whole else flat[self.inside]

    def _sum(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.flat, weights=values, minlength=len(self.size))

    def _perimeter(self) -> np.ndarray:
        """Perimeters (n_regions,) in pixels, by the Cauchy-Crofton formula over four directions.

        Lines 1 apart along rows and columns and 1/sqrt(2) apart along the diagonals cross the boundary N times:
        the perimeter is pi/8 (N_row + N_column + (N_diagonal + N_antidiagonal) / sqrt(2)).
        """
        n = len(self.size)
        framed = np.pad(self.labels, 1, constant_values=-1)  # the picture's edge is a boundary too
        core = framed[1:-1, 1:-1]
        crossings = np.zeros(n)
        for row_step in (-1, 0, 1):
            for column_step in (-1, 0, 1):
                if row_step == column_step == 0:
                    continue
                neighbour = np.roll(framed, (row_step, column_step), axis=(0, 1))[1:-1, 1:-1]
                weight = np.sqrt(0.5) if row_step and column_step else 1.0
                leaving = core[(core != neighbour) & (core >= 0)]
                crossings += weight * np.bincount(leaving, minlength=n)
        return np.pi / 8 * crossings

    def _hull_and_box_areas(self) -> tuple[np.ndarray, np.ndarray]:
        """Areas (n_regions,) of the convex hull and of the upright bounding box, over the corners of the pixels."""
        n, (height, width) = len(self.size), self.labels.shape
        rows, columns = np.nonzero(self.labels >= 0)
        line = self.flat * height + rows  # one line for each region and row; its ends carry the hull
        left = np.full(n * height, width)
        right = np.full(n * height, -1)
        np.minimum.at(left, line, columns)
        np.maximum.at(right, line, columns)
        hull, box = np.empty(n), np.empty(n)
        cv2 = _opencv()
        for region in range(n):
            ends = slice(region * height, (region + 1) * height)
            used = np.flatnonzero(right[ends] >= 0)
            low, high = left[ends][used], right[ends][used] + 1
            corners = np.concatenate(
                [np.column_stack([side, used + step]) for side in (low, high) for step in (0, 1)]
            )
            hull[region] = cv2.contourArea(cv2.convexHull(corners.astype(np.int32)))
            box[region] = (used[-1] + 1 - used[0]) * (high.max() - low.min())
        return hull, box


def _opencv() -> Any:
    return optional_module("cv2", "visual-words", "blob features")


# --- Channels -----------------------------------------------------------------------------------------------


@cache
def _linear_light() -> np.ndarray:
    """float32 (256,): the light of each sRGB code value (IEC 61966-2-1), 0 .. 1."""
    code = np.arange(256) / 255
    return np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _chromaticity(light: np.ndarray) -> list[np.ndarray]:
    """Shares of red and green in the light (H, W, 3): colour without brightness."""
    total = light.sum(axis=2)
    black = total == 0
    total[black] = 1
    return [np.where(black, np.float32(1 / 3), light[..., channel] / total) for channel in (0, 1)]


def _difference_of_gaussians(lightness: np.ndarray) -> list[np.ndarray]:
    """One band-passed picture (H, W) a scale: bright spots positive, dark spots negative."""
    cv2 = _opencv()
    blurs = [cv2.GaussianBlur(lightness, (0, 0), scale) for scale in (*DOG_SCALES, 2 * DOG_SCALES[-1])]
    return [fine - coarse for fine, coarse in pairwise(blurs)]


def _oriented_energies(lightness: np.ndarray) -> list[np.ndarray]:
    """Squared response (H, W) of an odd (step) and an even (line) filter at each orientation."""
    cv2 = _opencv()
    return [
        cv2.filter2D(lightness, cv2.CV_32F, odd) ** 2 + cv2.filter2D(lightness, cv2.CV_32F, even) ** 2
        for odd, even in _oriented_filters()
    ]


@cache
def _oriented_filters() -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Odd and even kernels: first and second derivative, across the edge, of an elongated Gaussian.

    Both have zero mean and unit absolute sum, so an even grey gives zero and a step of height one about a half.
    """
    radius = int(np.ceil(3 * EDGE_SCALE * EDGE_LENGTH))
    row, column = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(float)
    pairs = []
    for angle in np.deg2rad(ORIENTATIONS):
        along = (column * np.cos(angle) + row * np.sin(angle)) / (EDGE_SCALE * EDGE_LENGTH)
        across = (row * np.cos(angle) - column * np.sin(angle)) / EDGE_SCALE
        window = np.exp(-(along**2 + across**2) / 2)
        kernels = [kernel - kernel.mean() for kernel in (across * window, (across**2 - 1) * window)]
        odd, even = ((kernel / np.abs(kernel).sum()).astype(np.float32) for kernel in kernels)
        pairs.append((odd, even))
    return tuple(pairs)
