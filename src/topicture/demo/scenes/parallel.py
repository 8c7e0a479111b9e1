"""Rendering in several processes.

Each worker is a fresh interpreter that renders every k-th image and writes it to its standard output. The
parent takes the images in turn, so that their order is kept and a full pipe holds a fast worker back. The
parent's `__main__` is never imported: scripts need no guard, and notebooks work.
"""

import subprocess
import sys
from collections.abc import Iterator

from topicture.children import start_python
from topicture.demo.scenes.render import Scene, render_scene
from topicture.errors import TopictureError
from topicture.messages import BadMessage, receive_message, send_message

__all__ = ["render_in_processes", "serve"]

_SERVE = (__name__, "serve")
_RECORDS = {"Scene": Scene}


def render_in_processes(n: int, seed: int, width: int, height: int, workers: int) -> Iterator[Scene]:
    """Yield images 0 to n - 1 of a seed in order, rendered by several processes."""
    workers = min(workers, n)
    crew = [_hire((seed, width, height, k, n, workers)) for k in range(workers)]
    try:
        for index in range(n):
            worker = crew[index % workers]
            assert worker.stdout is not None
            try:
                yield receive_message(worker.stdout, _RECORDS)
            except (EOFError, BadMessage) as fault:
                raise TopictureError(
                    f"scene {index} was not rendered: its worker process ended; try workers=1"
                ) from fault
    finally:
        for worker in crew:
            worker.kill()
            worker.communicate()


def _hire(task: tuple[int, ...]) -> subprocess.Popen:
    worker = start_python(*_SERVE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    send_message(worker.stdin, task)
    return worker


def serve() -> None:
    """The worker's side: read one task, write its images."""
    seed, width, height, first, n, step = receive_message(sys.stdin.buffer)
    for index in range(first, n, step):
        send_message(sys.stdout.buffer, render_scene(seed, index, width, height))
