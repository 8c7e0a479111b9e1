"""What stands along the horizon: mountains, hills, woods, islands."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.noise import profile, smoothstep

__all__ = ["hills", "island", "mountains", "woods"]

GREENS = ((0.33, 0.47, 0.18), (0.28, 0.42, 0.20), (0.42, 0.50, 0.20), (0.36, 0.52, 0.24))
AUTUMN = ((0.72, 0.42, 0.12), (0.78, 0.55, 0.16), (0.62, 0.28, 0.12), (0.55, 0.45, 0.18))
CONIFER = ((0.13, 0.24, 0.15), (0.16, 0.28, 0.16), (0.12, 0.22, 0.18))
_STONES = ((0.46, 0.43, 0.42), (0.52, 0.45, 0.38), (0.38, 0.40, 0.45), (0.50, 0.40, 0.34))


def mountains(
    c: Canvas, base: float, height: float, depth: float, snow: float = 0.5, stone: np.ndarray | None = None
) -> None:
    """A range with its foot at y = base; `snow` is the share of its height under snow."""
    rng, light = c.rng, c.light
    stone = pick(rng, _STONES) if stone is None else stone
    rise, peak, offset = _peaks(c, height)
    top = (base - rise)[None, :]
    rough, folds = c.noise(c.tiles.rough, 0.5), c.noise(c.tiles.smooth, 0.8)
    # Each peak has a lit and a shaded flank; their borders wander as they come down from the ridge line.
    drop = np.clip(c.y - top, 0, None)
    wander = (0.20 * np.sin(peak * 2.4 + 1.0)[None, :] + 0.32 * folds + 0.08 * rough) * drop
    column = np.clip(np.arange(c.width)[None, :] + wander * c.height, 0, c.width - 1).astype(int)
    spur = offset[column] / (0.012 + 0.12 * drop)
    facing = np.tanh(1.8 * spur + 0.4 * rough) * light.side
    shade = 0.84 + 0.36 * light.contrast * facing + 0.09 * rough
    elevation = np.clip((base - c.y) / height, 0, 1.4)
    green = smoothstep(0.55, 0.15, elevation + 0.08 * rough + 0.08 * folds)[..., None] * 0.85
    colour = stone + green * (jitter(rng, (0.24, 0.34, 0.19), 0.12) - stone)
    alpha = c.below(top) * (c.y < base + 0.10)  # the ground, painted later, covers the foot
    c.paint(alpha, c.lit(colour, np.clip(shade, 0.25, 1.3), depth), "mountain")
    if snow > 0:
        line = 1.02 - snow
        white = (
            smoothstep(line - 0.04, line + 0.05, elevation + 0.07 * rough + 0.06 * folds - 0.05 * facing)
            * alpha
        )
        tone = rgb(0.84, 0.89, 0.98) + rgb(0.13, 0.09, 0.0) * np.clip(facing, 0, 1)[..., None]
        brightness = np.clip(0.88 + 0.22 * light.contrast * facing + 0.02 * rough, 0.5, 1.1)
        c.paint(0.97 * white, c.lit(tone, brightness, 0.7 * depth), "snow")


def _peaks(c: Canvas, height: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A ridge line: rise above the foot, the peak a column belongs to, distance from its summit; each (W,)."""
    rng, x = c.rng, c.x[0]
    n = int(rng.integers(4, 8))
    summit = np.linspace(-0.05, 1.05, n) * c.aspect + rng.uniform(-0.13, 0.13, n)
    tall = height * rng.uniform(0.5, 1.0, n)
    tall[rng.integers(n)] = height
    steep = rng.uniform(0.55, 1.05, n)
    offset = x[None, :] - summit[:, None]
    cones = tall[:, None] - steep[:, None] * np.sqrt(offset**2 + 1e-4) * (0.6 + height)
    peak = cones.argmax(0)
    columns = np.arange(x.size)
    jagged = profile(rng, x, 5.0, 5)
    rise = np.maximum(cones[peak, columns], 0.30 * height) + 0.16 * height * jagged
    return rise.astype(np.float32), peak, offset[peak, columns].astype(np.float32)


def hills(
    c: Canvas, base: float, height: float, depth: float, colour: np.ndarray | None = None, word: str = "hill"
) -> None:
    """One rolling layer with its crest about y = base - height, reaching down to the bottom."""
    rng = c.rng
    colour = pick(rng, GREENS) if colour is None else colour
    rise = height * (0.55 + 0.45 * profile(rng, c.x[0], rng.uniform(0.6, 1.2), 3))
    top = (base - rise)[None, :]
    slope = np.gradient(rise)[None, :] * c.height
    patches, rough = c.noise(c.tiles.smooth, 0.8, 2.2), c.noise(c.tiles.grain, 0.5, 1.6)
    shade = 0.88 - 0.5 * c.light.contrast * c.light.side * slope + 0.09 * patches + 0.05 * rough
    shade = shade + 0.10 * np.exp(-(c.y - top) / 0.05) - 0.25 * np.clip(c.y - top, 0, 0.3)
    hue = 1 + patches[..., None] * rgb(0.10, 0.02, -0.08)
    c.paint(c.below(top), c.lit(colour * hue, np.clip(shade, 0.3, 1.3), depth), word)


def woods(
    c: Canvas,
    base: float,
    height: float,
    depth: float,
    kind: str = "mixed",
    span: tuple[float, float] | None = None,
    word: str = "forest",
) -> None:
    """A belt of trees standing on y = base, of a kind: "conifer", "leafy", "autumn" or "mixed"; over a span of x."""
    rng = c.rng
    left, right = span or (-0.1, c.aspect + 0.1)
    n = int(np.clip((right - left) / (0.20 * height), 10, 120))
    centre = np.linspace(left, right, n) + rng.uniform(-0.7, 0.7, n) * (right - left) / n
    tall = height * rng.uniform(0.45, 1.1, n)
    pointed = {"conifer": 1.0, "leafy": 0.0, "autumn": 0.15, "mixed": 0.5}[kind] > rng.random(n)
    half = np.where(pointed, 0.22, 0.36) * (0.35 * height + 0.65 * tall) * rng.uniform(0.8, 1.25, n)
    palette = AUTUMN if kind == "autumn" else GREENS
    colours = np.stack([pick(rng, CONIFER if p else palette, 0.18) * (1.0 if p else 0.82) for p in pointed])
    offset = (c.x[0][None, :] - centre[:, None]) / half[:, None]  # (n, W)
    dome = np.sqrt(np.maximum(1 - offset**2, 0)) * 0.6 + 0.4
    reach = np.where(
        np.abs(offset) < 1, np.where(pointed[:, None], 1 - np.abs(offset) * 0.8, dome) * tall[:, None], 0
    )
    front, columns = reach.argmax(0), np.arange(c.width)
    crown = np.maximum(reach[front, columns], 0.22 * height)  # undergrowth closes the gaps
    grain, rough, clumps = (
        c.noise(c.tiles.grain, 0.6),
        c.noise(c.tiles.rough, 1.0),
        c.noise(c.tiles.smooth, 2.0),
    )
    top = base - crown[None, :] + 0.05 * height * grain
    alpha = c.below(top) * (1 - c.below(base + 0.006 * rough)) * ((c.x > left) & (c.x < right))
    flank = np.clip(offset[front, columns], -1, 1)[None, :] * c.light.side
    lift = np.clip((base - c.y) / crown[None, :], 0, 1)  # 1 at each tree's own top
    shade = 0.42 + 0.42 * lift**1.5 + 0.26 * c.light.contrast * flank * lift + 0.15 * grain + 0.10 * clumps
    c.paint(alpha, c.lit(colours[front][None, :, :], np.clip(shade, 0.16, 1.35), depth), word)


def island(c: Canvas, waterline: float, x: float, width: float, depth: float) -> None:
    """A wooded or rocky hump in the sea."""
    rng = c.rng
    inside = np.clip(1 - ((c.x[0] - x) / (0.5 * width)) ** 2, 0, 1)
    rise = width * 0.30 * inside**0.8 * (0.75 + 0.45 * profile(rng, c.x[0], 3.5, 4))
    rough, grain = c.noise(c.tiles.rough, 0.9), c.noise(c.tiles.grain, 0.6)
    top = (waterline - rise)[None, :] + 0.004 * grain * (inside > 0.05)
    green, stone = pick(rng, GREENS) * 0.8, pick(rng, _STONES)
    low = smoothstep(0.05, 0.02, waterline - c.y + 0.012 * rough)[..., None]
    slope = np.gradient(rise)[None, :] * c.height
    shade = 0.80 - 0.3 * c.light.contrast * c.light.side * np.tanh(2 * slope) + 0.14 * grain + 0.1 * rough
    alpha = c.below(top) * (1 - c.below(waterline)) * (inside > 0)
    c.paint(alpha, c.lit(green + low * (stone - green), np.clip(shade, 0.2, 1.3), depth), "island")
