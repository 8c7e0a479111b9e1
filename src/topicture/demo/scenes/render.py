"""From a seed and an index to a picture with its caption and its truth."""

from dataclasses import dataclass

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import draw_light
from topicture.demo.scenes.noise import noise_tiles
from topicture.demo.scenes.places import PLACES
from topicture.demo.scenes.things import heavens
from topicture.demo.scenes.vocabulary import choose_caption, visible_words
from topicture.errors import ImageError

__all__ = ["Scene", "render_scene"]

_SMALLEST = 32  # pixels a side; below that most things are invisible
_WORDS_OF_LIGHT = ("sunset", "night")


@dataclass(frozen=True, eq=False)
class Scene:
    """One picture of the sample collection."""

    image_id: str
    pixels: np.ndarray  # (H, W, 3) uint8
    words: tuple[str, ...]  # the caption: 2 to 6 of the words in `present`
    present: tuple[str, ...]  # every word true of the picture
    labels: np.ndarray  # (H, W) int16, index into VOCABULARY, -1 where nothing has a name


def render_scene(seed: int, index: int, width: int = 256, height: int = 192) -> Scene:
    """Render image `index` of the collection of a seed.

    The result depends on the four arguments alone. At another size the same scene is painted with more or
    fewer pixels.
    """
    if min(width, height) < _SMALLEST:
        raise ImageError(f"a scene needs at least {_SMALLEST} x {_SMALLEST} pixels, not {width} x {height}")
    rng = np.random.default_rng([seed, index])
    weights = np.array([place.weight for place in PLACES])
    place = PLACES[rng.choice(len(PLACES), p=weights / weights.sum())]
    light = draw_light(rng, place.times, aspect=width / height)
    canvas = Canvas(rng, noise_tiles(seed), light, width, height)
    if light.time in _WORDS_OF_LIGHT:
        canvas.scene_words.add(light.time)
    place.paint(canvas)
    if light.weather == "fog":
        heavens.fog(canvas, 0.5)
    if light.weather == "rain":
        heavens.rain(canvas)
    labels, shares = visible_words(canvas.labels, canvas.scene_words)
    return Scene(
        image_id=f"scene-{index + 1:05d}",
        words=choose_caption(rng, shares),
        present=tuple(shares),
        labels=labels,
        pixels=_expose(canvas),
    )


def _expose(canvas: Canvas) -> np.ndarray:
    """What the camera makes of it: exposure, colour cast, vignette, sensor noise; (H, W, 3) uint8."""
    rng = canvas.rng
    exposure, gamma = rng.uniform(0.90, 1.08), rng.uniform(0.92, 1.08)
    cast = 1 + rng.uniform(-0.05, 0.05, 3)
    centre = ((canvas.x / canvas.aspect - 0.5) ** 2 + (canvas.y - 0.5) ** 2) * 2
    vignette = 1 - rng.uniform(0.05, 0.22) * centre
    image = np.clip(canvas.rgb * (exposure * cast).astype(np.float32) * vignette[..., None], 0, None) ** gamma
    sigma = rng.uniform(0.004, 0.012) * (1.6 if canvas.light.dark else 1.0)
    image = image + sigma * rng.standard_normal(image.shape, np.float32)
    return (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)
