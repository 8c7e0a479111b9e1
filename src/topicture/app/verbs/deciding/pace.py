"""How fast somebody decides, from when they did: so that a page can say how long the rest will take."""

import itertools
from collections.abc import Sequence

__all__ = ["decisions_per_minute"]

PAUSE = 60.0
"""Seconds after which somebody has turned to something else; such gaps don't count."""

FEWEST = 3
"""Gaps between answers that make a pace."""


def decisions_per_minute(times: Sequence[tuple[float, int]]) -> float | None:
    """The pace of steps given as (time, number of decisions), the newest first; None while there are too few.

    The time before a step is what its decisions took.
    """
    gaps = [
        (later - earlier, n)
        for (later, n), (earlier, _) in itertools.pairwise(times)
        if 0 <= later - earlier <= PAUSE
    ]
    seconds = sum(gap for gap, _ in gaps)
    if len(gaps) < FEWEST or seconds <= 0:
        return None
    return 60.0 * sum(n for _, n in gaps) / seconds
