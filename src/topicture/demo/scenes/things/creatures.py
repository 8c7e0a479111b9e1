"""Living things: people, horses, cows, sheep, birds."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.sprite import Sprite

__all__ = ["birds", "cow", "horse", "person", "sheep"]

_CLOTHES = (
    (0.78, 0.18, 0.16),
    (0.16, 0.26, 0.52),
    (0.92, 0.90, 0.86),
    (0.18, 0.18, 0.20),
    (0.88, 0.68, 0.18),
    (0.24, 0.48, 0.32),
    (0.45, 0.62, 0.80),
)
_SKIN = ((0.88, 0.70, 0.58), (0.72, 0.52, 0.38), (0.45, 0.30, 0.22))


def person(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """Somebody standing or walking."""
    rng = c.rng
    c.shadow(x, y, 0.35 * height, 0.5)
    top, trousers, skin = pick(rng, _CLOTHES), pick(rng, _CLOTHES) * 0.8, pick(rng, _SKIN)
    stride = rng.uniform(0.02, 0.09)
    sprite = Sprite(c, x, y, height, (-0.25, -0.02, 0.25, 1.03), "person", flip=bool(rng.random() < 0.5))
    for side in (-1, 1):
        foot = side * stride
        sprite.polygon(
            [(-0.07, 0.5), (0.07, 0.5), (foot + 0.045, 0.02), (foot - 0.045, 0.02)],
            trousers * (1 + 0.1 * side),
        )
        sprite.ellipse(foot + 0.02, 0.015, 0.05, 0.02, (0.15, 0.12, 0.10))
    if rng.random() < 0.4:  # a coat or dress
        sprite.polygon([(-0.09, 0.6), (0.09, 0.6), (0.14, 0.28), (-0.14, 0.28)], top)
    sprite.polygon([(-0.11, 0.82), (0.11, 0.82), (0.09, 0.47), (-0.09, 0.47)], top)
    for side in (-1, 1):
        hand = (side * rng.uniform(0.12, 0.18), 0.47)
        sprite.line([(side * 0.10, 0.79), (side * 0.15, 0.63), hand], 0.055, top * 0.85)
        sprite.ellipse(*hand, 0.025, 0.025, skin)
    sprite.box(-0.03, 0.80, 0.03, 0.88, skin)
    sprite.ellipse(0.0, 0.925, 0.062, 0.072, skin)
    hair = pick(rng, ((0.15, 0.10, 0.08), (0.45, 0.30, 0.15), (0.75, 0.60, 0.35)))
    sprite.polygon(
        [
            (-0.065, 0.91),
            (-0.055, 0.99),
            (0, 1.01),
            (0.055, 0.985),
            (0.06, 0.945),
            (0.0, 0.965),
            (-0.04, 0.93),
        ],
        hair,
    )
    sprite.stamp(depth, 0.03)


def _legs(sprite: Sprite, places: tuple[float, ...], top: float, width: float, colour: np.ndarray) -> None:
    for k, place in enumerate(places):
        tone = colour * (0.72 if k % 2 else 1.0)  # the far pair is in shade
        sprite.polygon(
            [(place - width, top), (place + width, top), (place + 0.5 * width, 0), (place - 0.5 * width, 0)],
            tone,
        )
        sprite.box(place - 0.6 * width, 0, place + 0.6 * width, 0.05, colour * 0.45)


def horse(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A horse standing or grazing, seen from the side."""
    rng = c.rng
    c.shadow(x, y, 0.95 * height, 0.5)
    coat = pick(rng, ((0.42, 0.24, 0.13), (0.22, 0.15, 0.11), (0.58, 0.40, 0.24), (0.80, 0.78, 0.74)))
    mane = coat * 0.45 if coat.mean() < 0.6 else coat * 0.85
    sprite = Sprite(c, x, y, height, (-0.75, -0.03, 0.85, 1.1), "horse", flip=bool(rng.random() < 0.5))
    _legs(sprite, (-0.34, -0.26, 0.24, 0.32), 0.5, 0.055, coat)
    sprite.line([(-0.42, 0.66), (-0.52, 0.5), (-0.5, 0.25)], 0.06, mane)
    sprite.ellipse(-0.24, 0.57, 0.21, 0.17, coat)
    sprite.ellipse(0.2, 0.57, 0.2, 0.165, coat)
    sprite.polygon([(-0.3, 0.73), (0.25, 0.72), (0.25, 0.42), (-0.25, 0.43)], coat)
    sprite.polygon([(-0.2, 0.46), (0.2, 0.46), (0.15, 0.41), (-0.15, 0.41)], coat * 0.7)
    if rng.random() < 0.45:  # grazing
        sprite.polygon([(0.2, 0.72), (0.38, 0.6), (0.6, 0.22), (0.52, 0.14), (0.3, 0.45)], coat)
        sprite.polygon([(0.5, 0.24), (0.62, 0.26), (0.66, 0.05), (0.58, 0.02)], coat * 0.95)
        sprite.line([(0.22, 0.74), (0.42, 0.58), (0.6, 0.26)], 0.05, mane)
    else:
        sprite.polygon([(0.12, 0.72), (0.36, 0.52), (0.56, 0.9), (0.46, 1.0)], coat)
        sprite.polygon([(0.44, 0.99), (0.56, 1.0), (0.76, 0.8), (0.70, 0.74), (0.52, 0.84)], coat * 0.97)
        sprite.polygon([(0.46, 0.98), (0.48, 1.07), (0.53, 0.99)], coat)
        sprite.line([(0.14, 0.74), (0.3, 0.88), (0.47, 1.0)], 0.06, mane)
    sprite.stamp(depth, 0.05)


def cow(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A cow, brown or pied."""
    rng = c.rng
    c.shadow(x, y, 1.1 * height, 0.5)
    pied = rng.random() < 0.55
    coat = (
        rgb(0.92, 0.90, 0.86)
        if pied
        else pick(rng, ((0.55, 0.34, 0.18), (0.68, 0.50, 0.32), (0.30, 0.20, 0.15)))
    )
    sprite = Sprite(c, x, y, height, (-0.85, -0.03, 0.95, 1.1), "cow", flip=bool(rng.random() < 0.5))
    _legs(sprite, (-0.42, -0.32, 0.28, 0.38), 0.45, 0.07, coat)
    sprite.polygon(
        [(-0.55, 0.84), (0.45, 0.86), (0.52, 0.6), (0.42, 0.38), (-0.45, 0.38), (-0.58, 0.6)], coat
    )
    sprite.ellipse(-0.25, 0.38, 0.09, 0.06, (0.86, 0.66, 0.60))
    if pied:
        dark = pick(rng, ((0.12, 0.11, 0.11), (0.42, 0.24, 0.14)))
        for _ in range(rng.integers(3, 5)):
            px, py = rng.uniform(-0.38, 0.32), rng.uniform(0.52, 0.72)
            sprite.ellipse(px, py, rng.uniform(0.07, 0.16), rng.uniform(0.06, 0.11), dark)
        head = dark
    else:
        head = coat * 0.9
    sprite.line([(-0.56, 0.82), (-0.62, 0.6), (-0.6, 0.35)], 0.03, coat * 0.7)
    drop = 0.45 if rng.random() < 0.4 else 0.0
    sprite.polygon([(0.38, 0.86), (0.62, 0.92 - drop), (0.62, 0.7 - drop), (0.45, 0.5)], head)
    sprite.polygon(
        [
            (0.56, 0.95 - drop),
            (0.72, 0.93 - drop),
            (0.84, 0.66 - drop),
            (0.72, 0.58 - drop),
            (0.6, 0.68 - drop),
        ],
        head,
    )
    sprite.ellipse(0.78, 0.62 - drop, 0.06, 0.05, (0.82, 0.64, 0.58))
    sprite.line([(0.6, 0.95 - drop), (0.56, 1.04 - drop)], 0.03, (0.85, 0.8, 0.7))
    sprite.line([(0.68, 0.95 - drop), (0.72, 1.04 - drop)], 0.03, (0.85, 0.8, 0.7))
    sprite.stamp(depth, 0.05)


def sheep(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A woolly sheep."""
    rng = c.rng
    c.shadow(x, y, 1.1 * height, 0.5)
    face = pick(rng, ((0.15, 0.13, 0.12), (0.80, 0.76, 0.68)))
    flip = bool(rng.random() < 0.5)
    legs = Sprite(c, x, y, height, (-0.6, -0.03, 0.6, 0.6), "sheep", flip)
    _legs(legs, (-0.3, -0.2, 0.2, 0.3), 0.45, 0.05, face)
    legs.stamp(depth)
    wool = jitter(rng, (0.93, 0.90, 0.83), 0.05)
    places = np.array(
        [[-0.3, 0.6], [-0.12, 0.66], [0.1, 0.66], [0.28, 0.6], [-0.2, 0.46], [0.15, 0.45], [0.0, 0.55]]
    )
    blobs = np.stack([x + height * places[:, 0], y - height * places[:, 1], np.full(7, 0.23 * height)], 1)
    c.puffs(blobs, wool, "sheep", depth, rough=0.25, leaf=0.7)
    head = Sprite(c, x, y, height, (0.2, 0.2, 0.75, 1.0), "sheep", flip)
    head.ellipse(0.5, 0.68, 0.13, 0.10, face)
    head.polygon([(0.45, 0.74), (0.63, 0.66), (0.62, 0.52), (0.52, 0.5)], face)
    head.ellipse(0.4, 0.76, 0.08, 0.035, face * 0.9)
    head.stamp(depth)


def birds(c: Canvas, horizon: float, count: int, size: float) -> None:
    """A loose flock in the air."""
    rng = c.rng
    pale = rng.random() < 0.35 and not c.light.dark
    tone = rgb(0.94, 0.94, 0.95) if pale else rgb(0.14, 0.14, 0.16)
    middle = np.array([c.aspect * rng.uniform(0.25, 0.75), horizon * rng.uniform(0.25, 0.65)])
    for _ in range(count):
        px, py = middle + rng.uniform(-1, 1, 2) * np.array([0.28, 0.12]) * min(count, 5) / 3
        scale, lift = size * rng.uniform(0.7, 1.2), rng.uniform(0.1, 0.45)
        sprite = Sprite(c, px, py, scale, (-1.1, -0.4, 1.1, 0.7), "bird", flip=bool(rng.random() < 0.5))
        for side in (-1, 1):
            wing = [
                (0.08 * side, 0.0),
                (0.45 * side, lift + 0.1),
                (side, lift * 0.7),
                (0.5 * side, lift - 0.12),
                (0.1 * side, -0.16),
            ]
            sprite.polygon(wing, tone * (0.9 if side < 0 else 1.0))
        sprite.ellipse(0.0, -0.06, 0.2, 0.12, tone)
        sprite.polygon([(0.1, -0.05), (0.32, 0.02), (0.14, 0.06)], tone)
        sprite.stamp(0.0, 0.0, lit=pale)
