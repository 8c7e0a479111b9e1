"""The kinds of scene: how often each occurs, and in which light."""

from collections.abc import Callable
from typing import NamedTuple

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.things import country, settlements, shores

__all__ = ["PLACES", "Place"]


class Place(NamedTuple):
    """A kind of scene: how to paint it, how often it occurs, in which light."""

    paint: Callable[[Canvas], None]
    weight: float
    times: dict[str, float]


_ANY = {"day": 0.45, "golden": 0.2, "overcast": 0.2, "sunset": 0.12, "night": 0.03}

_BRIGHT = {"day": 0.6, "golden": 0.25, "overcast": 0.15}

PLACES: tuple[Place, ...] = (
    Place(shores.coast, 0.13, {"day": 0.4, "golden": 0.15, "overcast": 0.15, "sunset": 0.25, "night": 0.05}),
    Place(country.meadow, 0.13, _ANY),
    Place(country.mountains, 0.10, _ANY),
    Place(
        settlements.city, 0.10, {"day": 0.4, "golden": 0.15, "overcast": 0.2, "sunset": 0.08, "night": 0.17}
    ),
    Place(settlements.village, 0.08, _ANY),
    Place(country.farmland, 0.07, _ANY),
    Place(shores.lake, 0.07, _ANY),
    Place(
        country.winter, 0.07, {"day": 0.45, "golden": 0.15, "overcast": 0.25, "sunset": 0.08, "night": 0.07}
    ),
    Place(country.forest, 0.055, {"day": 0.4, "golden": 0.2, "overcast": 0.35, "sunset": 0.05}),
    Place(shores.riverside, 0.05, _ANY),
    Place(country.garden, 0.05, _BRIGHT),
    Place(country.desert, 0.055, {"day": 0.5, "golden": 0.25, "sunset": 0.15, "night": 0.1}),
    Place(settlements.night_town, 0.03, {"night": 1.0}),
    Place(country.railway, 0.035, _ANY),
    Place(settlements.old_town, 0.03, {"day": 0.5, "golden": 0.2, "overcast": 0.2, "night": 0.1}),
    Place(shores.tropics, 0.035, {"day": 0.6, "golden": 0.15, "sunset": 0.25}),
    Place(shores.harbour, 0.03, {"day": 0.45, "golden": 0.2, "overcast": 0.2, "sunset": 0.1, "night": 0.05}),
    Place(country.aloft, 0.03, {"day": 0.5, "golden": 0.35, "sunset": 0.15}),
)
