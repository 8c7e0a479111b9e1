"""Single buildings and what stands beside them: houses, churches, towers, fences, lamps, bridges."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import jitter, pick, rgb
from topicture.demo.scenes.sprite import Sprite

__all__ = [
    "bridge",
    "castle",
    "church",
    "fence",
    "house",
    "lamp",
    "lighthouse",
    "suspension_bridge",
    "windmill",
]

_WALLS = (
    (0.93, 0.91, 0.86),
    (0.88, 0.78, 0.60),
    (0.72, 0.44, 0.34),
    (0.80, 0.84, 0.86),
    (0.90, 0.70, 0.58),
    (0.62, 0.66, 0.60),
    (0.66, 0.52, 0.40),
)
_ROOFS = ((0.60, 0.28, 0.20), (0.42, 0.24, 0.20), (0.34, 0.36, 0.40), (0.50, 0.40, 0.32), (0.70, 0.38, 0.24))
_STONE = ((0.66, 0.62, 0.56), (0.74, 0.70, 0.62), (0.56, 0.54, 0.52))
_PANE = rgb(0.26, 0.32, 0.38)
_LAMPLIGHT = rgb(1.0, 0.85, 0.50)
_SNOW = rgb(0.94, 0.96, 0.99)


def _glaze(
    c: Canvas, sprite: Sprite, x: float, y: float, w: float, h: float, frame: np.ndarray | tuple
) -> None:
    """A framed window with its lower left corner at (x, y) in the sprite; lit at night more often than not."""
    on = c.light.dark and c.rng.random() < 0.65
    sprite.box(x - 0.02, y - 0.02, x + w + 0.02, y + h + 0.02, frame, "window")
    # Lit panes are drawn so bright that the night's tint leaves them glowing.
    sprite.box(x, y, x + w, y + h, _LAMPLIGHT if on else _PANE * c.rng.uniform(0.8, 1.3), "window")
    sprite.line([(x + w / 2, y), (x + w / 2, y + h)], 0.014, frame, "window")
    sprite.line([(x, y + h / 2), (x + w, y + h / 2)], 0.014, frame, "window")
    if on:
        sprite.lamps.append((x + w / 2, y + h / 2, max(w, h)))


def house(c: Canvas, x: float, y: float, height: float, depth: float = 0.0, snowy: bool = False) -> None:
    """A cottage: a gable front and a long side under a pitched roof."""
    rng = c.rng
    wall, roof = pick(rng, _WALLS), _SNOW if snowy else pick(rng, _ROOFS)
    side, storeys = rng.uniform(0.7, 1.3), int(rng.integers(1, 3))
    eaves = 0.42 + 0.16 * (storeys - 1)
    c.shadow(x + 0.3 * height, y, 1.9 * height, 0.5)
    sprite = Sprite(c, x, y, height, (-0.55, -0.04, side + 0.6, 1.12), "house", flip=bool(rng.random() < 0.5))
    sunny = (c.light.side > 0) != sprite.flip  # whether the long side is the lit one
    front, flank = (0.80, 1.0) if sunny else (1.0, 0.78)
    sprite.box(0.36, 0, side + 0.36, eaves, wall * flank)
    sprite.polygon([(-0.4, 0), (0.4, 0), (0.4, eaves), (0, 0.93), (-0.4, eaves)], wall * front)
    if rng.random() < 0.7:
        chimney = rng.uniform(0.35, side)
        sprite.box(chimney, 0.8, chimney + 0.12, 1.08, pick(rng, _ROOFS) * 0.8)
    sprite.polygon(
        [(0, 0.98), (side, 0.98), (side + 0.44, eaves - 0.03), (0.44, eaves - 0.03)], roof * flank * 1.02
    )
    sprite.line([(-0.46, eaves - 0.05), (0, 0.97), (0.45, eaves - 0.05)], 0.055, roof * 0.85)
    if not snowy:
        for t in (0.25, 0.5, 0.75):  # courses of tiles
            sprite.line(
                [(0.44 * t, 0.98 - t * (1.01 - eaves)), (side + 0.44 * t, 0.98 - t * (1.01 - eaves))],
                0.012,
                roof * flank * 0.86,
            )
    frame = pick(rng, ((0.95, 0.94, 0.90), (0.35, 0.22, 0.14)))
    for storey in range(storeys):
        level = 0.16 + 0.22 * storey
        for left in np.arange(0.52, side + 0.2, 0.30):
            _glaze(c, sprite, left, level, 0.13, 0.13, frame)
        if storey == 0:
            sprite.box(
                -0.08, 0, 0.08, 0.28, pick(rng, ((0.35, 0.20, 0.12), (0.20, 0.34, 0.30), (0.55, 0.15, 0.12)))
            )
        for left in (-0.3, 0.17) if storey == 0 else (-0.2, 0.07):
            _glaze(c, sprite, left, level, 0.13, 0.14, frame)
    sprite.stamp(depth, 0.05)


def church(c: Canvas, x: float, y: float, height: float, depth: float = 0.0, snowy: bool = False) -> None:
    """A nave and a tower with a pointed spire; height is that of the spire's tip."""
    rng = c.rng
    wall, roof = pick(rng, (*_STONE, (0.95, 0.94, 0.90))), _SNOW if snowy else pick(rng, _ROOFS)
    c.shadow(x, y, 0.9 * height, 0.5)
    sprite = Sprite(c, x, y, height, (-0.25, -0.03, 0.75, 1.08), "church", flip=bool(rng.random() < 0.5))
    sprite.box(0.1, 0, 0.62, 0.24, wall * 0.9)
    sprite.polygon([(0.08, 0.23), (0.14, 0.42), (0.60, 0.42), (0.66, 0.23)], roof * 0.95)
    for left in (0.20, 0.33, 0.46):
        _glaze(c, sprite, left, 0.08, 0.045, 0.11, wall * 0.7)
    sprite.box(-0.13, 0, 0.13, 0.56, wall)
    sprite.box(-0.145, 0.54, 0.145, 0.57, wall * 0.8)
    sprite.polygon([(-0.15, 0.56), (0.0, 0.98), (0.15, 0.56)], roof)
    sprite.polygon([(0.02, 0.56), (0.0, 0.98), (0.15, 0.56)], roof * 0.8)
    sprite.line([(0, 0.97), (0, 1.06)], 0.012, (0.3, 0.26, 0.2))
    sprite.line([(-0.025, 1.03), (0.025, 1.03)], 0.012, (0.3, 0.26, 0.2))
    sprite.polygon([(-0.045, 0), (-0.045, 0.12), (0, 0.17), (0.045, 0.12), (0.045, 0)], (0.30, 0.18, 0.12))
    sprite.ellipse(0, 0.45, 0.05, 0.05, (0.92, 0.90, 0.82))
    _glaze(c, sprite, -0.025, 0.25, 0.05, 0.11, wall * 0.7)
    sprite.stamp(depth, 0.06)


def lighthouse(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A banded tower with a lantern, lit at dusk and by night."""
    rng = c.rng
    band = pick(rng, ((0.78, 0.16, 0.14), (0.78, 0.16, 0.14), (0.15, 0.20, 0.35)))
    sprite = Sprite(c, x, y, height, (-0.25, -0.03, 0.25, 1.03), "lighthouse")
    bands = 5
    for k in range(bands):
        low, high = 0.78 * k / bands, 0.78 * (k + 1) / bands
        a, b = 0.13 - 0.06 * k / bands, 0.13 - 0.06 * (k + 1) / bands
        sprite.polygon([(-a, low), (a, low), (b, high), (-b, high)], band if k % 2 else (0.95, 0.94, 0.91))
    sprite.box(-0.10, 0.78, 0.10, 0.81, (0.25, 0.25, 0.27))
    lit = c.light.time in ("night", "sunset")
    sprite.box(-0.055, 0.81, 0.055, 0.91, _LAMPLIGHT if lit else _PANE)
    sprite.polygon([(-0.08, 0.91), (0.0, 1.0), (0.08, 0.91)], band)
    sprite.box(-0.03, 0.0, 0.03, 0.08, (0.25, 0.2, 0.18))
    if lit:
        sprite.lamps.append((0.0, 0.86, 0.18))
    sprite.stamp(depth, 0.04)


def windmill(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A tower mill with four lattice sails."""
    rng = c.rng
    wall = pick(rng, ((0.92, 0.90, 0.85), (0.55, 0.36, 0.26), (0.45, 0.40, 0.34)))
    c.shadow(x, y, 0.6 * height, 0.5)
    sprite = Sprite(c, x, y, height, (-0.6, -0.03, 0.6, 1.25), "windmill")
    sprite.polygon([(-0.2, 0), (0.2, 0), (0.115, 0.66), (-0.115, 0.66)], wall)
    sprite.polygon([(-0.14, 0.65), (-0.1, 0.76), (0, 0.81), (0.1, 0.76), (0.14, 0.65)], (0.32, 0.22, 0.18))
    sprite.box(-0.045, 0, 0.045, 0.15, (0.30, 0.20, 0.14))
    _glaze(c, sprite, -0.03, 0.36, 0.06, 0.08, wall * 0.7)
    turn = rng.uniform(0, np.pi / 2)
    wood, cloth = (0.28, 0.20, 0.15), (0.88, 0.84, 0.74)
    for k in range(4):
        angle = turn + k * np.pi / 2
        out, off = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        hub = np.array([0.0, 0.7])
        corners = [
            hub + 0.12 * out,
            hub + 0.5 * out,
            hub + 0.5 * out + 0.1 * off,
            hub + 0.12 * out + 0.1 * off,
        ]
        sprite.polygon([tuple(p) for p in corners], cloth)
        for t in (0.22, 0.32, 0.42):
            sprite.line([tuple(hub + t * out), tuple(hub + t * out + 0.1 * off)], 0.008, wood)
        sprite.line([tuple(hub), tuple(hub + 0.52 * out)], 0.022, wood)
    sprite.stamp(depth, 0.05)


def castle(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """Walls and round towers of stone."""
    rng = c.rng
    stone = pick(rng, _STONE)
    c.shadow(x, y, 1.6 * height, 0.4)
    sprite = Sprite(c, x, y, height, (-1.0, -0.05, 1.0, 1.2), "castle", flip=bool(rng.random() < 0.5))

    def battlement(left: float, right: float, top: float, tone: np.ndarray) -> None:
        sprite.box(left, -0.03, right, top, tone)
        for tooth in np.arange(left, right - 0.03, 0.09):
            sprite.box(tooth, top, tooth + 0.05, top + 0.05, tone)

    battlement(-0.8, 0.8, 0.34, stone * 0.92)
    battlement(-0.3, 0.45, 0.52, stone)
    for place, half, top in ((-0.82, 0.11, 0.58), (0.82, 0.12, 0.52), (-0.28, 0.10, 0.78), (0.42, 0.12, 0.9)):
        battlement(place - half, place + half, top, stone * 1.05)
        dark = place + half * (0.35 if (c.light.side < 0) != sprite.flip else -1)
        sprite.box(dark, -0.03, dark + half * 0.65, top, stone * 0.82)
        if rng.random() < 0.6:
            sprite.polygon(
                [(place - half - 0.03, top + 0.04), (place, top + 0.28), (place + half + 0.03, top + 0.04)],
                pick(rng, _ROOFS),
            )
        _glaze(c, sprite, place - 0.02, top - 0.18, 0.04, 0.08, stone * 0.7)
    sprite.polygon([(0.0, -0.03), (0.0, 0.15), (0.07, 0.21), (0.14, 0.15), (0.14, -0.03)], (0.22, 0.16, 0.12))
    sprite.stamp(depth, 0.08)


def fence(
    c: Canvas,
    y: float,
    height: float,
    slope: float = 0.0,
    span: tuple[float, float] | None = None,
    pickets: bool = False,
) -> None:
    """Posts and rails, or white pickets, along a line across the picture."""
    rng = c.rng
    left, right = span or (-0.05, c.aspect + 0.05)
    wood = (
        rgb(0.94, 0.93, 0.90)
        if pickets
        else pick(rng, ((0.46, 0.36, 0.27), (0.60, 0.54, 0.46), (0.90, 0.89, 0.86)))
    )
    length = (right - left) / height
    climb = abs(slope) * length
    sprite = Sprite(c, left, y, height, (-0.2, -0.3 - climb, length + 0.2, 1.3 + climb), "fence")
    for level in (0.35, 0.72):
        sprite.line([(0, level), (length, level - slope * length)], 0.09, wood * (0.82 if pickets else 0.92))
    step, half = (0.26, 0.07) if pickets else (1.3, 0.065)
    for place in np.arange(0.1, length, step):
        foot, tilt = -slope * place, 0.0 if pickets else rng.uniform(-0.03, 0.03)
        top = foot + (1.0 if pickets else rng.uniform(0.95, 1.05))
        tip = [(place + tilt, top + 0.12)] if pickets else []
        sprite.polygon(
            [
                (place - half, foot - 0.1),
                (place - half + tilt, top),
                *tip,
                (place + half + tilt, top),
                (place + half, foot - 0.1),
            ],
            wood,
        )
        sprite.line([(place + half, foot - 0.1), (place + half + tilt, top)], 0.03, wood * 0.6)
    sprite.stamp(0.0, 0.04 if pickets else 0.09)


def lamp(c: Canvas, x: float, y: float, height: float, depth: float = 0.0) -> None:
    """A street lamp."""
    iron = rgb(0.16, 0.18, 0.18)
    c.shadow(x, y, 0.15 * height, 0.4)
    sprite = Sprite(c, x, y, height, (-0.14, -0.02, 0.14, 1.05), "lamp")
    sprite.box(-0.03, 0, 0.03, 0.1, iron)
    sprite.line([(0, 0), (0, 0.84)], 0.028, iron)
    on = c.light.time in ("night", "sunset")
    sprite.polygon(
        [(-0.04, 0.83), (0.04, 0.83), (0.065, 0.95), (-0.065, 0.95)], _LAMPLIGHT if on else (0.85, 0.86, 0.84)
    )
    sprite.polygon([(-0.085, 0.95), (0, 1.02), (0.085, 0.95)], iron)
    if on:
        sprite.lamps.append((0.0, 0.89, 0.10))
    sprite.stamp(depth, 0.03)


def bridge(c: Canvas, y: float, height: float, depth: float, arches: int) -> None:
    """A stone bridge right across the picture, its feet at y."""
    stone = pick(c.rng, _STONE)
    sprite = Sprite(
        c, c.aspect / 2, y, height, (-0.6 * c.aspect / height, -0.1, 0.6 * c.aspect / height, 1.3), "bridge"
    )
    half = 0.55 * c.aspect / height
    hump = [(float(t * half), 1.0 + 0.2 * float(np.cos(t * np.pi / 2))) for t in np.linspace(-1, 1, 15)]
    edge = np.linspace(-half, half, arches + 1)
    underside: list[tuple[float, float]] = []
    for a, b in zip(edge[::-1][:-1], edge[::-1][1:], strict=True):
        pier, middle, reach = 0.08 * (a - b), (a + b) / 2, 0.42 * (a - b)
        underside += [(a, 0.0), (a - pier, 0.0)]
        underside += [
            (middle + reach * np.cos(t), min(0.86, reach) * np.sin(t)) for t in np.linspace(0, np.pi, 12)
        ]
        underside += [(b + pier, 0.0), (b, 0.0)]
    sprite.polygon([*hump, *underside], stone)
    sprite.line([(px, py - 0.12) for px, py in hump], 0.05, stone * 0.72)
    sprite.line(hump, 0.06, stone * 1.12)
    sprite.stamp(depth, 0.12)


def suspension_bridge(c: Canvas, y: float, height: float, depth: float) -> None:
    """A deck hung from two towers, right across the picture, its feet at y."""
    rng = c.rng
    steel = pick(rng, ((0.66, 0.24, 0.18), (0.50, 0.55, 0.60), (0.36, 0.38, 0.40)))
    span = c.aspect / height
    sprite = Sprite(c, 0.0, y, height, (-0.1, -0.08, span + 0.1, 1.1), "bridge")
    towers = (0.24 * span, 0.76 * span)
    for start, end in ((-0.3 * span, towers[0]), towers, (towers[1], 1.3 * span)):
        t = np.linspace(0, 1, 19)
        sag = 0.38 + 0.60 * (2 * t - 1) ** 2
        cable = [(float(start + (end - start) * a), float(b)) for a, b in zip(t, sag, strict=True)]
        sprite.line(cable, 0.022, steel * 0.9)
        for px, py in cable:
            sprite.line([(px, 0.32), (px, py)], 0.006, steel * 0.8)
    for place in towers:
        for leg in (-0.045, 0.045):
            sprite.box(place + leg - 0.018, -0.05, place + leg + 0.018, 1.0, steel)
        for level in (0.5, 0.72, 0.95):
            sprite.box(place - 0.06, level, place + 0.06, level + 0.04, steel * 0.9)
    sprite.box(-0.1, 0.27, span + 0.1, 0.34, jitter(rng, steel * 0.75, 0.05))
    sprite.stamp(depth, 0.03)
