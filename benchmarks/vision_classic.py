"""Pictures per second of the classic descriptors, in one process and on one thread.

Pictures are Corel-5k's own (192 x 128) where TOPICTURE_DATA names the folder of the benchmark sets, rendered scenes
of that size elsewhere, and rendered scenes of 640 x 480. Reading files is not part of the time.
"""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import cv2
import faiss
import numpy as np
from PIL import Image

from topicture.demo.scenes import render_scene
from topicture.vision.features.blobs import BLOBS, blob_features
from topicture.vision.features.colour import colour_layout
from topicture.vision.features.quantise import fit_codebook
from topicture.vision.features.sift import SIFT, sift_patches
from topicture.vision.segment import crop_dark_border, segment, segment_methods

N_SMALL, N_LARGE = 40, 8
N_WORDS = 500


def run() -> list[dict]:
    """One row per step and picture size: {"name", "images_per_second", "least"}, `least` where a floor is set."""
    threads = cv2.getNumThreads(), faiss.omp_get_max_threads()
    cv2.setNumThreads(1)
    faiss.omp_set_num_threads(1)
    try:
        return [*_rows("192x128", _small_pictures()), *_rows("640x480", _scenes(N_LARGE, 640, 480))]
    finally:
        cv2.setNumThreads(threads[0])
        faiss.omp_set_num_threads(threads[1])


def _rows(size: str, pictures: list[np.ndarray]) -> list[dict]:
    rows = []
    for name, (step, least) in _steps(pictures).items():
        row = {"name": f"vision/{name} {size}", "images_per_second": _rate(step, pictures)}
        rows.append(row if least is None else row | {"least": least})
    return rows


def _steps(pictures: list[np.ndarray]) -> dict[str, tuple[Callable[[np.ndarray], object], float | None]]:
    """Step and, where one is set, the rate it must reach."""
    grids = {id(pixels): segment(pixels, "grid") for pixels in pictures}
    regions = np.concatenate([blob_features(pixels, segment(pixels)) for pixels in pictures])
    patches = np.concatenate([sift_patches(pixels).descriptors for pixels in pictures])
    blob_words = fit_codebook(
        regions, min(N_WORDS, len(regions) // 2), descriptor=BLOBS.key, standardise=True
    )
    sift_words = fit_codebook(patches, N_WORDS, descriptor=SIFT.key, n_restarts=1, max_points=4 * N_WORDS)

    def ncuts_blob_words(pixels: np.ndarray) -> np.ndarray:
        return blob_words.assign(blob_features(pixels, segment(pixels, "ncuts")))

    return {
        "crop border": (crop_dark_border, None),
        **{
            f"segment {method}": (lambda pixels, m=method: segment(pixels, m), None)
            for method in segment_methods()
        },
        "blobs": (lambda pixels: blob_features(pixels, grids[id(pixels)]), None),
        "ncuts + blobs + words": (ncuts_blob_words, 1.0),
        "sift": (sift_patches, None),
        "sift + words": (lambda pixels: sift_words.assign(sift_patches(pixels).descriptors), 4.0),
        "colour layout": (colour_layout, 150.0),
    }


def _rate(step: Callable[[np.ndarray], object], pictures: list[np.ndarray]) -> float:
    step(pictures[0])  # the first call fills caches
    start = perf_counter()
    for pixels in pictures:
        step(pixels)
    return len(pictures) / (perf_counter() - start)


def _small_pictures() -> list[np.ndarray]:
    archive = Path(os.environ.get("TOPICTURE_DATA", "")) / "corel5k" / "corel5k_images.zip"
    if not archive.is_file():
        return _scenes(N_SMALL, 192, 128)
    with zipfile.ZipFile(archive) as images:
        names = sorted(images.namelist())
        chosen = names[:: len(names) // N_SMALL][:N_SMALL]
        return [np.asarray(Image.open(io.BytesIO(images.read(name))).convert("RGB")) for name in chosen]


def _scenes(n: int, width: int, height: int) -> list[np.ndarray]:
    return [render_scene(0, index, width, height).pixels for index in range(n)]


if __name__ == "__main__":
    for row in run():
        floor = f"  (at least {row['least']:g})" if "least" in row else ""
        print(f"{row['name']:40s} {row['images_per_second']:8.1f} images/s{floor}")
