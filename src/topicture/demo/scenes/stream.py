"""Many scenes in order, from one process or several."""

from collections.abc import Iterator
from functools import partial

from topicture.demo.scenes.parallel import render_in_processes
from topicture.demo.scenes.render import Scene, render_scene

__all__ = ["render_scenes"]


def render_scenes(
    n: int, seed: int = 0, width: int = 256, height: int = 192, workers: int = 1
) -> Iterator[Scene]:
    """Yield images 0 to n - 1 in order; the number of worker processes changes nothing but the time."""
    if min(workers, n) > 1:
        return render_in_processes(n, seed, width, height, workers)
    return map(partial(render_scene, seed, width=width, height=height), range(n))
