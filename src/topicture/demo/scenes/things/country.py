"""Scenes inland: mountains, meadow, farmland, forest, desert, winter, garden, railway, and the air above."""

import numpy as np

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.layout import (
    CROPS,
    arc,
    background,
    by_distance,
    flock,
    haze_of,
    maybe,
    people,
    stream,
    way_into,
)
from topicture.demo.scenes.light import pick, rgb
from topicture.demo.scenes.things import buildings, creatures, ground, heavens, horizon, plants, vehicles

__all__ = ["aloft", "desert", "farmland", "forest", "garden", "meadow", "mountains", "railway", "winter"]


def mountains(c: Canvas) -> None:
    """A range above alpine meadows."""
    line = c.rng.uniform(0.5, 0.64)
    heavens.sky(c, line)
    flock(c, line * 0.6, 0.15)
    snow = c.rng.choice([0.0, 0.35, 0.5, 0.7])
    horizon.mountains(c, line, c.rng.uniform(0.30, 0.42), 0.8, snow)
    if maybe(c, 0.6):
        horizon.mountains(c, line + 0.05, c.rng.uniform(0.15, 0.26), 0.45, snow * 0.5)
    if maybe(c, 0.75):
        horizon.woods(
            c,
            line + 0.06,
            c.rng.uniform(0.06, 0.12),
            0.35,
            str(c.rng.choice(["conifer", "conifer", "mixed"])),
        )
    ground.grass(c, line - 0.05, line + 0.05 + 0.02 * np.sin(4 * c.x + c.rng.uniform(0, 6)))
    if maybe(c, 0.4):
        way_into(c, line + 0.05, "path")
    if maybe(c, 0.45):
        for x, y, size in by_distance(c, line + 0.06, int(c.rng.integers(2, 6))):
            plants.rock(c, x, y, 0.25 * size, haze_of(size))
    for x, y, size in by_distance(c, line + 0.06, int(c.rng.integers(0, 4)), 0.1, 0.7):
        plants.conifer(c, x, y, 0.6 * size, haze_of(size))
    if maybe(c, 0.16):
        vehicles.tent(
            c, c.aspect * c.rng.uniform(0.25, 0.75), c.rng.uniform(0.78, 0.92), c.rng.uniform(0.12, 0.18)
        )
    people(c, line + 0.06, 0.22)


def meadow(c: Canvas) -> None:
    """Grassland with animals or flowers."""
    line = c.rng.uniform(0.40, 0.58)
    heavens.sky(c, line)
    arc(c, line)
    flock(c, line, 0.15)
    background(c, line, 0.25, 0.75)
    if maybe(c, 0.12):
        buildings.windmill(
            c, c.aspect * c.rng.uniform(0.15, 0.85), line + 0.03, c.rng.uniform(0.22, 0.36), 0.25
        )
    if maybe(c, 0.35):
        horizon.woods(
            c, line + 0.03, c.rng.uniform(0.05, 0.09), 0.4, str(c.rng.choice(["leafy", "mixed", "autumn"]))
        )
    ground.grass(c, line - 0.03, line + 0.025)
    autumn = maybe(c, 0.2)
    for x, y, size in by_distance(c, line + 0.03, int(c.rng.integers(0, 4)), 0.05, 0.5):
        plants.tree(c, x, y, 0.75 * size, haze_of(size), autumn)
    kind = c.rng.choice(["cow", "sheep", "horse", "flower", "none"], p=[0.23, 0.23, 0.23, 0.16, 0.15])
    if kind in ("cow", "sheep", "horse"):
        paint = {"cow": creatures.cow, "sheep": creatures.sheep, "horse": creatures.horse}[str(kind)]
        tall = {"cow": 0.32, "sheep": 0.2, "horse": 0.38}[str(kind)]
        for x, y, size in by_distance(c, line + 0.06, int(c.rng.integers(1, 6)), 0.12, 0.8):
            paint(c, x, y, tall * size, haze_of(size))
    elif kind == "flower":
        plants.flowers(c, (0.0, line + 0.12, c.aspect, 1.02), int(c.rng.integers(60, 130)), 0.024)
    if maybe(c, 0.3):
        buildings.fence(c, c.rng.uniform(0.93, 1.0), c.rng.uniform(0.16, 0.24), c.rng.uniform(-0.04, 0.04))
    people(c, line + 0.06, 0.12)


def farmland(c: Canvas) -> None:
    """Crops to the horizon."""
    line = c.rng.uniform(0.40, 0.55)
    heavens.sky(c, line)
    arc(c, line)
    flock(c, line, 0.2)
    background(c, line, 0.2, 0.7)
    if maybe(c, 0.4):
        horizon.woods(
            c, line + 0.02, c.rng.uniform(0.04, 0.08), 0.5, str(c.rng.choice(["leafy", "autumn", "mixed"]))
        )
    if maybe(c, 0.22):
        buildings.windmill(
            c, c.aspect * c.rng.uniform(0.15, 0.85), line + 0.03, c.rng.uniform(0.25, 0.4), 0.2
        )
    ground.field(c, line - 0.02, line + 0.015, str(c.rng.choice(CROPS)))
    if maybe(c, 0.35):
        way_into(c, line + 0.02, str(c.rng.choice(["road", "path"])))
    for x, y, size in by_distance(c, line + 0.02, int(c.rng.integers(0, 3)), 0.02, 0.35):
        plants.tree(c, x, y, 0.8 * size, haze_of(size), maybe(c, 0.25))
    if maybe(c, 0.4):
        buildings.house(c, c.aspect * c.rng.uniform(0.15, 0.85), line + 0.06, c.rng.uniform(0.13, 0.22), 0.25)
    if maybe(c, 0.12):
        creatures.horse(c, c.aspect * c.rng.uniform(0.2, 0.8), 0.82, 0.28)
    people(c, line + 0.08, 0.15)


def forest(c: Canvas) -> None:
    """Woods, with a path or a stream."""
    line = c.rng.uniform(0.44, 0.56)
    heavens.sky(c, line)
    kind = str(c.rng.choice(["conifer", "leafy", "autumn", "mixed"]))
    for step, tall in ((0.9, 0.42), (0.6, 0.34), (0.3, 0.30)):
        horizon.woods(c, line + 0.08 * (1 - step), tall * c.rng.uniform(0.9, 1.2), step * 0.8, kind)
    floor = pick(c.rng, ((0.46, 0.34, 0.18), (0.52, 0.38, 0.16))) if kind == "autumn" else None
    ground.grass(c, line - 0.05, line + 0.05, floor)
    if maybe(c, 0.55):
        way_into(c, line + 0.05, "path")
    elif maybe(c, 0.5):
        stream(c, line + 0.05)
    for x, y, size in by_distance(c, line + 0.07, int(c.rng.integers(3, 8)), 0.1, 0.8):
        x = x if abs(x - c.aspect / 2) > 0.25 else x + 0.35 * np.sign(x - c.aspect / 2)
        if kind == "conifer" or (kind == "mixed" and maybe(c, 0.5)):
            plants.conifer(c, x, y, 0.95 * size, haze_of(size))
        else:
            plants.tree(c, x, y, 0.95 * size, haze_of(size), kind == "autumn")
    people(c, line + 0.1, 0.18)


def desert(c: Canvas) -> None:
    """Dunes, rocks, cacti."""
    c.scene_words.add("desert")
    line = c.rng.uniform(0.42, 0.58)
    heavens.sky(c, line)
    flock(c, line, 0.08)
    dune = pick(c.rng, ((0.84, 0.62, 0.38), (0.88, 0.74, 0.52), (0.76, 0.50, 0.32)))
    if maybe(c, 0.5):
        horizon.mountains(
            c,
            line + 0.02,
            c.rng.uniform(0.10, 0.24),
            0.8,
            0.0,
            pick(c.rng, ((0.60, 0.40, 0.30), (0.52, 0.38, 0.34))),
        )
    for step in (0.5, 0.25):
        if maybe(c, 0.75):
            horizon.hills(
                c, line + 0.04 + 0.1 * (0.5 - step), c.rng.uniform(0.06, 0.16), step, dune * 0.97, "sand"
            )
    ground.sand(c, line - 0.02, line + 0.05 + 0.03 * np.sin(3 * c.x + c.rng.uniform(0, 6)), dune)
    if maybe(c, 0.15):
        way_into(c, line + 0.05, "road")
    if maybe(c, 0.4):
        for x, y, size in by_distance(c, line + 0.08, int(c.rng.integers(1, 5))):
            plants.rock(
                c, x, y, 0.28 * size, haze_of(size), pick(c.rng, ((0.58, 0.40, 0.30), (0.50, 0.42, 0.36)))
            )
    if maybe(c, 0.6):
        for x, y, size in by_distance(c, line + 0.06, int(c.rng.integers(1, 6)), 0.1, 0.85):
            plants.cactus(c, x, y, 0.6 * size, haze_of(size))
    if maybe(c, 0.12):
        vehicles.tent(c, c.aspect * c.rng.uniform(0.2, 0.8), 0.85, 0.15)
    people(c, line + 0.1, 0.15)


def winter(c: Canvas) -> None:
    """Snow on everything."""
    line = c.rng.uniform(0.42, 0.56)
    heavens.sky(c, line)
    if maybe(c, 0.5):
        horizon.mountains(c, line + 0.02, c.rng.uniform(0.2, 0.34), 0.85, 0.75)
    if maybe(c, 0.6):
        horizon.woods(c, line + 0.03, c.rng.uniform(0.06, 0.12), 0.5, "conifer")
    ground.snowfield(c, line - 0.03, line + 0.025 + 0.015 * np.sin(3 * c.x + c.rng.uniform(0, 6)))
    if maybe(c, 0.3):
        way_into(c, line + 0.04, str(c.rng.choice(["road", "path"])))
    for x, y, size in by_distance(c, line + 0.04, int(c.rng.integers(1, 8)), 0.05, 0.7):
        plants.conifer(c, x, y, 0.7 * size, haze_of(size), snowy=True)
    if maybe(c, 0.4):
        for x, y, size in by_distance(c, line + 0.05, int(c.rng.integers(1, 4)), 0.05, 0.5):
            buildings.house(c, x, y, 0.42 * size, haze_of(size), snowy=True)
    elif maybe(c, 0.15):
        buildings.church(
            c, c.aspect * c.rng.uniform(0.2, 0.8), line + 0.08, c.rng.uniform(0.32, 0.45), 0.15, snowy=True
        )
    if maybe(c, 0.25):
        buildings.fence(c, c.rng.uniform(0.93, 1.0), c.rng.uniform(0.14, 0.2), c.rng.uniform(-0.04, 0.04))
    people(c, line + 0.1, 0.25)


def garden(c: Canvas) -> None:
    """Lawn, flower beds, a fence, a house."""
    c.scene_words.add("garden")
    line = c.rng.uniform(0.36, 0.46)
    heavens.sky(c, line)
    if maybe(c, 0.7):
        horizon.woods(c, line + 0.095, c.rng.uniform(0.17, 0.28), 0.2, "leafy", word="tree")
    if maybe(c, 0.45):
        buildings.house(c, c.aspect * c.rng.uniform(0.25, 0.7), line + 0.08, c.rng.uniform(0.3, 0.42), 0.1)
    if maybe(c, 0.4):
        buildings.fence(c, line + 0.09, c.rng.uniform(0.10, 0.14), 0.0, pickets=maybe(c, 0.7))
    ground.grass(c, line - 0.05, line + 0.085, pick(c.rng, ((0.36, 0.55, 0.20), (0.30, 0.50, 0.20))))
    if maybe(c, 0.5):
        way_into(c, line + 0.09, "path", half=0.2)
    for x, y, size in by_distance(c, line + 0.1, int(c.rng.integers(1, 4)), 0.05, 0.4):
        plants.tree(c, x, y, 0.75 * size, haze_of(size) * 0.5, maybe(c, 0.12))
    for _ in range(c.rng.integers(1, 4)):
        y0, x0 = c.rng.uniform(line + 0.18, 0.85), c.rng.uniform(-0.1, c.aspect - 0.4)
        bed = (x0, y0, x0 + c.rng.uniform(0.4, 0.8), y0 + c.rng.uniform(0.10, 0.20))
        plants.flower_bed(c, bed)
    people(c, line + 0.15, 0.22)


def railway(c: Canvas) -> None:
    """A train across the country."""
    line = c.rng.uniform(0.42, 0.55)
    heavens.sky(c, line)
    background(c, line, 0.4, 0.7)
    if maybe(c, 0.4):
        horizon.woods(
            c, line + 0.02, c.rng.uniform(0.05, 0.1), 0.4, str(c.rng.choice(["leafy", "conifer", "autumn"]))
        )
    crop = str(c.rng.choice(CROPS))
    if maybe(c, 0.6):
        ground.grass(c, line - 0.03, line + 0.015)
    else:
        ground.field(c, line - 0.03, line + 0.015, crop)
    y = c.rng.uniform(line + 0.16, 0.82)
    bed = np.clip(1 - np.abs(c.y - y) / 0.03, 0, 1) ** 0.5
    gravel = 0.9 + 0.16 * c.noise(c.tiles.grain, 0.7)
    c.paint(np.broadcast_to(bed, c.labels.shape), c.lit(rgb(0.46, 0.42, 0.38), gravel), None)
    nose = c.rng.uniform(0.03, 0.35)
    vehicles.train(c, c.aspect * (nose if maybe(c, 0.5) else 1 - nose), y, c.rng.uniform(0.12, 0.2), 0.05)
    for x, ty, size in by_distance(c, y + 0.04, int(c.rng.integers(0, 3)), 0.1, 0.6):
        plants.tree(c, x, ty, 0.4 * size + 0.1, 0.0, maybe(c, 0.25))
    if maybe(c, 0.35):
        buildings.fence(c, 0.98, c.rng.uniform(0.13, 0.18))


def aloft(c: Canvas) -> None:
    """Mostly sky, with balloons over low country."""
    line = c.rng.uniform(0.7, 0.82)
    heavens.sky(c, line)
    background(c, line, 0.4, 0.9)
    if maybe(c, 0.5):
        ground.field(c, line - 0.05, line + 0.02, str(c.rng.choice(CROPS)))
    else:
        ground.grass(c, line - 0.05, line + 0.02)
    for x, y, size in by_distance(c, line + 0.02, int(c.rng.integers(0, 5)), 0.02, 0.3):
        plants.tree(c, x, y, 0.3 * size, haze_of(size))
    for size in np.sort(c.rng.uniform(0.1, 0.5, c.rng.integers(1, 6))):
        vehicles.balloon(
            c,
            c.aspect * c.rng.uniform(0.08, 0.92),
            line * c.rng.uniform(0.45, 0.95),
            size,
            0.6 * (0.5 - size),
        )
    flock(c, line, 0.15)
