"""Regions that the user brings: COCO polygons and run-length masks, LabelMe shapes, plain masks.

All become a label map as `segment` makes one, with -1 where no region is. Where regions overlap the smaller one is
on top, so that a hat on a head keeps both. A region that can't be used is left out with a reason; the others stay.

Coordinates follow COCO: x to the right and y down from the picture's upper left corner, the first pixel covering
0 .. 1. A pixel belongs to a polygon when its centre does. `shape` asks for the map at another size than that of the
picture the regions were drawn on, for photos that are decoded at reduced size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from skimage.draw import polygon as pixels_in_polygon

from topicture.errors import CorpusError

__all__ = ["UserRegions", "decode_rle", "regions_from_coco", "regions_from_labelme", "regions_from_masks"]

Size = tuple[int, int]  # height, width
CIRCLE_CORNERS = 64  # of the polygon that stands for a LabelMe circle


class UserRegions(NamedTuple):
    """A label map and where its regions come from."""

    labels: np.ndarray  # int32 (H, W): 0 .. n_regions - 1, all present; -1 where no region is
    sources: tuple[int, ...]  # sources[n] is the position, in the given list, of region n
    refused: tuple[tuple[int, str], ...]  # position and reason of each item that became no region


def regions_from_masks(masks: Iterable[np.ndarray], shape: Size | None = None) -> UserRegions:
    """Label map of boolean masks, all of the size of the first, (H, W).

    Raises CorpusError when there is no mask to take the size from and no `shape`, or the first is no picture.
    """
    masks = [np.asarray(mask) for mask in masks]
    size = masks[0].shape if masks else shape
    if size is None or len(size) != 2:
        raise CorpusError("masks must be (H, W) arrays, and without any the shape must be given")

    def painted(mask: np.ndarray) -> np.ndarray:
        if mask.shape != size:
            raise CorpusError(f"mask of size {mask.shape}, where the first is {size}")
        return mask != 0

    return _paint(masks, painted, shape or size)


def regions_from_coco(
    annotations: Sequence[Mapping[str, Any]], image_size: Size, shape: Size | None = None
) -> UserRegions:
    """Label map of the COCO annotations of one picture.

    Parameters
    ----------
    annotations : sequence of mappings
        Each with a `segmentation`: a list of polygons [x0, y0, x1, y1, ...], or a run-length mask with `size` and
        `counts` (a list, or COCO's compressed text). One without it but with a `bbox` [x, y, width, height] counts
        as that rectangle.
    image_size : (height, width)
        Of the picture the coordinates refer to.
    shape : (height, width), optional
        Of the label map; `image_size` unless told.
    """

    def painted(annotation: Mapping[str, Any]) -> np.ndarray:
        segmentation = annotation.get("segmentation")
        if isinstance(segmentation, Mapping):
            return decode_rle(segmentation, image_size)
        if segmentation:
            return _fill([np.reshape(_numbers(ring), (-1, 2)) for ring in segmentation], image_size)
        if annotation.get("bbox"):
            x, y, width, height = _numbers(annotation["bbox"], 4)
            return _fill([_rectangle((x, y), (x + width, y + height))], image_size)
        raise CorpusError("annotation has neither segmentation nor bbox")

    return _paint(annotations, painted, shape or image_size)


def regions_from_labelme(
    shapes: Sequence[Mapping[str, Any]], image_size: Size, shape: Size | None = None
) -> UserRegions:
    """Label map of the `shapes` of one LabelMe file.

    Parameters
    ----------
    shapes : sequence of mappings
        Each with `points` [[x, y], ...] and `shape_type`: polygon (the default), rectangle (two opposite corners) or
        circle (centre and a point on it). Points and lines have no area and are refused.
    image_size, shape : (height, width)
        As for `regions_from_coco`.
    """

    def painted(item: Mapping[str, Any]) -> np.ndarray:
        points = np.reshape(_numbers(item.get("points") or ()), (-1, 2))
        kind = item.get("shape_type") or "polygon"
        if kind == "polygon":
            return _fill([points], image_size)
        if kind == "rectangle" and len(points) == 2:
            return _fill([_rectangle(points[0], points[1])], image_size)
        if kind == "circle" and len(points) == 2:
            return _fill([_circle(points[0], points[1])], image_size)
        raise CorpusError(f"{kind} of {len(points)} points is no region")

    return _paint(shapes, painted, shape or image_size)


def decode_rle(rle: Mapping[str, Any], image_size: Size) -> np.ndarray:
    """Boolean mask (H, W) of a COCO run-length encoding.

    Runs alternate between outside and inside, starting outside, down the columns from the left. Raises CorpusError
    when the encoding is for another size or does not fill it.
    """
    counts = rle.get("counts")
    if isinstance(counts, str | bytes):
        counts = _decompressed(counts.encode() if isinstance(counts, str) else counts)
    runs = _numbers(counts or ())
    size = tuple(rle.get("size") or ())
    if size != tuple(image_size):
        raise CorpusError(f"run-length mask of size {size} for a picture of size {tuple(image_size)}")
    height, width = image_size
    if (runs < 0).any() or runs.sum() != height * width:
        raise CorpusError(f"run-length mask of {runs.sum():.0f} pixels for a picture of {height * width}")
    inside = np.arange(len(runs)) % 2 == 1
    return np.repeat(inside, runs.astype(np.int64)).reshape(width, height).T


def _decompressed(text: bytes) -> list[int]:
    """Run lengths of COCO's compressed text.

    A number is a series of characters, each 48 plus five bits of it, lowest first, plus 32 where more follow; the
    last one's highest bit is the sign. From the fourth run on, the number is the difference from two runs before.
    """
    runs: list[int] = []
    number = shift = 0
    for character in text:
        bits = character - 48
        if not 0 <= bits < 64:
            raise CorpusError("run-length text with a character outside its alphabet")
        number |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            number -= 1 << shift
        runs.append(number + (runs[-2] if len(runs) > 2 else 0))
        number = shift = 0
    if shift:
        raise CorpusError("run-length text that ends within a number")
    return runs


# --- Drawing ----------------------------------------------------------------------------------------------------


def _paint(items: Sequence[Any], painted: Callable[[Any], np.ndarray], shape: Size) -> UserRegions:
    """Paint the masks of the items, largest first, and number what remains visible in the order given."""
    masks: dict[int, np.ndarray] = {}
    refused: list[tuple[int, str]] = []
    for index, item in enumerate(items):
        try:
            mask = _resized(painted(item), shape)
        except (CorpusError, TypeError, ValueError) as error:  # reshape and float() speak in the last two
            refused.append((index, str(error)))
            continue
        if mask.any():
            masks[index] = mask
        else:
            refused.append((index, "covers no pixel of the picture"))
    canvas = np.full(shape, -1, dtype=np.int64)
    for index in sorted(masks, key=lambda index: -int(masks[index].sum())):  # equal ones: the later on top
        canvas[masks[index]] = index
    visible = np.unique(canvas[canvas >= 0])
    refused += [(index, "hidden under smaller regions") for index in masks if index not in visible]
    labels = np.where(canvas >= 0, np.searchsorted(visible, canvas), -1).astype(np.int32)
    return UserRegions(labels, tuple(visible.tolist()), tuple(sorted(refused)))


def _fill(rings: Sequence[np.ndarray], image_size: Size) -> np.ndarray:
    """Boolean mask of the union of polygons (n, 2) of x, y."""
    mask = np.zeros(image_size, dtype=bool)
    for ring in rings:
        if len(ring) < 3:
            raise CorpusError(f"polygon of {len(ring)} points")
        # Centres of pixels are at whole numbers for scikit-image, half-way between them for COCO.
        rows, columns = pixels_in_polygon(ring[:, 1] - 0.5, ring[:, 0] - 0.5, image_size)
        mask[rows, columns] = True
    return mask


def _rectangle(corner: Sequence[float], opposite: Sequence[float]) -> np.ndarray:
    (x0, y0), (x1, y1) = corner, opposite
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def _circle(centre: np.ndarray, edge: np.ndarray) -> np.ndarray:
    angle = np.arange(CIRCLE_CORNERS) * (2 * np.pi / CIRCLE_CORNERS)
    return centre + np.hypot(*(edge - centre)) * np.column_stack([np.cos(angle), np.sin(angle)])


def _numbers(values: Any, n: int | None = None) -> np.ndarray:
    numbers = np.asarray(values, dtype=float).ravel()
    if not np.isfinite(numbers).all():
        raise CorpusError("a coordinate is not a finite number")
    if n is not None and len(numbers) != n:
        raise CorpusError(f"{len(numbers)} numbers where {n} are needed")
    return numbers


def _resized(mask: np.ndarray, shape: Size) -> np.ndarray:
    """The mask at another size: each pixel takes the value at its centre."""
    height, width = mask.shape
    rows = (2 * np.arange(shape[0]) + 1) * height // (2 * shape[0])
    columns = (2 * np.arange(shape[1]) + 1) * width // (2 * shape[1])
    return mask[rows[:, None], columns]
