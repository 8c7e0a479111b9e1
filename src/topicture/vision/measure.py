"""One photo's measurements: pixels, regions and raw descriptors, as a recipe asks for them.

Raw means before anything that is learned from other photos: no scaling, no projection, no codebook (see `features`).
So a measurement depends on what is seen on the photo and the recipe alone, and can be cached by both.
"""

import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from topicture.collection.identity import seen_id
from topicture.errors import ImageError, ModelFileError
from topicture.moved import moved
from topicture.vision.deep_regions import DEEP, deep_regions
from topicture.vision.features.blobs import BLOBS, blob_features
from topicture.vision.features.colour import colour_layout
from topicture.vision.features.sift import sift_patches
from topicture.vision.label_maps import enlarge
from topicture.vision.networks.deep import Network, Outputs, load_network
from topicture.vision.read import Unreadable, read_content, shrink, try_read
from topicture.vision.recipe import OF_REGIONS, REGION_PARTS, Recipe
from topicture.vision.region_parts import region_parts
from topicture.vision.segment import crop_dark_border, segment
from topicture.vision.worker_process import Failure

__all__ = ["Measured", "Measurer", "Task", "Unmeasured", "content_id", "exact_id", "photo_regions"]

__getattr__ = moved(__name__)  # names of earlier versions


@dataclass(frozen=True, eq=False)
class Task:
    """A photo to measure: its path, content or pixels; its own label map (H, W) or None; the steps wanted."""

    source: str | os.PathLike | bytes | np.ndarray
    labels: np.ndarray | None
    steps: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """Step -> array, and the identity of the photo that was read."""

    content: bytes
    arrays: dict[str, np.ndarray] = field(repr=False)

    def __post_init__(self) -> None:
        # It comes from a process that has decoded a file, which may be hostile.
        if not isinstance(self.content, bytes) or not isinstance(self.arrays, dict):
            raise TypeError("measurements are an identity and arrays")
        for step, array in self.arrays.items():
            if not isinstance(step, str) or not isinstance(array, np.ndarray):
                raise TypeError("measurements are named arrays")
            if not np.isfinite(array).all():
                raise ValueError(f"{step} is not finite")


class Unmeasured(Failure):
    """Why there are no measurements; `lasting` where it lies in the content and will not change."""


@dataclass(frozen=True)
class Measurer:
    """The job of a worker: measures tasks by a recipe.

    `network` is the key of the network that the recipe's path must hold, so that who stays for other photos does not
    measure by a former one; empty: whichever is there.
    """

    recipe: Recipe
    network: str = ""

    def __call__(self, task: Task) -> Measured | Unmeasured:
        source = task.source
        if isinstance(source, str | os.PathLike):
            # Read here, and hashed as read: a file that changes meanwhile can't get another's measurements.
            content_or_refusal = read_content(source)
            if isinstance(content_or_refusal, Unreadable):
                return Unmeasured(content_or_refusal.reason, lasting=False)
            source = content_or_refusal
        try:
            pixels = _pixels(source, self.recipe.max_side)
        except ImageError as error:
            return Unmeasured(str(error), lasting=True)
        try:
            network = partial(_network, self.recipe.network, self.network)
            regions = bool(set(OF_REGIONS) & set(task.steps))
            seen = _look(pixels, task.labels, self.recipe, network, regions)
            arrays = _measure(seen, self.recipe, network, task.steps)
        except ImageError as error:
            return Unmeasured(str(error), lasting=False)
        return Measured(content_id(source, task.labels), arrays)


def content_id(
    source: str | os.PathLike | bytes | np.ndarray,
    labels: np.ndarray | None,
    of_file: Callable[[Any], bytes] = seen_id,
) -> bytes:
    """The identity of what is seen on a photo, and of the label map that comes with it; raises OSError.

    `of_file` gives the identity of a file, or of its content.
    """
    of_source = _array_hash(source) if isinstance(source, np.ndarray) else of_file(source)
    return of_source if labels is None else hashlib.sha256(of_source + _array_hash(labels)).digest()


def exact_id(source: str | os.PathLike | bytes) -> bytes:
    """SHA-256 of a whole file, or of its content; raises OSError."""
    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def photo_regions(
    source: str | os.PathLike | bytes | np.ndarray, recipe: Recipe
) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (H, W, 3) and label map (H, W) of a photo, as the recipe's region views see them.

    Row n of a photo's regions describes the pixels labelled n. Raises ImageError.
    """
    network = partial(_network, recipe.network, "")
    seen = _look(_pixels(source, recipe.max_side), None, recipe, network, True)
    return seen.pixels, seen.labels_in_full()


def _pixels(source: str | os.PathLike | bytes | np.ndarray, max_side: int) -> np.ndarray:
    if isinstance(source, np.ndarray):
        return shrink(source, max_side)
    outcome = try_read(source, max_side)
    if isinstance(outcome, Unreadable):
        raise ImageError(outcome.reason)
    return outcome.pixels


class _Seen(NamedTuple):
    """A picture without its border; its regions, which may be divided at a smaller size; and the network's maps."""

    pixels: np.ndarray
    labels: np.ndarray | None = None
    outputs: Outputs | None = None

    def labels_in_full(self) -> np.ndarray:
        assert self.labels is not None
        return enlarge(self.labels, *self.pixels.shape[:2])


def _look(
    pixels: np.ndarray,
    own_labels: np.ndarray | None,
    recipe: Recipe,
    network: Callable[[], Network],
    wanted: bool,
) -> _Seen:
    """The picture without its border and, where wanted, its regions: its own, or those of the segmentation."""
    if own_labels is not None:
        return _Seen(pixels, resize_labels(own_labels, pixels.shape[:2]))
    pixels = _cut(pixels, recipe.border)
    if not wanted:
        return _Seen(pixels)
    bounds = recipe.min_regions, recipe.max_regions
    if recipe.segmentation != DEEP:
        return _Seen(pixels, segment(pixels, recipe.segmentation, *bounds, recipe.seed))
    outputs = network()([pixels], recipe.map_side)
    if not outputs.maps:
        raise ImageError(f"network {recipe.network} names no maps: it can't divide a photo into regions")
    finest = max(outputs.maps, key=lambda feature_map: feature_map[0, 0].size)[0]
    return _Seen(pixels, deep_regions(pixels, finest, *bounds), outputs)


def _cut(pixels: np.ndarray, border: int | str) -> np.ndarray:
    if border == "dark":
        return crop_dark_border(pixels)
    width = int(border)
    if 2 * width >= min(pixels.shape[:2]):  # nothing would be left
        return pixels
    return pixels[width : pixels.shape[0] - width, width : pixels.shape[1] - width]


def resize_labels(labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A label map at another size; a region too small to be seen there keeps one pixel at its middle."""
    rows = (np.arange(shape[0]) * 2 + 1) * labels.shape[0] // (2 * shape[0])
    columns = (np.arange(shape[1]) * 2 + 1) * labels.shape[1] // (2 * shape[1])
    resized = labels[rows[:, None], columns].astype(np.int32)
    for lost in sorted(set(range(int(labels.max()) + 1)) - set(np.unique(resized).tolist())):
        where = np.argwhere(labels == lost)
        if len(where) == 0:
            raise ImageError(f"its label map has no region {lost}")
        row, column = where[len(where) // 2] * shape // np.asarray(labels.shape)
        resized[row, column] = lost
    return resized


def _measure(
    seen: _Seen, recipe: Recipe, network: Callable[[], Network], steps: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Each step's array. Deep region features are kept at half precision: three digits, a quarter of the space."""
    arrays: dict[str, np.ndarray] = {}
    pixels, labels, outputs = seen
    if "regions:deep" in steps:
        assert labels is not None
        outputs = outputs or network()([pixels], recipe.map_side)
        arrays["regions:deep"] = network().region_features(outputs, 0, labels).astype(np.float16)
    if "deep" in steps:
        whole = None if outputs is None or recipe.map_side else outputs.pooled
        arrays["deep"] = (network().image_features([pixels]) if whole is None else whole)[0]
    if "regions:blobs" in steps:
        arrays["regions:blobs"] = _blobs(pixels, seen.labels_in_full())
    if "colour-layout" in steps:
        arrays["colour-layout"] = colour_layout(pixels).astype(np.float32)
    if {"sift", "sift-regions"} & set(steps):
        patches = sift_patches(pixels, recipe.n_patches, recipe.seed)
        arrays["sift"] = patches.descriptors
        if labels is not None:
            arrays["sift-regions"] = patches.regions(seen.labels_in_full()).astype(np.int32)
    if "region-areas" in steps:
        assert labels is not None
        areas = np.bincount(labels[labels >= 0], minlength=int(labels.max()) + 1)
        arrays["region-areas"] = (areas / labels.size).astype(np.float32)
    if set(REGION_PARTS) & set(steps):
        assert labels is not None
        arrays.update(zip(REGION_PARTS, region_parts(labels), strict=True))
    return {step: arrays[step] for step in steps}


def _blobs(pixels: np.ndarray, labels: np.ndarray) -> np.ndarray:
    if labels.max() < 0:
        return np.zeros((0, len(BLOBS)), dtype=np.float32)
    return blob_features(pixels, labels).astype(np.float32)


@lru_cache(maxsize=1)
def _network(name: str, key: str) -> Network:
    network = load_network(name)
    if key not in ("", network.key):
        raise ModelFileError(f"{name}: the network was changed meanwhile; run the same again")
    return network


def _array_hash(array: np.ndarray) -> bytes:
    header = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(header + np.ascontiguousarray(array).tobytes()).digest()
