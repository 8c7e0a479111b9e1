"""Rendering in several processes.

Each worker is a fresh interpreter that renders every k-th image and writes it to its standard output. The
parent takes the images in turn, so that their order is kept and a full pipe holds a fast worker back. The
parent's `__main__` is never imported: scripts need no guard, and notebooks work.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator

from topicture.collection.scenes.render import Scene, render_scene
from topicture.errors import TopictureError

__all__ = ["render_in_processes", "serve"]

_COMMAND = "from topicture.collection.scenes.parallel import serve; serve()"


def render_in_processes(n: int, seed: int, width: int, height: int, workers: int) -> Iterator[Scene]:
    """Yield images 0 to n - 1 of a seed in order, rendered by several processes."""
    workers = min(workers, n)
    crew = [_hire((seed, width, height, range(k, n, workers))) for k in range(workers)]
    try:
        for index in range(n):
            worker = crew[index % workers]
            assert worker.stdout is not None
            try:
                yield pickle.load(worker.stdout)
            except (EOFError, pickle.UnpicklingError) as fault:
                raise TopictureError(
                    f"scene {index} was not rendered: its worker process ended; try workers=1"
                ) from fault
    finally:
        for worker in crew:
            worker.kill()
            worker.communicate()


def _hire(task: tuple[int, int, int, range]) -> subprocess.Popen:
    # The parent may have found this package through a path of its own.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    worker = subprocess.Popen(
        [sys.executable, "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert worker.stdin is not None
    worker.stdin.write(pickle.dumps(task))
    worker.stdin.flush()
    return worker


def serve() -> None:
    """The worker's side: read one task, write its images."""
    seed, width, height, indices = pickle.load(sys.stdin.buffer)
    for index in indices:
        pickle.dump(render_scene(seed, index, width, height), sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
