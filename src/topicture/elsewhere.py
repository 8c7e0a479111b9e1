"""Where large work is done: in this process, or elsewhere, such as on a cluster.

Whoever has work that can be cut asks `engine_elsewhere()`. There is none unless somebody has said so (`working_on`):
then photos are measured, images passed over and answers found by others. The results are the same, to the bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

__all__ = ["Engine", "engine_elsewhere", "working_on"]


class Engine(ABC):
    """Others who work for this process. Implemented by `cluster.engine.Cluster`."""

    folder: Path  # storage that all of them see, for as long as the engine lives

    @abstractmethod
    def shards(self, batches: Any, posteriors: Any) -> Any:
        """The images of one fit (`models.em.shards.Shards`); None where they are too few to be shared."""

    @abstractmethod
    def measure(
        self, job: Callable[[Any], Any], tasks: Iterable[Any], timeout: float, memory: int
    ) -> Iterator[tuple[int, Any]]:
        """As `vision.workers.run_isolated`: (number of the task, its result), in order of completion."""

    @abstractmethod
    def in_order(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """`function(*call)` of every call, in their order; a function of a module, which the others import."""


_ENGINE: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def working_on(engine: Engine | None) -> Iterator[None]:
    """Inside, large work goes to the engine."""
    token = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(token)


def engine_elsewhere() -> Engine | None:
    return _ENGINE.get()
