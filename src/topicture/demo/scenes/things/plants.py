"""Things that grow, and the stones among them."""

import itertools

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.sprite import Sprite
from topicture.demo.scenes.things.horizon import AUTUMN, CONIFER, GREENS

__all__ = ["bush", "cactus", "conifer", "flower_bed", "flowers", "palm", "rock", "tree"]

_BARK = ((0.32, 0.24, 0.17), (0.26, 0.20, 0.16), (0.42, 0.36, 0.30))
_PETALS = (
    (0.90, 0.22, 0.24),
    (0.95, 0.80, 0.20),
    (0.94, 0.93, 0.90),
    (0.72, 0.34, 0.72),
    (0.96, 0.55, 0.68),
    (0.36, 0.40, 0.85),
)


def tree(c: Canvas, x: float, y: float, height: float, depth: float = 0.0, autumn: bool = False) -> None:
    """A broad-leaved tree standing at (x, y)."""
    rng = c.rng
    c.shadow(x, y, 0.75 * height, 0.5)
    bark = pick(rng, _BARK)
    trunk = Sprite(c, x, y, height, (-0.3, -0.03, 0.3, 0.75), "tree")
    lean = rng.uniform(-0.05, 0.05)
    trunk.polygon([(-0.055, -0.02), (0.055, -0.02), (0.03 + lean, 0.6), (-0.03 + lean, 0.6)], bark)
    for side in (-1, 1):
        trunk.line([(lean * 0.6, 0.32), (side * 0.2 + lean, 0.6)], 0.03, bark * 0.9)
    trunk.stamp(depth, 0.2)
    slim = rng.uniform(0.75, 1.2)
    n = int(rng.integers(9, 14))
    angle, spread = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0, 1, n))
    blobs = np.stack(
        [
            x + height * (lean + 0.27 * slim * spread * np.cos(angle)),
            y - height * (0.64 + 0.22 * spread * np.sin(angle)),
            height * rng.uniform(0.12, 0.20, n),
        ],
        1,
    )
    colour = pick(rng, AUTUMN if autumn else GREENS, 0.15)
    c.puffs(blobs, colour, "tree", depth, rough=0.55, leaf=float(np.clip(0.2 / height, 0.35, 0.7)))


def conifer(c: Canvas, x: float, y: float, height: float, depth: float = 0.0, snowy: bool = False) -> None:
    """A fir: tiers of drooping branches, powdered with snow in winter."""
    rng = c.rng
    c.shadow(x, y, 0.5 * height, 0.5)
    green = pick(rng, CONIFER, 0.15) * 1.1
    sprite = Sprite(c, x, y, height, (-0.36, -0.03, 0.36, 1.02), "tree")
    sprite.box(-0.03, -0.02, 0.03, 0.2, pick(rng, _BARK))
    tiers = 7
    for k in range(tiers):
        low, high = 0.10 + 0.85 * k / tiers * 0.95, min(1.0, 0.10 + 0.85 * (k + 2.1) / tiers)
        half = 0.27 * (1 - k / tiers) ** 0.9 + 0.02
        teeth = np.linspace(-half, half, 9)
        sag = low - 0.03 + 0.05 * (np.abs(teeth) / half) * -1 + rng.uniform(-0.02, 0.02, 9)
        skirt = [
            (float(tx), float(ty) + (0.035 if i % 2 else 0))
            for i, (tx, ty) in enumerate(zip(teeth, sag, strict=True))
        ]
        sprite.polygon([*skirt, (0.0, high)], green * (0.8 + 0.4 * k / tiers))
        lit_side = float(c.light.side) * half
        sprite.polygon(
            [(lit_side * 0.9, low - 0.04), (lit_side * 0.3, low - 0.01), (0, high)],
            green * (1.0 + 0.4 * k / tiers),
        )
        if snowy:
            drift = np.array(
                [(-0.8, 0.05), (-0.2, 0.2), (0.3, 0.1), (0.85, 0.0), (0.2, 0.6), (0.0, 1.0), (-0.3, 0.5)]
            )
            sprite.polygon([(half * a, low + (high - low) * b) for a, b in drift], rgb(0.93, 0.95, 0.98))
    sprite.stamp(depth, 0.18)


def bush(
    c: Canvas,
    x: float,
    y: float,
    size: float,
    word: str,
    colour: np.ndarray | None = None,
    depth: float = 0.0,
) -> None:
    """A round shrub or heap of leaves."""
    rng = c.rng
    colour = pick(rng, GREENS, 0.15) if colour is None else colour
    n = 6
    blobs = np.stack(
        [
            x + size * rng.uniform(-0.4, 0.4, n),
            y - size * rng.uniform(0.15, 0.45, n),
            size * rng.uniform(0.2, 0.32, n),
        ],
        1,
    )
    c.shadow(x, y, size, 0.4)
    c.puffs(blobs, colour, word, depth, rough=0.5, leaf=0.6)


def palm(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A leaning palm."""
    rng = c.rng
    c.shadow(x, y, 0.4 * height, 0.45)
    sprite = Sprite(c, x, y, height, (-0.75, -0.03, 0.95, 1.25), "palm", flip=bool(rng.random() < 0.5))
    bark, leaf = jitter(rng, (0.45, 0.36, 0.26), 0.1), jitter(rng, (0.24, 0.42, 0.16), 0.15)
    lean = rng.uniform(0.05, 0.3)
    stem = [(lean * t**1.6, 0.9 * t) for t in np.linspace(0, 1, 8)]
    for (ax, ay), (bx, by) in itertools.pairwise(stem):
        width = 0.035 - 0.018 * ay
        sprite.polygon(
            [(ax - width, ay), (ax + width, ay), (bx + width * 0.9, by), (bx - width * 0.9, by)],
            bark * rng.uniform(0.85, 1.1),
        )
    for angle in np.linspace(-0.5, np.pi + 0.5, 10) + rng.uniform(-0.12, 0.12, 10):
        _frond(sprite, (lean, 0.9), float(angle), rng.uniform(0.36, 0.5), leaf * rng.uniform(0.7, 1.35))
    sprite.ellipse(lean, 0.89, 0.035, 0.03, bark * 0.7)
    sprite.stamp(depth, 0.1)


def _frond(
    sprite: Sprite, base: tuple[float, float], angle: float, length: float, colour: np.ndarray
) -> None:
    """One arching leaf, with a ragged underside."""
    t = np.linspace(0, 1, 9)
    px = base[0] + length * t * np.cos(angle)
    py = base[1] + length * (t * (0.35 + 0.65 * np.sin(angle)) - 0.75 * t**2)
    width = 0.07 * np.sin(np.pi * np.clip(t + 0.08, 0, 1))
    lower = [
        (float(a), float(b - w * (1.5 if i % 2 else 0.5)))
        for i, (a, b, w) in enumerate(zip(px, py, width, strict=True))
    ]
    upper = [(float(a), float(b + 0.35 * w)) for a, b, w in zip(px, py, width, strict=True)]
    sprite.polygon(upper + lower[::-1], colour)


def cactus(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A saguaro with one to three arms."""
    rng = c.rng
    c.shadow(x, y, 0.5 * height, 0.5)
    green = jitter(rng, (0.33, 0.45, 0.24), 0.12)
    sprite = Sprite(c, x, y, height, (-0.5, -0.03, 0.5, 1.05), "cactus")
    limbs = [([(0, 0), (0, 0.92)], 0.17)]
    for side in rng.permutation([-1, 1])[: rng.integers(1, 3)]:
        elbow, out = rng.uniform(0.3, 0.55), side * rng.uniform(0.22, 0.34)
        limbs.append(([(0, elbow), (out, elbow + 0.02), (out, elbow + rng.uniform(0.2, 0.38))], 0.11))
    for points, width in limbs:
        sprite.line(points, width, green * 0.85)
        tip = points[-1]
        sprite.ellipse(tip[0], tip[1], width / 2, width / 2, green * 0.85)
        for px, _ in points[1:-1]:
            sprite.ellipse(px, points[1][1], width / 2, width / 2, green * 0.85)
        lit = c.light.side * width * 0.18
        sprite.line([(px + lit, py) for px, py in points], width * 0.4, green * 1.25)
        sprite.line([(px - lit * 1.6, py) for px, py in points], width * 0.08, green * 0.55)
    sprite.stamp(depth, 0.12)


def flowers(c: Canvas, area: tuple[float, float, float, float], count: int, size: float) -> None:
    """Blossoms strewn over a box (x0, y0, x1, y1), larger towards its lower edge."""
    rng = c.rng
    x0, y0, x1, y1 = area
    petals = [pick(rng, _PETALS, 0.1) for _ in range(rng.integers(1, 4))]
    sprite = Sprite(c, 0, 0, 1.0, (x0 - 0.05, -y1 - 0.05, x1 + 0.05, -y0 + 0.05), "flower")
    near = np.sort(rng.uniform(0, 1, count))
    for t, px in zip(near, rng.uniform(x0, x1, count), strict=True):
        radius = size * (0.35 + 0.65 * t) * rng.uniform(0.7, 1.2)
        py, colour = -(y0 + (y1 - y0) * t), petals[rng.integers(len(petals))]
        sprite.line([(px, py - 2.2 * radius), (px, py)], 0.3 * radius, (0.22, 0.38, 0.14))
        for angle in np.linspace(0, 2 * np.pi, 6)[:-1] + rng.uniform(0, 1):
            tone = colour * rng.uniform(0.8, 1.1)
            sprite.ellipse(
                px + 0.6 * radius * np.cos(angle),
                py + 0.5 * radius * np.sin(angle),
                0.52 * radius,
                0.45 * radius,
                tone,
            )
        sprite.ellipse(
            px, py, 0.3 * radius, 0.26 * radius, (0.90, 0.72, 0.18) if colour[2] > 0.3 else (0.35, 0.22, 0.12)
        )
    sprite.stamp(0.0, 0.10)


def flower_bed(c: Canvas, area: tuple[float, float, float, float]) -> None:
    """Leafy plants in bloom over a box (x0, y0, x1, y1)."""
    rng = c.rng
    x0, y0, x1, y1 = area
    n = 22
    down = np.sort(rng.uniform(0, 1, n))
    blobs = np.stack([rng.uniform(x0, x1, n), y0 + (y1 - y0) * down, 0.028 + 0.03 * down], 1)
    c.puffs(blobs, jitter(rng, (0.24, 0.40, 0.17), 0.15), "flower", rough=0.7, leaf=0.6)
    flowers(c, (x0, y0 - 0.01, x1, y1), int(rng.integers(40, 80)), rng.uniform(0.018, 0.03))


def rock(
    c: Canvas, x: float, y: float, size: float, depth: float = 0.0, colour: np.ndarray | None = None
) -> None:
    """A boulder: facets of an irregular outline, lit from the sun's side."""
    rng = c.rng
    colour = (
        pick(rng, ((0.48, 0.46, 0.44), (0.40, 0.36, 0.33), (0.56, 0.48, 0.40))) if colour is None else colour
    )
    c.shadow(x, y, 1.1 * size, 0.5)
    n = 9
    angle = np.linspace(0, np.pi, n)
    radius = rng.uniform(0.75, 1.05, n)
    rim = np.stack([0.55 * radius * np.cos(angle), 0.55 * radius * np.sin(angle) * rng.uniform(0.8, 1.2)], 1)
    rim[[0, -1], 1] = -0.03
    heart = np.array([rng.uniform(-0.1, 0.1), rng.uniform(0.15, 0.28)])
    sprite = Sprite(c, x, y, size, (-0.65, -0.06, 0.65, 0.8), "rock")
    sprite.polygon([tuple(p) for p in rim], colour * 0.7)
    for a, b in itertools.pairwise(rim):
        middle = (a + b) / 2 - heart
        facing = (c.light.side * middle[0] + 0.8 * middle[1]) / (np.hypot(*middle) + 1e-6)
        tone = colour * (0.80 + 0.38 * c.light.contrast * facing + rng.uniform(-0.06, 0.06))
        sprite.polygon([tuple(a), tuple(b), tuple(heart)], tone)
    sprite.polygon([tuple(rim[0]), tuple(heart), tuple(rim[-1])], colour * 0.66)
    sprite.stamp(depth, 0.2)
