"""Jobs in processes of their own, so that a decoder that crashes or hangs costs one photo and not the run.

Each worker is a fresh Python process, driven over its standard streams by one thread of the parent. A task whose worker
dies, or does not answer in time, is given once more to a new worker, and then answered by a `Failure`. Unlike a
process pool of the standard library, one death breaks nothing else, and the parent's `__main__` is never imported:
scripts need no guard and notebooks work.

A worker decodes files that may be hostile, so the parent does not trust it: its answers are plain data of bounded size
(`messages`), and an invalid answer counts as a death. Jobs and tasks go the other way, and are pickled.
"""

import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, suppress
from functools import partial
from queue import SimpleQueue
from subprocess import PIPE
from typing import Any

from topicture.children import start_python
from topicture.errors import TopictureError
from topicture.messages import BadMessage, receive_message
from topicture.vision.worker_process import Failure, Raised, attempt, one_line

__all__ = ["MEMORY_LIMIT", "Failure", "WarmPool", "run_isolated"]

ATTEMPTS = 2
START_SECONDS = 120.0  # a cold disk, or a machine with much else to do
MEMORY_LIMIT = 4 << 30
"""Most address space of a worker that decodes, in bytes: a photo that wants more is refused, not the machine."""
_SERVE = ("topicture.vision.worker_process", "serve")
# Workers are the parallelism; threads inside them would only fight over the cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}


def run_isolated(
    job: Callable[[Any], Any],
    tasks: Iterable[Any],
    workers: int,
    timeout: float,
    *,
    records: Iterable[type] = (),
    environment: Mapping[str, str] = ONE_THREAD,
    memory: int | None = MEMORY_LIMIT,
    folder: str | None = None,
    tasks_per_worker: int | None = None,
    ahead: int = 2,
) -> Iterator[tuple[int, Any]]:
    """Yield (number of the task, `job(task)` or a `Failure`), in order of completion.

    Parameters
    ----------
    job : callable
        Picklable; sent to each worker once.
    tasks : iterable
        Picklable, taken only as workers become free: at most `ahead` per worker are held at a time.
    workers : int
        Processes; 0 runs the tasks here, where a crash is a crash and nothing is timed.
    timeout : float
        Seconds that one task may take.
    records : dataclasses
        What the job may give besides plain values (see `messages.send_message`).
    environment : mapping
        Variables of the workers, besides those of this process.
    memory : int, optional
        Address space that a worker may take, in bytes, where the system can hold it to that.
    folder : str, optional
        Where workers work once the job is loaded; else they stay in a neutral folder, and relative paths mean nothing.
    tasks_per_worker : int, optional
        A worker that has done this many is replaced.

    Raises
    ------
    TopictureError
        The workers can't be started, or the job raised one: it ends the run. Other exceptions of the job are failures
        of their task.
    """
    if workers == 0:
        for number, task in enumerate(tasks):
            result = attempt(job, task)
            yield _checked((number, result.error() if isinstance(result, Raised) else result))
        return
    pending: SimpleQueue = SimpleQueue()
    finished: SimpleQueue = SimpleQueue()
    hire = partial(_Worker, (job, memory, folder), _known(records), environment)
    drivers = [_Driver(hire, pending, finished, timeout, tasks_per_worker) for _ in range(workers)]
    try:
        waiting = 0
        for numbered in enumerate(tasks):
            pending.put(numbered)
            waiting += 1
            if waiting == ahead * workers:
                yield _checked(finished.get())
                waiting -= 1
        for _ in range(waiting):
            yield _checked(finished.get())
    finally:
        _end(drivers, pending)


class WarmPool:
    """Workers that stay alive between tasks, for a program that is asked for one thing now and another later.

    They are started when the first task comes. A crash or a hang costs its task, as in `run_isolated`.
    """

    def __init__(
        self,
        job: Callable[[Any], Any],
        workers: int,
        timeout: float,
        *,
        records: Iterable[type] = (),
        memory: int = MEMORY_LIMIT,
    ) -> None:
        self._pending: SimpleQueue = SimpleQueue()
        hire = partial(_Worker, (job, memory, None), _known(records), ONE_THREAD)
        self._drivers = [_Driver(hire, self._pending, _Promises(), timeout, None) for _ in range(workers)]

    def ask(self, task: Any) -> Future:
        """What will be the result of a task, or its `Failure`; a TopictureError where the job raised one."""
        promise: Future = Future()
        self._pending.put((promise, task))
        return promise

    def close(self) -> None:
        """End the workers; what was still asked for is cancelled."""
        _end(self._drivers, self._pending)
        while not self._pending.empty():
            if (asked := self._pending.get()) is not None:
                asked[0].cancel()


class _Promises:
    """Where a driver puts its answers for those who wait for them."""

    def put(self, answered: tuple[Future, Any]) -> None:
        promise, answer = answered
        with suppress(InvalidStateError):  # nobody waits any more
            if isinstance(answer, TopictureError):
                promise.set_exception(answer)
            else:
                promise.set_result(answer)


def _known(records: Iterable[type]) -> dict[str, type]:
    return {record.__name__: record for record in (Failure, Raised, *records)}


def _end(drivers: "list[_Driver]", pending: SimpleQueue) -> None:
    for driver in drivers:
        driver.stop()
    for _ in drivers:
        pending.put(None)
    for driver in drivers:
        driver.join()


def _checked(numbered: tuple[int, Any]) -> tuple[int, Any]:
    if isinstance(numbered[1], TopictureError):
        raise numbered[1]
    return numbered


class _Driver(threading.Thread):
    """Feeds one worker, and replaces it when it dies."""

    def __init__(
        self,
        hire: Callable[[], "_Worker"],
        pending: SimpleQueue,
        finished: "SimpleQueue | _Promises",
        timeout: float,
        tasks_per_worker: int | None,
    ) -> None:
        super().__init__(daemon=True)
        self._hire, self._pending, self._finished, self._timeout = hire, pending, finished, timeout
        self._tasks_per_worker = tasks_per_worker
        self._worker: _Worker | None = None
        self._stopping = False
        self.start()

    def run(self) -> None:
        while (numbered := self._pending.get()) is not None and not self._stopping:
            number, task = numbered
            try:
                self._finished.put((number, self._answer(task)))
            except TopictureError as error:
                self._finished.put((number, error))
            except Exception as error:  # whoever waits for the answer must get one
                told = TopictureError(f"a worker process can't do its work: {type(error).__name__}: {error}")
                told.__cause__ = error
                self._dismiss()  # it may have got half of a task
                self._finished.put((number, told))
        self._dismiss()

    def stop(self) -> None:
        """Leave the current task; the thread ends soon after."""
        self._stopping = True
        if self._worker is not None:
            self._worker.kill()

    def _answer(self, task: Any) -> Any:
        cause = ""
        for _ in range(ATTEMPTS):
            if self._stopping:
                break
            if self._worker is not None and self._worker.n_done == self._tasks_per_worker:
                self._dismiss()
            if self._worker is None:
                self._worker = self._hire()
            try:
                return self._worker.ask(task, self._timeout)
            except _Died as death:
                cause = str(death)
                self._dismiss()
        return Failure(f"its decoder {cause}, twice: set aside", lasting=True)

    def _dismiss(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class _Died(Exception):
    """A worker gave no answer; the text ends a sentence about the decoder."""


class _Worker:
    """One process that runs the job."""

    def __init__(
        self,
        order: tuple[Callable, int | None, str | None],
        records: Mapping[str, type],
        environment: Mapping[str, str],
    ) -> None:
        self.n_done = 0
        self._records = records
        try:
            with ExitStack() as until_started:
                self._errors = until_started.enter_context(tempfile.TemporaryFile())
                self._process = start_python(
                    *_SERVE, environment=environment, stdin=PIPE, stdout=PIPE, stderr=self._errors
                )
                until_started.pop_all()  # `close` closes it
        except OSError as error:  # no room for temporary files, or too many processes
            raise TopictureError(f"a worker process can't be started: {error}") from error
        try:
            self._exchange(order, START_SECONDS)
        except _Died as death:
            last_line = self._last_error()
            self.close()
            raise TopictureError(f"a worker process {death} while starting: {last_line}") from None

    def ask(self, task: Any, timeout: float) -> Any:
        answer = self._exchange(task, timeout)
        self.n_done += 1
        return answer.error() if isinstance(answer, Raised) else answer

    def _exchange(self, message: Any, timeout: float) -> Any:
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        watchdog = threading.Timer(timeout, give_up)
        watchdog.daemon = True
        watchdog.start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            return receive_message(self._process.stdout, self._records)
        except BadMessage as error:
            raise _Died(f"gave an invalid answer ({one_line(str(error))[:100]})") from None
        except (OSError, EOFError):
            code = self._process.wait()
            raise _Died(
                f"took over {timeout:g} s" if late.is_set() else f"crashed ({_exit_name(code)})"
            ) from None
        finally:
            watchdog.cancel()

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass  # bytes that the dead process never took

    def _last_error(self) -> str:
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - (1 << 16)))
        lines = self._errors.read().decode(errors="backslashreplace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _exit_name(code: int) -> str:
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            pass
    return f"exit code {code}"
