"""Things that carry people: cars, boats, balloons, trains; and the gear they leave about."""

import itertools

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.sprite import Sprite

__all__ = ["balloon", "car", "car_from_behind", "sailing_boat", "tent", "train", "umbrella", "work_boat"]

_PAINTS = (
    (0.75, 0.12, 0.12),
    (0.18, 0.34, 0.62),
    (0.90, 0.90, 0.88),
    (0.62, 0.64, 0.66),
    (0.12, 0.13, 0.15),
    (0.90, 0.72, 0.15),
    (0.20, 0.42, 0.30),
    (0.55, 0.75, 0.85),
)
_GLASS = rgb(0.30, 0.38, 0.44)
_TYRE = rgb(0.09, 0.09, 0.10)
_CLOTH = (
    (0.86, 0.22, 0.20),
    (0.95, 0.80, 0.22),
    (0.22, 0.42, 0.72),
    (0.94, 0.93, 0.90),
    (0.26, 0.56, 0.38),
    (0.88, 0.48, 0.16),
    (0.52, 0.30, 0.58),
)


def car(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A car seen from the side; height is that of its roof."""
    rng = c.rng
    c.shadow(x, y, 2.6 * height, 0.6)
    paint = pick(rng, _PAINTS)
    sprite = Sprite(c, x, y, height, (-1.6, -0.05, 1.6, 1.1), "car", flip=bool(rng.random() < 0.5))
    sprite.polygon(
        [(-1.45, 0.2), (1.45, 0.2), (1.48, 0.5), (1.35, 0.62), (0.85, 0.66), (-1.3, 0.7), (-1.46, 0.55)],
        paint,
    )
    sprite.polygon([(-1.1, 0.66), (-0.78, 1.0), (0.25, 1.0), (0.85, 0.65)], paint * 0.95)
    sprite.polygon([(-0.95, 0.67), (-0.72, 0.93), (-0.22, 0.93), (-0.22, 0.67)], _GLASS)
    sprite.polygon([(-0.14, 0.67), (-0.14, 0.93), (0.22, 0.93), (0.70, 0.66)], _GLASS * 1.15)
    sprite.box(-1.46, 0.2, 1.46, 0.28, paint * 0.55)
    sprite.box(1.36, 0.44, 1.47, 0.54, (0.98, 0.95, 0.80))
    sprite.box(-1.46, 0.46, -1.38, 0.58, (0.75, 0.10, 0.08))
    sprite.line([(-0.18, 0.3), (-0.18, 0.66)], 0.02, paint * 0.6)
    for wheel in (-0.92, 0.92):
        sprite.ellipse(wheel, 0.22, 0.25, 0.25, _TYRE)
        sprite.ellipse(wheel, 0.22, 0.13, 0.13, (0.62, 0.63, 0.65))
    sprite.stamp(depth, 0.02)
    if c.light.dark:
        c.glow(
            x + (-1.45 if sprite.flip else 1.45) * height,
            y - 0.5 * height,
            0.5 * height,
            rgb(1.0, 0.9, 0.6),
            0.7,
        )


def car_from_behind(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A car driving away from or towards the camera."""
    rng = c.rng
    c.shadow(x, y, 1.5 * height, 0.6)
    paint, away = pick(rng, _PAINTS), rng.random() < 0.5
    sprite = Sprite(c, x, y, height, (-0.75, -0.05, 0.75, 1.05), "car")
    for side in (-1, 1):
        sprite.box(side * 0.56 - 0.1, 0.0, side * 0.56 + 0.1, 0.3, _TYRE)
    sprite.polygon([(-0.66, 0.18), (0.66, 0.18), (0.68, 0.5), (0.6, 0.62), (-0.6, 0.62), (-0.68, 0.5)], paint)
    sprite.polygon([(-0.58, 0.6), (-0.44, 1.0), (0.44, 1.0), (0.58, 0.6)], paint * 0.92)
    sprite.polygon([(-0.48, 0.63), (-0.38, 0.93), (0.38, 0.93), (0.48, 0.63)], _GLASS)
    sprite.box(-0.66, 0.18, 0.66, 0.28, paint * 0.5)
    lamp = rgb(0.80, 0.10, 0.08) if away else rgb(0.98, 0.96, 0.85)
    for side in (-1, 1):
        sprite.ellipse(side * 0.52, 0.46, 0.11, 0.07, lamp)
    sprite.stamp(depth, 0.02)
    if c.light.dark:
        for side in (-1, 1):
            c.glow(x + side * 0.52 * height, y - 0.46 * height, 0.25 * height, lamp, 0.9)


def _reflect(c: Canvas, x: float, y: float, half: float, length: float, colour: np.ndarray) -> None:
    """The broken reflection of a boat in the water below it."""
    rows, columns = c.window(x - half, y, x + half, y + length)
    fade = 1 - (c.y[rows] - y) / length
    wave = 0.5 + 0.5 * np.sin((c.y[rows] - y) * 260 + 3 * c.x[:, columns])
    width = np.clip((half * (0.4 + 0.6 * fade) - np.abs(c.x[:, columns] - x)) * c.height, 0, 1)
    c.veil((0.45 * fade * wave * width).astype(np.float32), c.lit(colour * 0.7), rows.start, columns.start)


def sailing_boat(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A yacht under sail; y is its waterline."""
    rng = c.rng
    hull = pick(rng, ((0.93, 0.92, 0.90), (0.55, 0.20, 0.15), (0.14, 0.22, 0.36), (0.50, 0.34, 0.20)))
    sail = pick(rng, ((0.96, 0.95, 0.92), (0.96, 0.95, 0.92), (0.90, 0.45, 0.25), (0.30, 0.42, 0.62)), 0.04)
    _reflect(c, x, y, 0.25 * height, 0.5 * height, sail)
    sprite = Sprite(c, x, y, height, (-0.5, -0.05, 0.5, 1.05), "boat", flip=bool(rng.random() < 0.5))
    sprite.line([(0.0, 0.05), (0.0, 1.0)], 0.02, (0.35, 0.28, 0.22))
    sprite.polygon([(-0.03, 0.97), (-0.05, 0.6), (-0.38, 0.17), (-0.03, 0.15)], sail)
    sprite.polygon([(0.03, 0.90), (0.12, 0.5), (0.38, 0.15), (0.03, 0.15)], sail * 0.90)
    sprite.polygon([(-0.38, 0.12), (0.46, 0.14), (0.32, -0.03), (-0.28, -0.03)], hull)
    sprite.line([(-0.38, 0.11), (0.45, 0.13)], 0.02, hull * 0.6)
    sprite.stamp(depth, 0.03)


def work_boat(c: Canvas, x: float, y: float, length: float, depth: float = 0.0) -> None:
    """A fishing boat or rowing boat; length is that of the hull."""
    rng = c.rng
    hull = pick(rng, _PAINTS)
    _reflect(c, x, y, 0.45 * length, 0.3 * length, hull)
    sprite = Sprite(c, x, y, length, (-0.6, -0.08, 0.6, 0.75), "boat", flip=bool(rng.random() < 0.5))
    if rng.random() < 0.6:
        sprite.box(-0.25, 0.12, 0.02, 0.36, (0.92, 0.91, 0.88))
        sprite.box(-0.28, 0.36, 0.06, 0.40, hull * 0.7)
        for left in (-0.2, -0.09):
            sprite.box(left, 0.23, left + 0.07, 0.32, _GLASS)
        sprite.line([(0.12, 0.1), (0.12, 0.68)], 0.018, (0.30, 0.25, 0.2))
        sprite.line([(0.12, 0.66), (0.42, 0.2)], 0.008, (0.30, 0.25, 0.2))
    sprite.polygon(
        [(-0.46, 0.14), (-0.2, 0.11), (0.25, 0.12), (0.54, 0.22), (0.38, -0.05), (-0.40, -0.05)], hull
    )
    sprite.line([(-0.46, 0.14), (-0.2, 0.11), (0.25, 0.12), (0.54, 0.22)], 0.03, (0.9, 0.88, 0.82))
    sprite.polygon([(-0.41, 0.0), (0.42, 0.01), (0.38, -0.05), (-0.40, -0.05)], hull * 0.5)
    sprite.stamp(depth, 0.05)


def balloon(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A hot-air balloon; y is the bottom of its basket."""
    rng = c.rng
    sprite = Sprite(c, x, y, height, (-0.45, -0.02, 0.45, 1.02), "balloon")
    first, second = (jitter(rng, _CLOTH[k], 0.08) for k in rng.choice(len(_CLOTH), 2, replace=False))
    rise = np.linspace(0, 1, 24)
    outline = 0.36 * np.sin(np.pi * rise**0.72) ** 0.72 * (1 - 0.12 * rise) + 0.05 * (1 - rise) ** 3
    heights = 0.22 + 0.78 * rise
    for k, (left, right) in enumerate(
        zip(np.linspace(-1, 1, 9)[:-1], np.linspace(-1, 1, 9)[1:], strict=True)
    ):
        a, b = np.sin(left * np.pi / 2), np.sin(right * np.pi / 2)  # gores narrow towards the rim
        edge = [(a * w, h) for w, h in zip(outline, heights, strict=True)] + [
            (b * w, h) for w, h in zip(outline[::-1], heights[::-1], strict=True)
        ]
        lit = 0.80 + 0.30 * c.light.contrast * c.light.side * (left + right) / 2
        sprite.polygon(edge, (first if k % 2 else second) * lit)
    for side in (-1, 1):
        sprite.line([(side * 0.045, 0.23), (side * 0.045, 0.1)], 0.008, (0.25, 0.2, 0.15))
    sprite.box(-0.055, 0.0, 0.055, 0.11, (0.48, 0.32, 0.18))
    sprite.stamp(depth, 0.02)


def train(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A train running along y; its engine's nose is at x, its carriages trail behind."""
    rng = c.rng
    leftwards = x < c.aspect / 2
    direction = 1 if leftwards else -1  # carriages trail this way
    livery, band = pick(rng, _PAINTS), pick(rng, _PAINTS)
    length = 2.9
    for k in range(int(np.ceil(c.aspect / (length * height))) + 1):
        middle = x + direction * height * length * (k + 0.5)
        c.shadow(middle, y, 0.8 * length * height, 0.4)
        wagon = Sprite(
            c,
            middle,
            y,
            height,
            (-length / 2 - 0.1, -0.05, length / 2 + 0.1, 1.1),
            "train",
            flip=not leftwards,
        )
        half = length / 2 - 0.06
        if k == 0:
            wagon.polygon(
                [(-half, 0.2), (-half + 0.02, 0.5), (-half + 0.5, 0.98), (half, 0.98), (half, 0.2)], livery
            )
            wagon.polygon(
                [(-half + 0.16, 0.58), (-half + 0.48, 0.88), (-half + 0.62, 0.88), (-half + 0.62, 0.58)],
                _GLASS,
            )
        else:
            wagon.box(-half, 0.2, half, 0.96, livery)
        wagon.box(-half, 0.2, half, 0.32, livery * 0.5)
        wagon.box(-half, 0.38, half, 0.47, band)
        wagon.box(-half + (0.5 if k == 0 else 0.0), 0.93, half, 1.0, (0.55, 0.56, 0.58))
        pane = (0.98, 0.88, 0.55) if c.light.dark else tuple(_GLASS)
        for left in np.arange(-half + (0.8 if k == 0 else 0.15), half - 0.3, 0.42):
            wagon.box(left, 0.58, left + 0.28, 0.83, pane)
            if c.light.dark:
                wagon.lamps.append((left + 0.14, 0.7, 0.2))
        for wheel in (-half + 0.35, -half + 0.75, half - 0.75, half - 0.35):
            wagon.ellipse(wheel, 0.12, 0.13, 0.13, _TYRE * 1.5)
        wagon.box(-half - 0.1, 0.22, -half, 0.3, _TYRE)
        wagon.stamp(depth, 0.03)


def tent(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A ridge tent with its door open."""
    rng = c.rng
    cloth = pick(rng, _CLOTH)
    c.shadow(x, y, 2.0 * height, 0.5)
    sprite = Sprite(c, x, y, height, (-1.0, -0.06, 1.5, 1.05), "tent", flip=c.light.side > 0)
    sprite.polygon([(0.0, 1.0), (0.75, 0.88), (1.35, 0.05), (0.7, -0.03)], cloth * 0.68)
    sprite.polygon([(-0.75, 0.0), (0.0, 1.0), (0.7, -0.03)], cloth)
    sprite.polygon([(-0.22, 0.0), (0.0, 0.8), (0.2, -0.01)], cloth * 0.28)
    sprite.polygon([(-0.22, 0.0), (0.0, 0.8), (-0.34, 0.1)], cloth * 1.15)
    sprite.line([(-0.75, 0.0), (-0.98, -0.04)], 0.02, (0.8, 0.78, 0.7))
    sprite.stamp(depth, 0.05)
    if c.light.dark:
        c.glow(x, y - 0.4 * height, 0.7 * height, rgb(0.9, 0.6, 0.25), 0.5)


def umbrella(c: Canvas, x: float, y: float, height: float) -> None:
    """A parasol stuck in the sand."""
    rng = c.rng
    c.shadow(x, y, 0.9 * height, 0.55)
    first, second = pick(rng, _CLOTH), jitter(rng, (0.95, 0.94, 0.90), 0.03)
    sprite = Sprite(c, x, y, height, (-0.75, -0.03, 0.75, 1.1), "umbrella")
    lean = rng.uniform(-0.12, 0.12)
    sprite.line([(0, 0), (lean, 0.98)], 0.03, (0.85, 0.82, 0.76))
    ribs = np.linspace(-1, 1, 8)
    for k, (a, b) in enumerate(itertools.pairwise(ribs)):
        rim = [(0.66 * np.sin(t * np.pi / 2), 0.66 - 0.05 * (1 - abs(t))) for t in np.linspace(a, b, 5)]
        dome = [(0.36 * np.sin(t * np.pi / 2), 0.9) for t in (b, a)]
        tone = (first if k % 2 else second) * (0.85 + 0.2 * c.light.contrast * c.light.side * (a + b) / 2)
        sprite.polygon([(px + lean, py) for px, py in (*rim, dome[0], (0.0, 1.0), dome[1])], tone)
    sprite.ellipse(lean, 1.01, 0.025, 0.03, (0.85, 0.82, 0.76))
    sprite.stamp(0.0, 0.02)
