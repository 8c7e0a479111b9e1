"""What is overhead: sky, sun, moon, stars, clouds, rainbow; and what falls from it."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import rgb
from topicture.demo.scenes.noise import sample, smoothstep

__all__ = ["fog", "rain", "rainbow", "sky"]


def sky(c: Canvas, horizon: float, sun: bool = True) -> None:
    """Paint the sky down to the horizon (and as a ground coat below it) with whatever stands in it."""
    light = c.light
    height = np.clip(c.y / horizon, 0, 1) ** 1.3
    colour = (
        light.zenith + (light.horizon - light.zenith) * np.broadcast_to(height, c.labels.shape)[..., None]
    )
    colour = colour + 0.012 * c.noise(c.tiles.smooth, 0.4, 2.0)[..., None]
    c.paint(np.ones(c.labels.shape, np.float32), colour, "sky")
    if light.dark:
        _stars(c, horizon)
        _moon(c)
    elif light.time != "overcast":
        _sun(c, horizon, sun)
    cover = {"clear": None, "fair": 0.75, "cloudy": 0.05, "rain": -0.8, "fog": None}[light.weather]
    if light.time == "overcast" and light.weather != "fog":
        cover = -0.9 if light.weather == "rain" else c.rng.uniform(-0.8, -0.1)
    if cover is not None and c.rng.random() < 0.35 and light.time in ("day", "golden"):
        _cumulus(c, horizon)
    elif cover is not None:
        _cloud_layer(c, horizon, cover + c.rng.uniform(-0.2, 0.3))


def _sun(c: Canvas, horizon: float, disc: bool) -> None:
    light = c.light
    distance = np.sqrt((c.x - light.sun_x) ** 2 + (c.y - light.sun_y) ** 2)
    warmth = {"day": 0.30, "golden": 0.45, "sunset": 0.55}[light.time]
    c.veil(warmth * np.exp(-distance / 0.28), light.sun)
    # The flat band of colour along the horizon under a low sun.
    if light.time == "sunset":
        band = np.exp(-(((c.y - horizon) / 0.16) ** 2) - ((c.x - light.sun_x) / 0.9) ** 2)
        c.veil(0.35 * band, rgb(1.0, 0.66, 0.30))
    radius = 0.028 if light.time == "sunset" else 0.022
    if disc and light.sun_y < horizon - 0.01 and light.weather != "fog":
        c.veil(0.6 * np.exp(-((distance / (2.4 * radius)) ** 2)), rgb(1.1, 1.05, 0.90))
        edge = np.clip((radius - distance) * c.height + 0.5, 0, 1)
        c.paint(edge, rgb(1.25, 1.20, 1.02), "sun")


def _stars(c: Canvas, horizon: float) -> None:
    if c.light.weather not in ("clear", "fair"):
        return
    places = c.rng.uniform(0, 1, (90, 3))
    rows = (places[:, 0] ** 1.3 * horizon * c.height).astype(int)
    columns = (places[:, 1] * c.width).astype(int)
    for row, column, size in zip(rows, columns, places[:, 2], strict=True):
        # A bright star spreads over its neighbours, a faint one is a single pixel.
        spread = (
            slice(row, row + (2 if size > 0.75 else 1)),
            slice(column, column + (2 if size > 0.75 else 1)),
        )
        ones = np.full(c.labels[spread].shape, 0.45 + 0.5 * size, np.float32)
        c.veil(ones, rgb(0.95, 0.96, 1.0), spread[0].start, spread[1].start)
        c.label(spread, "star")


def _moon(c: Canvas) -> None:
    if c.light.weather in ("rain", "fog") or c.rng.random() < 0.35:
        return
    light, radius = c.light, c.rng.uniform(0.028, 0.05)
    c.glow(light.sun_x, light.sun_y, 3.2 * radius, rgb(0.45, 0.50, 0.62), 0.45)
    distance = np.hypot(c.x - light.sun_x, c.y - light.sun_y)
    disc = np.clip((radius - distance) * c.height + 0.5, 0, 1)
    bite = c.rng.choice([0.0, 0.0, 0.8, 1.2]) * radius  # a full moon, or a crescent
    if bite:
        dark = np.hypot(c.x - light.sun_x - light.side * bite, c.y - light.sun_y + 0.2 * bite)
        disc = disc * np.clip((dark - radius) * c.height + 0.5, 0, 1)
    seas = 0.90 + 0.06 * c.noise(c.tiles.smooth, 2.0)
    c.paint(disc, rgb(1.0, 0.97, 0.86) * seas[..., None], "moon")


def _cloud_colours(c: Canvas) -> tuple[np.ndarray, np.ndarray]:
    """Shaded and sunlit colour of a cloud in this light."""
    light = c.light
    if light.time == "sunset":
        return 0.55 * light.zenith + 0.30 * light.horizon, 0.35 * light.sun + 0.70 * light.horizon
    if light.dark:
        return light.horizon * 0.8, light.horizon * 1.5 + 0.05
    white = rgb(1, 1, 1) * light.tint
    grey = 0.5 if light.weather == "rain" else 0.66
    return grey * light.horizon + (0.80 - grey) * white * 0.8, (
        0.74 if light.time == "overcast" else 1.0
    ) * white


def _cloud_layer(c: Canvas, horizon: float, threshold: float) -> None:
    """A sheet of cloud overhead: it flattens and crowds together towards the horizon."""
    light, rng = c.light, c.rng
    up = np.clip((horizon - c.y) / horizon, 0.0, 1)
    stretch = 1 / (up + 0.22)
    du, dv = rng.uniform(0, 1, 2)
    u, v = (c.x - c.aspect / 2) * stretch * 0.17 + du, stretch * 0.30 + dv
    thick = sample(c.tiles.smooth, u, v) + 0.22 * sample(c.tiles.rough, 1.5 * u, 1.5 * v)
    toward_sun = sample(c.tiles.smooth, u + 0.02 * light.side, v - 0.015)
    softness = 1.8 if light.time == "overcast" else 0.8
    alpha = smoothstep(threshold, threshold + softness, thick) * smoothstep(-0.02, 0.12, up)
    bright = np.clip(0.62 + 0.55 * (thick - toward_sun) - 0.13 * np.maximum(thick - threshold - 0.7, 0), 0, 1)
    dark, white = _cloud_colours(c)
    c.paint(0.95 * alpha, dark + bright[..., None] * (white - dark), "cloud")


def _cumulus(c: Canvas, horizon: float) -> None:
    """Separate heaps with a flat base, smaller towards the horizon."""
    rng = c.rng
    dark, white = _cloud_colours(c)
    for base in np.sort(rng.uniform(0.25, 0.88, rng.integers(2, 6)))[::-1]:
        size = (1.1 - base) * rng.uniform(0.7, 1.2) * horizon
        x0, y0 = rng.uniform(0, c.aspect), base * horizon
        n = rng.integers(9, 15)
        along = rng.uniform(-1, 1, n)
        radius = size * rng.uniform(0.10, 0.22, n) * (1.15 - np.abs(along))
        blobs = np.stack([x0 + along * 0.55 * size, y0 - radius * rng.uniform(0.1, 1.3, n), radius], 1)
        _heap(c, blobs, y0, dark, white)


def _heap(c: Canvas, blobs: np.ndarray, base: float, dark: np.ndarray, white: np.ndarray) -> None:
    reach = 1.5 * blobs[:, 2].max()
    rows, columns = c.window(
        blobs[:, 0].min() - reach, blobs[:, 1].min() - reach, blobs[:, 0].max() + reach, base + 0.03
    )
    x, y = c.x[:, columns], c.y[rows]
    if x.size == 0 or y.size == 0:
        return
    du, dv = c.rng.uniform(0, 1, 2)
    curl = sample(c.tiles.smooth, x * 0.9 + du, y * 0.9 + dv) + 0.3 * sample(c.tiles.rough, x + du, y + dv)
    density = np.zeros(curl.shape, np.float32)
    for cx, cy, radius in blobs:
        density += np.exp(-(((x - cx) / radius) ** 2) - ((y - cy) / radius) ** 2)
    density += 0.16 * curl
    alpha = smoothstep(0.34, 0.62, density) * (1 - smoothstep(base - 0.012, base + 0.012, y + 0.006 * curl))
    top = blobs[:, 1].min() - 0.5 * reach
    bright = np.clip(0.95 - 0.75 * ((y - top) / (base - top)) ** 2 + 0.16 * curl + 0.1 * (1 - density), 0, 1)
    look = dark + bright[..., None] * (white - dark)
    region = c.rgb[rows, columns]
    region += (0.97 * alpha)[..., None] * (look - region)
    c.label((rows, columns), "cloud", alpha > 0.5)


def rainbow(c: Canvas, horizon: float) -> None:
    """An arc opposite the sun, red outside."""
    radius, centre = c.rng.uniform(0.55, 0.8), c.aspect * c.rng.uniform(0.3, 0.7)
    distance = np.hypot(c.x - centre, c.y - horizon - 0.08)
    across = (distance - radius) / 0.055  # 0 inside edge, 1 outside edge
    hues = np.array(
        [[0.55, 0.30, 0.85], [0.25, 0.55, 0.95], [0.30, 0.85, 0.45], [0.98, 0.92, 0.30], [0.98, 0.35, 0.25]]
    )
    place = np.clip(across, 0, 1) * (len(hues) - 1)
    colour = np.stack([np.interp(place, range(len(hues)), hues[:, k]) for k in range(3)], -1).astype(
        np.float32
    )
    band = smoothstep(-0.1, 0.2, across) * (1 - smoothstep(0.8, 1.1, across)) * (c.y < horizon)
    c.veil(0.55 * band, colour)
    c.label((slice(None), slice(None)), "rainbow", band > 0.6)


def fog(c: Canvas, horizon: float) -> None:
    """Lay a bank of mist over the middle distance."""
    c.scene_words.add("fog")
    bank = np.exp(-(((c.y - horizon) / 0.22) ** 2)) * np.clip(
        0.32 + 0.18 * c.noise(c.tiles.smooth, 0.35, 2.5), 0, 0.65
    )
    c.veil(bank, c.light.haze)


def rain(c: Canvas) -> None:
    """Slanted streaks over the whole picture, and the greyness that comes with them."""
    c.scene_words.add("rain")
    slant = c.rng.uniform(-0.25, 0.25)
    du, dv = c.rng.uniform(0, 1, 2)
    streaks = sample(c.tiles.grain, (c.x + slant * c.y) * 0.6 + du, c.y * 0.05 + dv)
    grey = c.rgb.mean(-1, keepdims=True)
    c.rgb += 0.25 * (grey - c.rgb)
    c.veil(0.30 * smoothstep(0.9, 2.2, streaks), c.light.horizon * 0.9 + 0.1)
