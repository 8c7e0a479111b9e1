"""What the kinds of scene share: chance, places on the ground, backgrounds, ways, company."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import pick, rgb
from topicture.demo.scenes.things import creatures, ground, heavens, horizon

__all__ = [
    "CROPS",
    "WAYS",
    "arc",
    "background",
    "by_distance",
    "flock",
    "haze_of",
    "maybe",
    "people",
    "stream",
    "way_into",
]

CROPS = ("wheat", "lavender", "plough", "green", "rape")


WAYS = {
    "road": ((0.36, 0.36, 0.38), (0.44, 0.42, 0.40)),
    "path": ((0.66, 0.56, 0.42), (0.58, 0.48, 0.36)),
    "street": ((0.34, 0.34, 0.36), (0.46, 0.44, 0.42)),
}


def maybe(c: Canvas, chance: float) -> bool:
    """Toss a coin that falls on its head with this chance."""
    return bool(c.rng.random() < chance)


def by_distance(
    c: Canvas, line: float, count: int, low: float = 0.05, high: float = 0.95
) -> list[tuple[float, float, float]]:
    """Places on the ground, far to near: x, y, and the size there of a thing one picture high in front."""
    near = np.sort(c.rng.uniform(low, high, count)) ** 1.4
    return [(c.aspect * c.rng.uniform(0.05, 0.95), line + (1 - line) * t, 0.12 + 0.88 * t) for t in near]


def haze_of(size: float) -> float:
    """Depth of a thing from its apparent size."""
    return 0.35 * (1 - min(size, 1.0))


def flock(c: Canvas, line: float, chance: float) -> None:
    """Birds, by chance, above y = line."""
    if maybe(c, chance) and c.light.weather != "rain":
        creatures.birds(c, line, int(c.rng.integers(1, 8)), c.rng.uniform(0.016, 0.04))


def people(c: Canvas, line: float, chance: float, tall: float = 0.34, most: int = 3) -> None:
    """Somebody, by chance, on the ground in front of y = line."""
    if maybe(c, chance):
        for x, y, size in by_distance(c, line, int(c.rng.integers(1, most + 1)), 0.15, 0.85):
            creatures.person(c, x, y, tall * size, haze_of(size))


def arc(c: Canvas, line: float) -> None:
    """Now and then a rainbow, mostly under a grey sky."""
    if maybe(c, 0.5 if c.light.time == "overcast" else 0.02) and c.light.weather != "fog":
        heavens.rainbow(c, line)


def background(c: Canvas, line: float, peaks: float = 0.3, rolling: float = 0.6) -> None:
    """Mountains and hills, or neither, behind a scene whose ground begins at y = line."""
    if maybe(c, peaks):
        horizon.mountains(c, line + 0.02, c.rng.uniform(0.14, 0.3), 0.9, snow=c.rng.choice([0.0, 0.4, 0.6]))
    if maybe(c, rolling):
        for step in (0.7, 0.4)[: c.rng.integers(1, 3)]:
            horizon.hills(c, line + 0.03, c.rng.uniform(0.05, 0.14) * (0.6 + step), step)


def way_into(
    c: Canvas, start: float, word: str, half: float | None = None, straight: bool = False
) -> ground.Ribbon:
    """A road, path or street running into the picture."""
    wide = {"road": 0.34, "path": 0.15, "street": 0.6}[word] if half is None else half
    bend = 0.0 if straight else c.rng.uniform(-0.5, 0.5)
    far, near = (c.aspect * c.rng.uniform(0.3, 0.7) for _ in range(2))
    way = ground.ribbon(c, start, far, far if straight else near, wide, bend)
    grit = 0.95 + 0.07 * c.noise(c.tiles.grain, 0.6) + 0.05 * c.noise(c.tiles.smooth, 0.7)
    depth = 0.3 * (1 - way.near)
    if word == "road":  # gravel verges
        c.paint(way.mask(c, 1.16), c.lit(rgb(0.58, 0.53, 0.44), grit, depth), None)
    c.paint(way.mask(c), c.lit(pick(c.rng, WAYS[word]), grit, depth), word)
    if word == "road":
        dashes = (np.sin(9 / (way.near + 0.06)) > 0) * way.mask(c, 0.035)
        c.veil(dashes * 0.85, c.lit(rgb(0.93, 0.92, 0.88)))
    return way


def stream(c: Canvas, start: float, half: float | None = None) -> ground.Ribbon:
    """A river winding towards the camera, reflecting what is above its head."""
    far, near = c.aspect * c.rng.uniform(0.35, 0.65), c.aspect * c.rng.uniform(0.25, 0.75)
    stream = ground.ribbon(
        c, start, far, near, c.rng.uniform(0.3, 0.5) if half is None else half, c.rng.uniform(-0.5, 0.5)
    )
    wobble = ground.Ribbon(stream.centre, stream.half * (1 + 0.06 * np.sin(40 * c.y)), stream.near)
    ground.mirror(c, wobble.mask(c), start, "river", calm=c.rng.uniform(0.4, 0.75))
    return wobble
