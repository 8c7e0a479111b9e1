"""Parts of arrays worked on side by side, each with products of its own, instead of products that are split.

NumPy lets go of the interpreter inside a product or an `exp`. Products that are split over threads wait for each other,
actively, and what lies between them uses one core: on a busy machine they take many times as long. Parts side by side
keep all cores busy and wait for nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

__all__ = ["ForEach", "one_thread_products", "side_by_side"]

ForEach = Callable[[Callable[[Any], None], Iterable[Any]], None]


class _Limit:
    """The one limit of the process, and how many ask for it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_users = 0
        self.set: threadpool_limits | None = None


_LIMIT = _Limit()


@contextmanager
def one_thread_products() -> Iterator[None]:
    """Inside, a product uses one thread.

    The number of threads belongs to the whole process. Fits in several threads overlap and end in any order, so the
    first sets the limit and the last, whichever it is, restores what was before.
    """
    with _LIMIT.lock:
        if _LIMIT.n_users == 0:
            with _from_this_thread():
                _LIMIT.set = threadpool_limits(1, "blas")
        _LIMIT.n_users += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.n_users -= 1
            if _LIMIT.n_users == 0 and _LIMIT.set is not None:
                with _from_this_thread():
                    _LIMIT.set.restore_original_limits()


@contextmanager
def _from_this_thread() -> Iterator[None]:
    """Calls of threadpoolctl have an effect, which it grants only to the first thread that makes one."""
    OpenBLASController.clear_controlling_thread(force=True)
    try:
        yield
    finally:
        OpenBLASController.clear_controlling_thread()


@contextmanager
def side_by_side() -> Iterator[ForEach]:
    """`for_each(work, parts)` calls work(part) for all parts, several at a time; parts must write to different places.

    Inside, a product uses one thread. There are as many threads as products had before: what the user has set, else the
    number of cores (one while another fit has limited products). An exception of one part comes out of `for_each`.
    """
    n_threads = _n_threads()
    with one_thread_products():
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
