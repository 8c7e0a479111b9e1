"""Parts of arrays worked on side by side, each with products of its own, instead of products that are split.

NumPy lets go of the interpreter inside a product or an `exp`. Products that are split over threads wait for each other,
actively, and what lies between them uses one core: on a busy machine they take many times as long. Parts side by side
keep all cores busy and wait for nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

__all__ = ["ForEach", "side_by_side"]

ForEach = Callable[[Callable[[Any], None], Iterable[Any]], None]


@contextmanager
def side_by_side() -> Iterator[ForEach]:
    """`for_each(work, parts)` calls work(part) for all parts, several at a time; parts must write to different places.

    Inside, a product uses one thread. There are as many threads as products had before: what the user has set, else the
    number of cores. An exception of one part comes out of `for_each`.
    """
    n_threads = _n_threads()
    with threadpool_limits(1, "blas"):
        if n_threads < 2:
            yield _one_after_the_other
            return
        with ThreadPoolExecutor(n_threads) as pool:

            def for_each(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
                for _ in pool.map(work, parts):
                    pass

            yield for_each


def _one_after_the_other(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
    for part in parts:
        work(part)


def _n_threads() -> int:
    return max(
        (library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=1
    )
