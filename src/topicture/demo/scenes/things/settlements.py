"""Scenes among houses: village, city, old town, a town by night."""

from collections.abc import Callable

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.layout import (
    WAYS,
    background,
    by_distance,
    flock,
    haze_of,
    maybe,
    people,
    way_into,
)
from topicture.demo.scenes.light import pick, rgb
from topicture.demo.scenes.things import (
    buildings,
    creatures,
    ground,
    heavens,
    horizon,
    plants,
    town,
    vehicles,
)

__all__ = ["city", "night_town", "old_town", "village"]


def village(c: Canvas) -> None:
    """Houses and a church along a road."""
    line = c.rng.uniform(0.42, 0.54)
    heavens.sky(c, line)
    background(c, line, 0.35, 0.7)
    ground.grass(c, line - 0.04, line + 0.02)
    autumn = maybe(c, 0.25)
    if maybe(c, 0.3):
        buildings.church(c, c.aspect * c.rng.uniform(0.15, 0.85), line + 0.05, c.rng.uniform(0.34, 0.5), 0.2)
    way = way_into(c, line + 0.03, "road") if maybe(c, 0.75) else None
    for x, y, size in by_distance(c, line + 0.03, int(c.rng.integers(2, 6)), 0.05, 0.55):
        if way is not None:  # beside the road, not on it
            row = min(int(y * c.height), c.height - 1)
            edge = float(way.half[row, 0]) + 0.22 * size
            x = float(way.centre[row, 0]) + c.rng.choice([-1, 1]) * (edge + c.rng.uniform(0.0, 0.35))
        if maybe(c, 0.68):
            buildings.house(c, x, y, 0.5 * size, haze_of(size))
        else:
            plants.tree(c, x, y, 0.65 * size, haze_of(size), autumn)
    if way is not None and maybe(c, 0.5):
        y = c.rng.uniform(line + 0.12, 0.93)
        row = int(y * c.height)
        lane = float(way.centre[row, 0]) + 0.45 * float(way.half[row, 0]) * c.rng.choice([-1, 1])
        vehicles.car_from_behind(c, lane, y, 0.9 * float(way.half[row, 0]), 0.1)
    if maybe(c, 0.25):
        buildings.fence(
            c,
            c.rng.uniform(0.95, 1.0),
            c.rng.uniform(0.14, 0.2),
            c.rng.uniform(-0.03, 0.03),
            pickets=maybe(c, 0.4),
        )
    people(c, line + 0.1, 0.25)


def city(c: Canvas) -> None:
    """A street between tall houses, or a skyline over a river or park."""
    c.scene_words.add("city")
    if maybe(c, 0.6):
        _city_street(c)
    else:
        _waterfront(c)


def _city_street(c: Canvas) -> None:
    """Looking down a street."""
    line = c.rng.uniform(0.48, 0.58)
    heavens.sky(c, line, sun=False)
    vanish = c.aspect * c.rng.uniform(0.38, 0.62)
    if maybe(c, 0.5):
        horizon_height = c.rng.uniform(0.1, 0.3)
        town.skyline(c, line + 0.01, horizon_height, 0.5)
    half = c.rng.uniform(0.36, 0.55)
    pavement = 0.94 + 0.05 * c.noise(c.tiles.grain, 0.6)
    c.paint(c.below(line), c.lit(rgb(0.62, 0.60, 0.57), pavement), None)
    town.street(c, line, vanish, half)
    # The eye is half a street-unit above the ground, so distance 1 is at y = line + 0.5.
    near = np.clip((c.y - line) / 0.5, 0, None)
    lane = ground.Ribbon(np.full_like(c.y, vanish), 0.68 * half * near, near)
    asphalt = 0.95 + 0.06 * c.noise(c.tiles.grain, 0.6)
    c.paint(
        lane.mask(c), c.lit(pick(c.rng, WAYS["street"]), asphalt, 0.1 * (1 - np.clip(near, 0, 1))), "street"
    )
    c.veil((np.sin(7 / (near + 0.05)) > 0) * lane.mask(c, 0.03) * 0.8, c.lit(rgb(0.92, 0.9, 0.85)))
    _street_life(c, line, vanish, half)


def _street_life(c: Canvas, line: float, vanish: float, half: float) -> None:
    """Lamps, trees, people and traffic, far to near."""
    # Of each thing: nearness, place across the street (1 at the house fronts), painter, height at nearness 1.
    things: list[tuple[float, float, Callable[..., None], float]] = []
    chance = c.rng.random()
    if chance < 0.6:
        avenue = (buildings.lamp, 0.62) if chance < 0.45 else (plants.tree, 0.6)
        things += [(near, side * 0.78, *avenue) for side in (-1, 1) for near in (0.16, 0.26, 0.45, 0.8)]
    for near in c.rng.uniform(0.2, 0.9, c.rng.integers(0, 5)):
        things.append((near, c.rng.choice([-1, 1]) * c.rng.uniform(0.74, 0.95), creatures.person, 0.4))
    if maybe(c, 0.7):
        for near in c.rng.uniform(0.2, 0.85, c.rng.integers(1, 4)):
            things.append((near, c.rng.choice([-0.36, 0.36]), vehicles.car_from_behind, 0.33))
    for near, across, paint, tall in sorted(things, key=lambda thing: thing[0]):
        paint(c, vanish + across * half * near, line + 0.5 * near, tall * near, 0.05)


def _waterfront(c: Canvas) -> None:
    """The skyline from across a river or a park."""
    line = c.rng.uniform(0.5, 0.64)
    heavens.sky(c, line)
    flock(c, line * 0.6, 0.2)
    town.skyline(c, line, c.rng.uniform(0.3, 0.45), 0.6, 12)
    town.skyline(c, line, c.rng.uniform(0.16, 0.28), 0.25, 10)
    chance = c.rng.random()
    if chance < 0.6:
        ground.mirror(c, c.below(line), line, "river", calm=c.rng.uniform(0.4, 0.7))
        if maybe(c, 0.5):
            buildings.suspension_bridge(c, line + 0.12, c.rng.uniform(0.3, 0.42), 0.1)
        if maybe(c, 0.4):
            vehicles.work_boat(
                c,
                c.aspect * c.rng.uniform(0.2, 0.8),
                c.rng.uniform(line + 0.14, 0.92),
                c.rng.uniform(0.16, 0.3),
            )
    else:
        ground.grass(c, line - 0.05, line + 0.005)
        for x, y, size in by_distance(c, line + 0.02, int(c.rng.integers(2, 6)), 0.05, 0.6):
            plants.tree(c, x, y, 0.5 * size, haze_of(size), maybe(c, 0.2))
        if maybe(c, 0.6):
            way_into(c, line + 0.02, "path")
        people(c, line + 0.06, 0.6)


def old_town(c: Canvas) -> None:
    """One old front and what passes before it."""
    floor = c.rng.uniform(0.78, 0.9)
    heavens.sky(c, 0.6, sun=False)
    town.facade(c, floor)
    cobbles = 0.9 + 0.10 * c.noise(c.tiles.rough, 2.0, 1.6)
    c.paint(c.below(floor), c.lit(rgb(0.52, 0.48, 0.44), cobbles), "street")
    c.shadow(c.aspect / 2, floor, 2.0, 0.35)
    if maybe(c, 0.5):
        for x in np.arange(c.rng.uniform(0.1, 0.3), c.aspect, c.rng.uniform(0.3, 0.6)):
            plants.bush(c, x, floor + 0.03, 0.16, "tree")
            plants.flowers(c, (x - 0.09, floor - 0.08, x + 0.09, floor + 0.0), 16, 0.014)
    chance = c.rng.random()
    if chance < 0.3:
        vehicles.car(c, c.aspect * c.rng.uniform(0.3, 0.7), floor + 0.08, c.rng.uniform(0.18, 0.26))
    elif chance < 0.7:
        for _ in range(c.rng.integers(1, 3)):
            creatures.person(
                c,
                c.aspect * c.rng.uniform(0.1, 0.9),
                floor + c.rng.uniform(0.03, 0.08),
                c.rng.uniform(0.34, 0.42),
            )
    if maybe(c, 0.35):
        buildings.lamp(c, c.aspect * c.rng.uniform(0.1, 0.9), floor + 0.06, c.rng.uniform(0.5, 0.75))


def night_town(c: Canvas) -> None:
    """Lit windows and lamps under the moon."""
    line = c.rng.uniform(0.5, 0.6)
    heavens.sky(c, line)
    horizon.hills(c, line + 0.02, c.rng.uniform(0.08, 0.2), 0.5)
    ground.grass(c, line - 0.04, line + 0.02)
    if maybe(c, 0.25):
        buildings.church(c, c.aspect * c.rng.uniform(0.2, 0.8), line + 0.06, c.rng.uniform(0.36, 0.5), 0.1)
    way = way_into(c, line + 0.03, "street", half=0.4) if maybe(c, 0.5) else None
    for x, y, size in by_distance(c, line + 0.03, int(c.rng.integers(3, 8)), 0.05, 0.5):
        buildings.house(c, x, y, 0.45 * size, haze_of(size))
    if way is not None:
        for y in (line + 0.1, line + 0.18, line + 0.32):
            row = min(int(y * c.height), c.height - 1)
            for side in (-1, 1):
                buildings.lamp(
                    c, float(way.centre[row, 0] + side * 1.15 * way.half[row, 0]), y, 1.3 * (y - line) + 0.08
                )
        if maybe(c, 0.4):
            row = int(0.85 * c.height)
            vehicles.car_from_behind(c, float(way.centre[row, 0]) - 0.1, 0.85, 0.2)
    elif maybe(c, 0.4):
        ground.mirror(c, c.below(0.78 + 0.02 * np.sin(3 * c.x)), 0.78, "lake", calm=0.6)
