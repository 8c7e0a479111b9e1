"""Photos to deep features: images per second and CPU seconds per image, beside the cost of decoding alone.

JPEGs of rendered scenes go through `describe` with two workers, as a user's would. Rates are steady ones: from the
moment both workers have answered to the last photo. CPU seconds are the difference of a long and a short run, so that
starting the workers is not in them; on a busy machine they are the figure to trust.

With --full and TOPICTURE_DATA: Corel-5k from pixels, annotated by a vote of the nearest neighbours.
"""

import contextlib
import io
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image
from topicture_experiments.descriptors.images import compare_on_corel

from topicture.corpus.datasets import corel5k
from topicture.demo.scenes import render_scene
from topicture.vision.features.transform import Features
from topicture.vision.networks.deep import load_network
from topicture.vision.pipeline import describe
from topicture.vision.read import read
from topicture.vision.recipe import Recipe

N_WARM = 8


def run(quick: bool = True) -> list[dict]:
    """One row per recipe: rate, CPU seconds and memory; `least` where a floor is set."""
    photos = _photos(80 if quick else 400)
    rows = [_decoding("decode 640x480", photos, None), _decoding("decode 4000x3000", _large_photos(6), None)]
    rows.append(_decoding("decode 4000x3000 to 512", _large_photos(6), 512))
    for name, recipe, least in [
        ("colour layout (decoding and passing on)", Recipe("colour-layout"), None),
        ("deep lite0 224 px", Recipe("deep", network="lite0"), 30.0),
        ("deep lite2 260 px", Recipe("deep", network="lite2"), 30.0),
        ("deep + SLIC regions lite0", Recipe(("deep", "regions:deep"), network="lite0"), 8.0),
        ("deep + SLIC regions lite2", Recipe(("deep", "regions:deep"), network="lite2"), 8.0),
    ]:
        rows.append(_describing(name, photos, recipe, least))
    rows += [_threads(network, photos[:48]) for network in ("lite0", "lite2")]
    if not quick and os.environ.get("TOPICTURE_DATA"):
        rows += [row for network in ("lite0", "lite2") for row in _corel(network)]
    return rows


# --- Speed -----------------------------------------------------------------------------------------------------------


def _decoding(name: str, photos: list[tuple[str, bytes]], max_side: int | None) -> dict:
    start, cpu = perf_counter(), _cpu_seconds()
    for _, content in photos:
        read(content, max_side)
    rate = len(photos) / (perf_counter() - start)
    return {"name": name, "images_per_second": rate, "cpu_s_per_image": (_cpu_seconds() - cpu) / len(photos)}


def _describing(name: str, photos: list[tuple[str, bytes]], recipe: Recipe, least: float | None) -> dict:
    features = describe(photos[:N_WARM], recipe, vocabulary=["word"]).features
    cpu_short, _, _ = _timed(photos[:N_WARM], features)
    cpu_long, rate, megabytes = _timed(photos, features)
    row = {
        "name": name,
        "images_per_second": rate,
        "cpu_s_per_image": (cpu_long - cpu_short) / (len(photos) - N_WARM),
        "memory_mb": megabytes,
    }
    return row if least is None else row | {"least": least}


def _timed(photos: list[tuple[str, bytes]], features: Features) -> tuple[float, float, float]:
    """CPU seconds in all, images per second once under way, most memory of this process and its workers."""
    done_at: list[float] = []
    megabytes: list[float] = []

    def note(done: int, total: int | None) -> None:
        done_at.append(perf_counter())
        megabytes.append(_memory_mb())

    cpu = _cpu_seconds()
    describe(photos, features, vocabulary=["word"], workers=2, progress=note)
    under_way = N_WARM // 2
    rate = (len(done_at) - under_way) / (done_at[-1] - done_at[under_way - 1])
    return _cpu_seconds() - cpu, rate, max(megabytes)


def _memory_mb() -> float:
    """Resident memory of this process and its children, where the system tells."""
    own = Path("/proc/self")
    if not own.exists():
        return float("nan")
    children = [pid for task in own.glob("task/*/children") for pid in task.read_text().split()]
    kilobytes = 0
    for process in ["self", *children]:
        with contextlib.suppress(OSError, StopIteration):  # it may have ended meanwhile
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            kilobytes += int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return kilobytes / 1024


def _threads(network: str, photos: list[tuple[str, bytes]]) -> dict:
    """The other arrangement: one process whose network has two threads, in batches of eight."""
    model = load_network(network, threads=2)
    pictures = [read(content) for _, content in photos]
    model.image_features(pictures[:8])
    start, cpu = perf_counter(), _cpu_seconds()
    for first in range(0, len(pictures), 8):
        model.image_features(pictures[first : first + 8])
    rate = len(pictures) / (perf_counter() - start)
    cpu = (_cpu_seconds() - cpu) / len(pictures)
    return {
        "name": f"{network} alone, two threads, no decoding",
        "images_per_second": rate,
        "cpu_s_per_image": cpu,
    }


def _cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _photos(n: int) -> list[tuple[str, bytes]]:
    return [(f"scene{i}", _jpeg(render_scene(0, i, 640, 480).pixels)) for i in range(n)]


def _large_photos(n: int) -> list[tuple[str, bytes]]:
    scenes = [Image.fromarray(render_scene(0, i, 640, 480).pixels) for i in range(n)]
    return [(f"large{i}", _jpeg(np.asarray(scene.resize((4000, 3000))))) for i, scene in enumerate(scenes)]


def _jpeg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=90)
    return stream.getvalue()


# --- Quality ---------------------------------------------------------------------------------------------------------


def _corel(network: str) -> list[dict]:
    """Corel-5k, 260 words, five per image: the vote whose rule the training images choose, and a fixed one."""
    recipes = {f"corel5k, deep {network}": Recipe(("deep",), network=network, border=5)}
    return [
        {"name": f"{row.descriptor}, {row.annotator} {tuple(row.rule or ())}", **row.measures._asdict()}
        for row in compare_on_corel(corel5k("evaluation"), recipes)
    ]


if __name__ == "__main__":
    for row in run():
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
