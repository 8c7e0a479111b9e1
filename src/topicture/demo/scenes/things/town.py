"""The built-up: skylines of many windows, a street between two rows of façades, one façade close by."""

import itertools

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.sprite import Sprite

__all__ = ["facade", "skyline", "street"]

_PLASTER = (
    (0.86, 0.78, 0.64),
    (0.78, 0.58, 0.46),
    (0.84, 0.82, 0.78),
    (0.66, 0.46, 0.38),
    (0.72, 0.74, 0.72),
    (0.88, 0.72, 0.50),
    (0.58, 0.60, 0.64),
)
_TOWERS = ((0.50, 0.54, 0.58), (0.62, 0.62, 0.62), (0.40, 0.44, 0.50), (0.66, 0.58, 0.52), (0.46, 0.54, 0.62))
_LAMPLIGHT = rgb(1.0, 0.86, 0.54)
_PANE = rgb(0.28, 0.34, 0.42)


def skyline(c: Canvas, base: float, height: float, depth: float, crowd: int = 12) -> None:
    """Blocks and towers side by side, standing on y = base."""
    rng = c.rng
    sprite = Sprite(c, 0, base, 1.0, (-0.1, -0.02, c.aspect + 0.1, height * 1.3), "building")
    lights: list[tuple[float, float, float, float]] = []
    for left in np.linspace(-0.06, c.aspect, crowd)[rng.permutation(crowd)]:
        width, tall = rng.uniform(0.08, 0.17), height * rng.uniform(0.3, 1.0) ** 1.2
        wall = pick(rng, _TOWERS, 0.12)
        lit = left + (0.62 * width if c.light.side > 0 else 0.0)
        sprite.box(left, -0.02, left + width, tall, wall * (1 - 0.16 * c.light.contrast))
        sprite.box(lit, -0.02, lit + 0.38 * width, tall, wall * (1 + 0.12 * c.light.contrast))
        if rng.random() < 0.3:
            sprite.line([(left + width / 2, tall), (left + width / 2, tall * 1.15)], 0.004, wall * 0.7)
        _grid(c, sprite, (left, 0.02, left + width, tall), 0.016, lights)
    sprite.stamp(depth, 0.03)
    _switch_on(c, 0.0, base, lights)


def _grid(
    c: Canvas, sprite: Sprite, wall: tuple[float, float, float, float], pitch: float, lights: list
) -> None:
    """Rows of window panes over a flat wall; by night some of them are lit."""
    left, low, right, high = wall
    columns, rows = max(2, int((right - left) / pitch)), max(2, int((high - low) / (1.35 * pitch)))
    dx, dy = (right - left) / columns, (high - low) / rows
    on = c.rng.random((rows, columns)) < 0.42
    for row in range(rows):
        for column in range(columns):
            x0, y0 = left + (column + 0.25) * dx, low + (row + 0.25) * dy
            sprite.box(x0, y0, x0 + 0.52 * dx, y0 + 0.5 * dy, _PANE, "window")
            if c.light.dark and on[row, column]:
                lights.append((x0, y0, x0 + 0.52 * dx, y0 + 0.5 * dy))


def _switch_on(c: Canvas, x: float, y: float, lights: list[tuple[float, float, float, float]]) -> None:
    if not lights:
        return
    corners = np.array(lights)
    glow = Sprite(
        c,
        x,
        y,
        1.0,
        (corners[:, 0].min(), corners[:, 1].min(), corners[:, 2].max(), corners[:, 3].max()),
        "window",
    )
    for box in lights:
        glow.box(*box, _LAMPLIGHT * c.rng.uniform(0.75, 1.0))
    glow.stamp(lit=False)


def street(c: Canvas, horizon: float, vanish_x: float, half_width: float) -> None:
    """Façades on both sides, receding to (vanish_x, horizon); half_width is the street's at distance 1."""
    rng = c.rng
    for side in (-1, 1):
        sprite = Sprite(
            c,
            vanish_x,
            horizon,
            1.0,
            (-vanish_x - 0.1, horizon - 1.05, c.aspect - vanish_x + 0.1, horizon + 0.05),
            "building",
        )
        panes: list = []
        far = 9.0
        while far > 0.75:  # far to near, so that nearer houses cover farther ones
            near = far - rng.uniform(0.5, 0.9) * (0.35 + 0.22 * far)
            _row_house(c, sprite, side * half_width, max(near, 0.6), far, panes)
            far = near
        sprite.stamp(0.12, 0.05)
        if panes:
            glow = Sprite(
                c,
                vanish_x,
                horizon,
                1.0,
                (-vanish_x - 0.1, horizon - 1.05, c.aspect - vanish_x + 0.1, horizon + 0.05),
                "window",
            )
            for pane in panes:
                glow.polygon(pane, _LAMPLIGHT * rng.uniform(0.7, 1.0))
            glow.stamp(lit=False)


def _row_house(c: Canvas, sprite: Sprite, x: float, near: float, far: float, panes: list) -> None:
    """One house of a street, its front in the plane of sideways distance x, between two distances."""
    rng = c.rng
    ground, tall = -0.5, rng.uniform(0.7, 1.25)  # heights at distance 1, below and above the eye
    wall = pick(rng, _PLASTER, 0.1) * (
        1.0 if (x > 0) != (c.light.side > 0) else 0.74 + 0.1 * (1 - c.light.contrast)
    )
    # Distance dulls: the street is too shallow for the haze of the open country.
    wall = wall + (c.light.haze - wall) * min(0.5, 0.05 * far) if not c.light.dark else wall

    def quad(z0: float, z1: float, low: float, high: float) -> list[tuple[float, float]]:
        return [(x / z0, low / z0), (x / z1, low / z1), (x / z1, high / z1), (x / z0, high / z0)]

    sprite.polygon(quad(near, far, ground, tall), wall)
    sprite.polygon(quad(near, far, tall, tall + 0.06), wall * 0.7)
    bays, storeys = max(2, round((far - near) / 0.28)), max(2, round((tall - ground) / 0.36))
    edges = np.linspace(near, far, bays + 1)
    shop = pick(rng, ((0.35, 0.25, 0.20), (0.25, 0.34, 0.36), (0.50, 0.22, 0.18), (0.40, 0.42, 0.40)))
    sprite.polygon(quad(near, far, ground, ground + 0.05), wall * 0.6)
    for storey in range(storeys):
        low = ground + (storey + 0.28) * (tall - ground) / storeys
        high = low + 0.5 * (tall - ground) / storeys
        for z0, z1 in itertools.pairwise(edges):
            inset = 0.26 * (z1 - z0)
            if storey == 0 and rng.random() < 0.4:
                sprite.polygon(quad(z0 + inset * 0.8, z1 - inset * 0.8, ground, high), shop)
                continue
            pane = quad(z0 + inset, z1 - inset, low, high)
            sprite.polygon(
                quad(z0 + inset * 0.8, z1 - inset * 0.8, low - 0.02, high + 0.02), wall * 1.15, "window"
            )
            sprite.polygon(pane, _PANE * rng.uniform(0.8, 1.5), "window")
            if c.light.dark and rng.random() < 0.45:
                panes.append(pane)


def facade(c: Canvas, ground: float) -> None:
    """The front of one old house filling the picture above y = ground: shutters, sills, a door."""
    rng = c.rng
    wall, shutter = (
        pick(rng, _PLASTER, 0.1),
        pick(rng, ((0.22, 0.42, 0.36), (0.24, 0.38, 0.58), (0.55, 0.22, 0.18), (0.45, 0.32, 0.22))),
    )
    plaster = 0.96 + 0.05 * c.noise(c.tiles.smooth, 0.8) + 0.04 * c.noise(c.tiles.grain, 0.6)
    c.paint(1 - c.below(ground), c.lit(wall, plaster), "house")
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    sprite = Sprite(c, 0, ground, 1.0, (0, 0, c.aspect, ground), "house")
    dx, dy = c.aspect / columns, ground / rows
    frame, sill = jitter(rng, (0.94, 0.93, 0.90), 0.04), jitter(rng, (0.62, 0.58, 0.52), 0.08)
    door = int(rng.integers(columns)) if rows > 1 else -1
    lights: list = []
    for row in range(rows):
        for column in range(columns):
            middle, w, h = (column + 0.5) * dx, 0.26 * dx, 0.52 * dy
            low = (row + 0.24) * dy
            if row == 0 and column == door:
                sprite.box(middle - 0.8 * w, 0, middle + 0.8 * w, low + h, sill)
                sprite.box(middle - 0.62 * w, 0, middle + 0.62 * w, low + h - 0.03, shutter * 0.85)
                continue
            for side in (-1, 1):
                edge = middle + side * (0.5 * w + 0.012)
                sprite.box(
                    min(edge, edge + side * 0.42 * w),
                    low,
                    max(edge, edge + side * 0.42 * w),
                    low + h,
                    shutter,
                )
                for slat in np.linspace(low, low + h, 12)[1:-1]:
                    sprite.line([(edge, slat), (edge + side * 0.42 * w, slat)], 0.004, shutter * 0.7)
            sprite.box(
                middle - 0.5 * w - 0.012,
                low - 0.012,
                middle + 0.5 * w + 0.012,
                low + h + 0.012,
                frame,
                "window",
            )
            shine = _PANE * rng.uniform(0.7, 1.4)
            sprite.box(middle - 0.5 * w, low, middle + 0.5 * w, low + h, shine, "window")
            sprite.polygon(
                [(middle - 0.5 * w, low), (middle + 0.1 * w, low + h), (middle - 0.5 * w, low + h)],
                shine * 1.5,
                "window",
            )
            sprite.line([(middle, low), (middle, low + h)], 0.012, frame, "window")
            sprite.line(
                [(middle - 0.5 * w, low + 0.6 * h), (middle + 0.5 * w, low + 0.6 * h)], 0.012, frame, "window"
            )
            sprite.box(middle - 0.62 * w, low - 0.035, middle + 0.62 * w, low - 0.012, sill)
            if c.light.dark and rng.random() < 0.7:
                lights += [
                    (middle - 0.48 * w, low + 0.01, middle - 0.03 * w, low + 0.58 * h),
                    (middle + 0.03 * w, low + 0.01, middle + 0.48 * w, low + 0.58 * h),
                ]
    sprite.stamp(0.0, 0.04)
    _switch_on(c, 0.0, ground, lights)
