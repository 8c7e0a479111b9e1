"""Region features beside whole-photo features: CPU seconds per photo, and how many times as long regions take.

JPEGs of 640 x 480 pixels are measured as `learn` measures them, by the default recipe, in one process. The two take
turns, ten photos at a time, so that a busy machine slows both down alike. With TOPICTURE_DATA the photos are those of
Corel-5k, enlarged; otherwise rendered scenes.
"""

import io
import os
from collections.abc import Iterator
from time import process_time

import numpy as np
from PIL import Image

from topicture.app.learning.recipes import DEFAULT_RECIPE
from topicture.corpus.datasets import corel5k
from topicture.demo.scenes import render_scene
from topicture.vision.measure import Measured, Measurer, Task
from topicture.vision.recipe import REGION_PARTS, Recipe

SIZE = 640, 480
TURN = 10
MOST_TIMES = 2.0


def run(quick: bool = True) -> list[dict]:
    """A row for each: 60 photos, or 1,000."""
    whole = Recipe("deep", network=DEFAULT_RECIPE.network)
    measurers = {
        "whole photo": (Measurer(whole), whole.steps),
        "regions and whole photo": (Measurer(DEFAULT_RECIPE), (*DEFAULT_RECIPE.steps, *REGION_PARTS)),
    }
    seconds = dict.fromkeys(measurers, 0.0)
    n_photos = 60 if quick else 1000
    photos = list(_photos(TURN)) + list(_photos(n_photos))
    for start in range(0, len(photos), TURN):
        for name, (measure, steps) in measurers.items():
            began = process_time()
            for photo in photos[start : start + TURN]:
                assert isinstance(measure(Task(photo, None, steps)), Measured)
            seconds[name] += (process_time() - began) * (start >= TURN)  # the first turn loads the network
    times = seconds["regions and whole photo"] / seconds["whole photo"]
    return [
        {"name": f"{name}, {n_photos} photos", "cpu_s_per_image": spent / n_photos}
        | ({"times": times, "most_times": MOST_TIMES} if name != "whole photo" else {})
        for name, spent in seconds.items()
    ]


def _photos(n: int) -> Iterator[bytes]:
    if not os.environ.get("TOPICTURE_DATA"):
        for i in range(n):
            yield _jpeg(render_scene(0, i, *SIZE).pixels)
        return
    data = corel5k("evaluation")
    for _, content in data.images(data.train.image_ids[:n].tolist()):
        with Image.open(io.BytesIO(content)) as image:
            yield _jpeg(np.asarray(image.convert("RGB").resize(SIZE, Image.Resampling.BICUBIC)))


def _jpeg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=90)
    return stream.getvalue()


if __name__ == "__main__":
    for row in run():
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
