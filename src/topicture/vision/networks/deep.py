"""Deep features: a convolutional or transformer network, run by onnxruntime on the CPU.

Two networks come with the package's dependencies: EfficientNet-Lite2 (the default) and Lite0 (the fast one), trained on
ImageNet, Apache-2.0; a user's own plugs in by a manifest (see `networks`).

A picture of any shape is squashed to the network's square input: the words of a photo may lie at its edge, so nothing
is cropped. Features of a picture are the network's pooled output; features of a region are its maps averaged under the
region's mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from topicture.errors import ModelFileError
from topicture.offline import quiet_onnxruntime
from topicture.vision.features.descriptor import Column, Descriptor, Scope
from topicture.vision.networks.manifest import DEEP_VERSION, Manifest, network_graph, network_key

__all__ = ["Network", "Outputs", "load_network", "pool_regions", "start_session", "unit_rows"]


def load_network(name: str | Path, threads: int = 1) -> "Network":
    """A network of `networks.NETWORKS`, or the one of a manifest's path, ready to run on `threads` threads.

    Raises
    ------
    DataNotFound
        No such manifest, model file or installed weights.
    ModelFileError
        A manifest or model that can't be used; the message says why.
    """
    manifest, graph = network_graph(name)
    return Network(manifest, graph, network_key(name), threads)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a network says of B pictures: pooled (B, C) and maps, each (B, C, h, w), all float32."""

    pooled: np.ndarray
    maps: tuple[np.ndarray, ...]


class Network:
    """A loaded network; `key` is its `network_key`."""

    def __init__(self, manifest: Manifest, graph: bytes, key: str, threads: int = 1) -> None:
        self.manifest = manifest
        self.key = key
        self._session = start_session(graph, manifest.name, threads)
        self._input = manifest.input or self._session.get_inputs()[0].name
        self._outputs = ([manifest.pooled] if manifest.pooled else []) + list(manifest.maps)
        missing = set(self._outputs) - {output.name for output in self._session.get_outputs()}
        if missing:
            raise ModelFileError(f"network {manifest.name} has no output {', '.join(sorted(missing))}")

    def __call__(self, pictures: Sequence[np.ndarray], side: int = 0) -> Outputs:
        """Run the network on uint8 (H, W, 3) pictures of any shapes; `side` of its input, 0 for its own."""
        return self._run(np.stack([self._prepare(pixels, side) for pixels in pictures]), self._outputs)

    def image_features(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        """Pooled features (B, C) float32, as the network gives them (not normalised)."""
        wanted = [self.manifest.pooled] if self.manifest.pooled else self._outputs
        return self._run(np.stack([self._prepare(pixels) for pixels in pictures]), wanted).pooled

    def region_features(self, outputs: Outputs, index: int, labels: np.ndarray) -> np.ndarray:
        """Features (n_regions, C) float32 of the regions of picture `index` of `outputs`.

        The maps are averaged under each region of the label map (H, W); each map's part has length 1, so that a
        map of large values does not drown the others. Rows of the picture's regions in label order.
        """
        if not outputs.maps:
            raise ModelFileError(f"network {self.manifest.name} names no maps: it can't describe regions")
        parts = [pool_regions(feature_map[index], labels) for feature_map in outputs.maps]
        return np.concatenate([unit_rows(part) for part in parts], axis=1)

    @cached_property
    def image_descriptor(self) -> Descriptor:
        """Name, version and columns of the pooled features."""
        return self._descriptor("deep", "image", [("pooled", self._probe.pooled.shape[1])])

    @cached_property
    def region_descriptor(self) -> Descriptor:
        """Name, version and columns of the region features."""
        widths = [array.shape[1] for array in self._probe.maps]
        return self._descriptor("regions:deep", "region", list(zip(self.manifest.maps, widths, strict=True)))

    @cached_property
    def _probe(self) -> Outputs:
        return self([np.full((self.manifest.size, self.manifest.size, 3), 127, dtype=np.uint8)])

    def _descriptor(self, kind: str, scope: Scope, parts: list[tuple[str, int]]) -> Descriptor:
        columns = tuple(
            Column(f"{output}:{channel}", f"mean of channel {channel} of output {output}")
            for output, width in parts
            for channel in range(width)
        )
        return Descriptor(f"{kind}:{self.key}", DEEP_VERSION, columns, scope)

    def _prepare(self, pixels: np.ndarray, side: int = 0) -> np.ndarray:
        """The network's input for one picture; bicubic, which measures best on Corel-5k."""
        size = side or self.manifest.size
        square = Image.fromarray(pixels).resize((size, size), Image.Resampling.BICUBIC)
        mean, std = (np.asarray(v, dtype=np.float32) for v in (self.manifest.mean, self.manifest.std))
        values = (np.asarray(square, dtype=np.float32) - mean) / std
        return values.transpose(2, 0, 1) if self.manifest.layout == "NCHW" else values

    def _run(self, batch: np.ndarray, wanted: list[str]) -> Outputs:
        try:
            values = dict(zip(wanted, self._session.run(wanted, {self._input: batch}), strict=True))
        except Exception as error:  # onnxruntime has no public exception family
            reason = " ".join(str(error).split())
            raise ModelFileError(f"network {self.manifest.name} does not run: {reason[:200]}") from error
        maps = tuple(self._as_map(values[name]) for name in self.manifest.maps if name in values)
        pooled = values.get(self.manifest.pooled)
        if pooled is None:
            pooled = maps[-1].mean(axis=(2, 3))
        return Outputs(pooled.reshape(len(batch), -1), maps)

    def _as_map(self, value: np.ndarray) -> np.ndarray:
        """An output as (B, C, h, w)."""
        if value.ndim == 3:  # tokens: class and register tokens come first
            side = isqrt(value.shape[1])
            grid = value[:, value.shape[1] - side * side :]
            return grid.transpose(0, 2, 1).reshape(len(value), -1, side, side)
        if value.ndim != 4:
            raise ModelFileError(f"network {self.manifest.name}: a map has {value.ndim} axes, not 3 or 4")
        return value if self.manifest.layout == "NCHW" else value.transpose(0, 3, 1, 2)


# --- Regions -------------------------------------------------------------------------------------------------------


def pool_regions(feature_map: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Means (n_regions, C) of a map (C, h, w) under the regions of a label map (H, W); -1 belongs to none.

    A cell counts for a region by the area of the cell that the region covers, so a region smaller than a cell takes
    that cell's value. Label map and feature map cover the same rectangle, whatever their resolutions.
    """
    n_regions = int(labels.max()) + 1
    rows = _overlap(feature_map.shape[1], labels.shape[0])
    columns = _overlap(feature_map.shape[2], labels.shape[1])
    masks = (labels == np.arange(n_regions)[:, None, None]).astype(np.float32)
    area = rows @ masks @ columns.T  # (n_regions, h, w): pixels of each region in each cell
    weights = area.reshape(n_regions, rows.shape[0] * columns.shape[0])
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return weights @ feature_map.reshape(len(feature_map), -1).T


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; a row of zeros stays."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _overlap(n_cells: int, n_pixels: int) -> np.ndarray:
    """float32 (n_cells, n_pixels): length of each pixel that lies in each cell, pixels having length 1."""
    edges = np.linspace(0, n_pixels, n_cells + 1)
    pixel = np.arange(n_pixels)
    inside = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return np.clip(inside, 0, 1).astype(np.float32)


# --- Session ------------------------------------------------------------------------------------------------


def start_session(graph: bytes, name: str, threads: int) -> Any:
    """A session of onnxruntime for a serialised graph; `name` is for error messages."""
    onnxruntime = quiet_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle threads sleep: they share the cores with decoding and with other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no public exception family
        reason = " ".join(str(error).split())
        raise ModelFileError(f"network {name} can't be loaded: {reason[:200]}") from error
