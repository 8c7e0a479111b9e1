"""What lies underfoot: water, grass, sand, snow, ploughed fields, and the ribbons that cross them."""

from typing import NamedTuple

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.noise import profile, sample, smoothstep

__all__ = ["Ribbon", "beach", "field", "grass", "mirror", "ribbon", "rows_below", "sand", "sea", "snowfield"]


_CYCLES = 60  # a tile's texture lies mostly below this many cycles a period


class _Plane(NamedTuple):
    """The ground seen in perspective; arrays cover the rows from `top` to the bottom of the picture."""

    top: int
    along: np.ndarray  # (h, 1) distance from the camera, 1 at the picture's lower edge
    across: np.ndarray  # (h, W) sideways distance in the same unit
    near: np.ndarray  # (h, 1) 0 at the horizon, 1 at the lower edge
    depth: np.ndarray  # (h, 1) for the haze
    footprint: np.ndarray  # (h, 1) length of ground under one pixel


def _plane(c: Canvas, horizon: float, top: float) -> _Plane:
    first = int(np.clip(top * c.height, 0, c.height - 1))
    near = np.clip((c.y[first:] - horizon) / (1 - horizon), 0.012, None)
    along = 1 / near
    footprint = along**2 / ((1 - horizon) * c.height)
    return _Plane(first, along, (c.x - c.aspect / 2) * along, near, 0.07 / (near + 0.07), footprint)


def _ground_noise(
    c: Canvas, tile: np.ndarray, plane: _Plane, scale: float, stretch: float = 1.0
) -> np.ndarray:
    """Texture lying on the plane; it fades out where it would be finer than the pixels."""
    du, dv = c.rng.uniform(0, 1, 2)
    texture = sample(tile, plane.across * scale / stretch + du, plane.along * scale + dv)
    return texture / (1 + (_CYCLES * scale * plane.footprint) ** 1.5)


def rows_below(c: Canvas, edge: np.ndarray | float, top: int) -> np.ndarray:
    """Mask (h, W) of what lies below an edge y(x), for the rows from `top` on."""
    return c.below(edge)[top:]


# --- Water ----------------------------------------------------------------------------------
_DEEP = ((0.06, 0.25, 0.42), (0.05, 0.33, 0.42), (0.10, 0.22, 0.30), (0.08, 0.40, 0.50))


def sea(c: Canvas, horizon: float, deep: np.ndarray | None = None, choppy: float = 1.0) -> None:
    """Open water from the horizon down: sky reflected at a grazing angle, swell, glitter under the sun."""
    light, rng = c.light, c.rng
    plane = _plane(c, horizon, horizon)
    deep = pick(rng, _DEEP) if deep is None else deep
    mirror_sky = 0.62 * light.horizon + 0.38 * light.zenith
    fresnel = np.clip(0.95 - 0.95 * plane.near**0.55, 0.12, 0.95)[..., None]
    water = c.lit(deep)
    colour = water + fresnel * (mirror_sky * 0.93 - water)
    swell = _ground_noise(c, c.tiles.rough, plane, 0.22, 3.5) + 0.8 * _ground_noise(
        c, c.tiles.rough, plane, 0.07, 4.0
    )
    brightness = 0.10 * choppy * (0.3 + 0.7 * float(light.tint.mean()))
    colour = colour + brightness * swell[..., None] * (0.5 * mirror_sky + 0.4)
    sheet = np.broadcast_to(c.below(horizon)[plane.top :], swell.shape)
    c.paint(sheet, colour, "sea", plane.top)
    # Whitecaps on the crests, then the sun's path.
    caps = smoothstep(2.1, 2.6, swell * choppy) * plane.near**0.3
    c.veil(0.6 * caps, c.lit(rgb(0.95, 0.97, 1.0)), plane.top)
    if light.time in ("golden", "sunset", "night") and light.weather in ("clear", "fair"):
        sparkle = _ground_noise(c, c.tiles.grain, plane, 0.35, 3.0) + 0.5 * swell
        path = np.exp(-(((c.x - light.sun_x) / (0.05 + 0.16 * plane.near)) ** 2))
        c.veil(path * (0.18 + 0.8 * smoothstep(0.2, 1.2, sparkle)) * 0.75, light.sun, plane.top)


def mirror(c: Canvas, alpha: np.ndarray, waterline: float, word: str, calm: float = 0.75) -> None:
    """Still water where alpha (H, W) is high: the picture above the waterline upside down, rippled and darkened."""
    light = c.light
    top = int(np.clip(waterline * c.height, 1, c.height - 2))
    drop = c.y[top:] - waterline
    ripple = sample(c.tiles.rough, c.x * 0.35 + c.rng.uniform(), c.y[top:] ** 0.7 * 2.5 + c.rng.uniform())
    ripple = ripple * (0.010 + 0.10 * drop) * (1.3 - calm)
    rows = np.clip((waterline - drop * 1.05 + 0.5 * ripple) * c.height, 0, top - 1).astype(int)
    columns = np.clip(np.arange(c.width)[None, :] + ripple * 0.5 * c.height, 0, c.width - 1).astype(int)
    image = c.rgb[rows, columns]
    body = c.lit(jitter(c.rng, (0.10, 0.26, 0.30), 0.2))
    mix = np.clip(0.85 * calm - 0.5 * drop, 0.25, 0.9)[..., None]
    colour = body + mix * (image * 0.92 - body)
    colour = colour + 0.9 * ripple[..., None] * light.horizon
    shore = np.exp(-drop / 0.006)[..., None]
    c.paint(alpha[top:], colour * (1 - 0.25 * shore), word, top)


# --- Land -----------------------------------------------------------------------------------
_GRASS = ((0.42, 0.54, 0.22), (0.36, 0.49, 0.22), (0.52, 0.57, 0.26), (0.62, 0.58, 0.32), (0.34, 0.48, 0.26))
_SAND = ((0.86, 0.74, 0.52), (0.80, 0.66, 0.44), (0.90, 0.82, 0.66), (0.84, 0.62, 0.40))


def grass(c: Canvas, horizon: float, edge: np.ndarray | float, colour: np.ndarray | None = None) -> None:
    """A meadow below an edge y(x): broad patches far away, blades at one's feet."""
    plane = _plane(c, horizon, float(np.min(edge)) - 0.01)
    colour = pick(c.rng, _GRASS) if colour is None else colour
    broad = _ground_noise(c, c.tiles.smooth, plane, 0.10, 1.5)
    tufts = _ground_noise(c, c.tiles.grain, plane, 0.35, 1.2)
    blades = (
        sample(c.tiles.grain, c.x * 0.75 + c.rng.uniform(), c.y[plane.top :] * 0.16 + c.rng.uniform())
        * plane.near
    )
    shade = (
        0.86
        + 0.10 * broad
        + 0.14 * tufts * (1.1 - 0.8 * plane.near)
        + 0.15 * blades
        + 0.10 * (1 - plane.near)
    )
    hue = 1 + broad[..., None] * rgb(0.12, 0.02, -0.06)
    c.paint(
        rows_below(c, edge, plane.top),
        c.lit(colour * hue, np.clip(shade, 0.3, 1.4), 0.6 * plane.depth),
        "grass",
        plane.top,
    )


def sand(c: Canvas, horizon: float, edge: np.ndarray | float, colour: np.ndarray | None = None) -> None:
    """Sand below an edge, with wind ripples and footworn hollows."""
    plane = _plane(c, horizon, float(np.min(edge)) - 0.01)
    colour = pick(c.rng, _SAND) if colour is None else colour
    hollows = _ground_noise(c, c.tiles.smooth, plane, 0.16, 1.5)
    ripples = _ground_noise(c, c.tiles.rough, plane, 0.30, 2.0)
    grains = c.noise(c.tiles.grain, 0.7)[plane.top :] * plane.near
    shade = 0.93 + 0.05 * hollows + 0.06 * ripples * c.light.contrast + 0.035 * grains
    c.paint(rows_below(c, edge, plane.top), c.lit(colour, shade, 0.6 * plane.depth), "sand", plane.top)


def beach(
    c: Canvas, horizon: float, near_shore: float, tilt: float, colour: np.ndarray | None = None
) -> np.ndarray:
    """A beach in front of the sea; returns the shoreline y(x) (1, W)."""
    shore = near_shore + tilt * (c.x - c.aspect / 2) + 0.018 * profile(c.rng, c.x, 2.5, 3)
    c.scene_words.add("beach")
    sand(c, horizon, shore, colour)
    below = c.y - shore
    wet = smoothstep(0.10, 0.02, below) * (below > 0)
    c.veil(0.38 * wet, c.lit(rgb(0.42, 0.37, 0.32)) * 0.6 + 0.4 * c.light.horizon * 0.8)
    lace = c.noise(c.tiles.rough, 1.1, 1.5)
    foam = np.exp(-((below / 0.012) ** 2)) + 0.7 * np.exp(-(((below + 0.035 + 0.01 * lace) / 0.008) ** 2))
    c.veil(np.clip(foam * (0.65 + 0.35 * lace), 0, 0.92), c.lit(rgb(0.97, 0.98, 1.0)))
    return shore


def snowfield(c: Canvas, horizon: float, edge: np.ndarray | float) -> None:
    """Snow-covered ground: white with blue hollows."""
    plane = _plane(c, horizon, float(np.min(edge)) - 0.01)
    drifts = _ground_noise(c, c.tiles.smooth, plane, 0.13, 1.8)
    crust = _ground_noise(c, c.tiles.rough, plane, 0.30)
    tone = rgb(0.93, 0.95, 0.99) + np.clip(drifts, -2, 2)[..., None] * rgb(0.045, 0.03, 0.012)
    shade = 0.95 + 0.02 * crust - 0.05 * plane.near
    c.paint(rows_below(c, edge, plane.top), c.lit(tone, shade, 0.5 * plane.depth), "snow", plane.top)


def field(c: Canvas, horizon: float, edge: np.ndarray | float, kind: str) -> None:
    """Crop rows running to a vanishing point: "wheat", "lavender", "plough", "green" or "rape"."""
    crop = {
        "wheat": ((0.80, 0.66, 0.32), (0.58, 0.44, 0.20)), "lavender": ((0.52, 0.40, 0.66), (0.36, 0.38, 0.24)),
        "plough": ((0.48, 0.35, 0.25), (0.33, 0.24, 0.18)), "green": ((0.34, 0.52, 0.20), (0.38, 0.30, 0.20)),
        "rape": ((0.86, 0.78, 0.18), (0.50, 0.56, 0.18)),
    }  # fmt: skip
    crest, furrow = (jitter(c.rng, tone, 0.08) for tone in crop[kind])
    plane = _plane(c, horizon, float(np.min(edge)) - 0.01)
    lean = c.rng.uniform(-0.8, 0.8)
    rows = 0.5 + 0.5 * np.sin((plane.across + lean * plane.along) * c.rng.uniform(18, 34))
    rows = 0.6 + (rows - 0.6) * np.clip(plane.near * 3.5, 0, 1)  # rows merge in the distance
    tufts = _ground_noise(c, c.tiles.grain, plane, 0.4)
    stalks = (
        sample(c.tiles.grain, c.x * 0.75 + c.rng.uniform(), c.y[plane.top :] * 0.25 + c.rng.uniform())
        * plane.near
    )
    colour = furrow + np.clip(rows + 0.25 * tufts, 0, 1)[..., None] * (crest - furrow)
    shade = 0.92 + 0.08 * tufts + 0.10 * stalks
    c.paint(
        rows_below(c, edge, plane.top),
        c.lit(colour, np.clip(shade, 0.4, 1.3), 0.6 * plane.depth),
        "field",
        plane.top,
    )


# --- Ribbons: roads, paths, rivers, rails ---------------------------------------------------
class Ribbon(NamedTuple):
    """A way that runs from the lower edge to a vanishing point; arrays cover all rows (H, 1)."""

    centre: np.ndarray
    half: np.ndarray
    near: np.ndarray  # 0 where it vanishes, 1 at the lower edge

    def mask(self, c: Canvas, inner: float = 1.0) -> np.ndarray:
        """Antialiased coverage (H, W) of the ribbon's inner share."""
        return np.clip((self.half * inner - np.abs(c.x - self.centre)) * c.height + 0.5, 0, 1) * (
            self.near > 0
        )


def ribbon(c: Canvas, start: float, far_x: float, near_x: float, half: float, bend: float = 0.0) -> Ribbon:
    """A ribbon from (far_x, start) to near_x at the lower edge, where it is 2*half wide; bend curves it."""
    near = np.clip((c.y - start) / (1 - start), 0, 1)
    sway = bend * np.sin(np.pi * near**0.6) * (1 - near)
    return Ribbon(far_x + (near_x - far_x) * near**0.9 + sway, 0.004 + half * near**1.15, near)
