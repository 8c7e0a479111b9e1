"""Scenes by the water: coast, tropics, harbour, lake, river."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.layout import (
    background,
    by_distance,
    flock,
    haze_of,
    maybe,
    people,
    stream,
)
from topicture.demo.scenes.light import pick
from topicture.demo.scenes.things import buildings, creatures, ground, heavens, horizon, plants, vehicles

__all__ = ["coast", "harbour", "lake", "riverside", "tropics"]


def coast(c: Canvas) -> None:
    """The sea with a beach or a rocky point."""
    line = c.rng.uniform(0.38, 0.55)
    heavens.sky(c, line)
    flock(c, line, 0.3)
    if maybe(c, 0.2):
        horizon.mountains(c, line + 0.01, c.rng.uniform(0.06, 0.14), 1.0, snow=0.0)
    ground.sea(c, line, choppy=c.rng.uniform(0.6, 1.6))
    if maybe(c, 0.18):
        horizon.island(c, line + 0.012, c.aspect * c.rng.uniform(0.15, 0.85), c.rng.uniform(0.35, 0.8), 0.45)
    if maybe(c, 0.45):
        for _ in range(c.rng.integers(1, 4)):
            y = line + c.rng.uniform(0.01, 0.16)
            size = 0.04 + 0.9 * (y - line)
            vehicles.sailing_boat(c, c.aspect * c.rng.uniform(0.08, 0.92), y, 1.3 * size, 0.4)
    if maybe(c, 0.68):
        _beach(c, line)
    elif maybe(c, 0.75):
        _cliff(c)


def _beach(c: Canvas, line: float) -> None:
    """Sand in front of the sea, and who enjoys it."""
    shore = c.rng.uniform(0.66, 0.8)
    tilt = c.rng.uniform(-0.25, 0.25)
    ground.beach(c, line, shore, tilt)
    if maybe(c, 0.25):
        for x, y, size in by_distance(c, shore + 0.02, int(c.rng.integers(2, 5))):
            plants.rock(c, x, y, 0.22 * size)
    if maybe(c, 0.16):
        x = c.aspect * (0.12 if tilt > 0 else 0.88)
        plants.palm(c, x, c.rng.uniform(0.82, 0.97), c.rng.uniform(0.55, 0.85))
    if c.light.time in ("day", "golden") and maybe(c, 0.42):
        for x, y, size in by_distance(c, shore + 0.06, int(c.rng.integers(1, 4))):
            vehicles.umbrella(c, x, y, 0.26 * size)
    people(c, shore + 0.05, 0.35, 0.3, 4)


def _cliff(c: Canvas) -> None:
    """A rocky point on one side, with or without a lighthouse."""
    side = c.rng.choice([-1, 1])
    x0 = c.aspect * (0.5 + side * c.rng.uniform(0.28, 0.4))
    base = c.rng.uniform(0.72, 0.85)
    stone = pick(c.rng, ((0.42, 0.38, 0.34), (0.34, 0.33, 0.34), (0.52, 0.44, 0.36)))
    if maybe(c, 0.5):
        buildings.lighthouse(c, x0, base - 0.14, c.rng.uniform(0.32, 0.46), 0.1)
    for k in range(9):
        x = x0 + side * 0.06 * k - side * 0.14 + c.rng.uniform(-0.05, 0.05)
        plants.rock(c, x, base + c.rng.uniform(-0.02, 0.10), c.rng.uniform(0.22, 0.38), 0.05, stone)


def tropics(c: Canvas) -> None:
    """Palms on a warm shore, perhaps an island."""
    line = c.rng.uniform(0.42, 0.52)
    heavens.sky(c, line)
    flock(c, line, 0.15)
    ground.sea(
        c, line, deep=pick(c.rng, ((0.06, 0.52, 0.58), (0.10, 0.60, 0.60), (0.06, 0.40, 0.52))), choppy=0.7
    )
    if maybe(c, 0.65):
        horizon.island(c, line + 0.015, c.aspect * c.rng.uniform(0.3, 0.7), c.rng.uniform(0.5, 0.9), 0.35)
    if maybe(c, 0.4):
        vehicles.sailing_boat(
            c, c.aspect * c.rng.uniform(0.2, 0.8), line + 0.08, c.rng.uniform(0.10, 0.2), 0.2
        )
    ground.beach(c, line, c.rng.uniform(0.74, 0.84), c.rng.uniform(-0.2, 0.2))
    for k in range(c.rng.integers(1, 4)):
        x = c.aspect * (c.rng.uniform(0.02, 0.25) if k % 2 else c.rng.uniform(0.75, 0.98))
        plants.palm(c, x, c.rng.uniform(0.84, 0.98), c.rng.uniform(0.55, 0.9))
    people(c, 0.85, 0.3, 0.3)


def harbour(c: Canvas) -> None:
    """Houses along a quay, and boats."""
    line = c.rng.uniform(0.42, 0.52)
    heavens.sky(c, line)
    flock(c, line, 0.4)
    horizon.hills(c, line + 0.02, c.rng.uniform(0.06, 0.14), 0.6)
    for x in np.arange(c.rng.uniform(0.0, 0.2), c.aspect, c.rng.uniform(0.16, 0.3)):
        buildings.house(c, x, line + 0.015, c.rng.uniform(0.12, 0.17), 0.3)
    if maybe(c, 0.2):
        buildings.church(c, c.aspect * c.rng.uniform(0.2, 0.8), line + 0.015, 0.3, 0.3)
    ground.mirror(c, c.below(line + 0.015), line + 0.015, "sea", calm=c.rng.uniform(0.35, 0.7))
    for x, y, size in by_distance(c, line + 0.08, int(c.rng.integers(2, 6)), 0.02, 0.85):
        if maybe(c, 0.6):
            vehicles.work_boat(c, x, y, 0.5 * size, haze_of(size))
        else:
            vehicles.sailing_boat(c, x, y, 0.45 * size, haze_of(size))


def lake(c: Canvas) -> None:
    """Still water under mountains or hills."""
    line = c.rng.uniform(0.44, 0.58)
    heavens.sky(c, line)
    if maybe(c, 0.6):
        horizon.mountains(c, line + 0.01, c.rng.uniform(0.18, 0.34), 0.8, c.rng.choice([0.0, 0.4, 0.6]))
    else:
        horizon.hills(c, line + 0.02, c.rng.uniform(0.08, 0.18), 0.6)
    if maybe(c, 0.7):
        horizon.woods(
            c,
            line + 0.012,
            c.rng.uniform(0.05, 0.12),
            0.35,
            str(c.rng.choice(["conifer", "mixed", "leafy", "autumn"])),
        )
    if maybe(c, 0.13):
        buildings.castle(
            c, c.aspect * c.rng.uniform(0.25, 0.75), line + 0.012, c.rng.uniform(0.16, 0.24), 0.3
        )
    elif maybe(c, 0.15):
        buildings.house(c, c.aspect * c.rng.uniform(0.15, 0.85), line + 0.012, c.rng.uniform(0.10, 0.14), 0.3)
    ground.mirror(c, c.below(line + 0.012), line + 0.012, "lake", calm=c.rng.uniform(0.6, 0.95))
    if maybe(c, 0.3):
        boat = vehicles.work_boat if maybe(c, 0.6) else vehicles.sailing_boat
        boat(
            c,
            c.aspect * c.rng.uniform(0.2, 0.8),
            line + c.rng.uniform(0.1, 0.2),
            c.rng.uniform(0.16, 0.24),
            0.1,
        )
    if maybe(c, 0.6):
        bank = c.rng.uniform(0.84, 0.93) + 0.05 * np.sin(2.2 * c.x + c.rng.uniform(0, 6))
        ground.grass(c, line, bank)
        for x, y, _ in by_distance(c, 0.92, int(c.rng.integers(0, 4))):
            plants.rock(c, x, y, 0.2)
        if maybe(c, 0.3):
            plants.tree(c, c.aspect * c.rng.choice([0.08, 0.92]), 0.97, c.rng.uniform(0.6, 0.9))
        if maybe(c, 0.12):
            vehicles.tent(c, c.aspect * c.rng.uniform(0.3, 0.7), 0.96, 0.15)
        people(c, 0.93, 0.2, 0.32, 2)
    flock(c, line * 0.7, 0.15)


def riverside(c: Canvas) -> None:
    """A river between meadows, perhaps a bridge."""
    line = c.rng.uniform(0.42, 0.54)
    heavens.sky(c, line)
    background(c, line, 0.3, 0.8)
    if maybe(c, 0.5):
        horizon.woods(
            c, line + 0.025, c.rng.uniform(0.06, 0.12), 0.4, str(c.rng.choice(["leafy", "mixed", "autumn"]))
        )
    if maybe(c, 0.16):
        buildings.castle(c, c.aspect * c.rng.uniform(0.25, 0.75), line + 0.02, c.rng.uniform(0.2, 0.3), 0.35)
    ground.grass(c, line - 0.03, line + 0.02)
    stream(c, line + 0.03, c.rng.uniform(0.4, 0.65))
    for x, y, size in by_distance(c, line + 0.04, int(c.rng.integers(1, 5)), 0.03, 0.5):
        x = x if abs(x - c.aspect / 2) > 0.3 else x + 0.4 * np.sign(x - c.aspect / 2)
        plants.tree(c, x, y, 0.7 * size, haze_of(size), maybe(c, 0.2))
    if maybe(c, 0.55):
        buildings.bridge(
            c,
            c.rng.uniform(line + 0.16, line + 0.26),
            c.rng.uniform(0.12, 0.18),
            0.1,
            int(c.rng.integers(2, 5)),
        )
    if maybe(c, 0.2):
        vehicles.work_boat(c, c.aspect / 2, c.rng.uniform(0.85, 0.93), c.rng.uniform(0.2, 0.3))
    if maybe(c, 0.15):
        for _, y, size in by_distance(c, line + 0.1, 2, 0.2, 0.8):
            creatures.cow(c, c.aspect * c.rng.choice([0.1, 0.9]), y, 0.3 * size)
