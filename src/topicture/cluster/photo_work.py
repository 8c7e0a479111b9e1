"""What a worker does with photos: it hands them to a decoder in a process of its own, which stays for the next ones.

A worker of a cluster is trusted; what decodes a photo is not, here as on one machine (vision.workers).
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from topicture.vision.measure import Measured, Unmeasured
from topicture.vision.workers import WarmPool

__all__ = ["measure_photos"]


def measure_photos(job: Callable[[Any], Any], timeout: float, memory: int, tasks: Sequence[Any]) -> list[Any]:
    """The results of tasks, in their order: measurements, or why there are none."""
    pool = _POOLS.pool_for(job, timeout, memory)
    return [promise.result() for promise in [pool.ask(task) for task in tasks]]


class _Pools:
    """One decoder, for the job that was asked for last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._order: tuple[Any, ...] | None = None
        self._pool: WarmPool | None = None

    def pool_for(self, job: Callable[[Any], Any], timeout: float, memory: int) -> WarmPool:
        with self._lock:
            if self._pool is None or self._order != (job, timeout, memory):
                if self._pool is not None:
                    self._pool.close()
                self._order = job, timeout, memory
                self._pool = WarmPool(job, 1, timeout, records=(Measured, Unmeasured), memory=memory)
            return self._pool


_POOLS = _Pools()
