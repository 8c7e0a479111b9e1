"""Jobs in processes of their own, so that a decoder that crashes or hangs costs one photo and not the run.

Each worker is a fresh Python process, driven over its standard streams by one thread of the parent. A task whose worker
dies, or does not answer in time, is given once more to a new worker, and then answered by a `Failure`. Unlike a
process pool of the standard library, one death breaks nothing else, and the parent's `__main__` is never imported:
scripts need no guard and notebooks work.
"""

import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from topicture.errors import TopictureError

__all__ = ["Failure", "run_isolated"]

ATTEMPTS = 2
START_SECONDS = 120.0  # a cold disk, or a machine with much else to do
_COMMAND = "from topicture.vision.workers import serve; serve()"
# Workers are the parallelism; threads inside them would only fight over the cores.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Failure:
    """A task that has no result, and why, in one line; `lasting` where trying again would not help."""

    reason: str
    lasting: bool = False


def run_isolated(
    job: Callable[[Any], Any], tasks: Iterable[Any], workers: int, timeout: float
) -> Iterator[tuple[int, Any]]:
    """Yield (number of the task, `job(task)` or a `Failure`), in order of completion.

    Parameters
    ----------
    job : callable
        Picklable; sent to each worker once.
    tasks : iterable
        Picklable, taken only as workers become free: at most two a worker are held at a time.
    workers : int
        Processes; 0 runs the tasks here, where a crash is a crash and nothing is timed.
    timeout : float
        Seconds that one task may take.

    Raises
    ------
    TopictureError
        The workers can't be started, or the job raised one: it ends the run. Other exceptions of the job are failures
        of their task.
    """
    if workers == 0:
        for number, task in enumerate(tasks):
            yield _checked((number, _attempt(job, task)))
        return
    pending: SimpleQueue = SimpleQueue()
    finished: SimpleQueue = SimpleQueue()
    drivers = [_Driver(job, pending, finished, timeout) for _ in range(workers)]
    try:
        waiting = 0
        for numbered in enumerate(tasks):
            pending.put(numbered)
            waiting += 1
            if waiting == 2 * workers:
                yield _checked(finished.get())
                waiting -= 1
        for _ in range(waiting):
            yield _checked(finished.get())
    finally:
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


def _attempt(job: Callable[[Any], Any], task: Any) -> Any:
    try:
        return job(task)
    except TopictureError as error:  # what the user must put right, or all tasks will fail alike
        return error
    except Exception as error:  # one task's trouble, whatever it is, stays one task's
        message = " ".join(str(error).split()) or "no message"
        return Failure(f"{type(error).__name__}: {message}")


# --- The parent's side ------------------------------------------------------------------------------------------------


class _Driver(threading.Thread):
    """Feeds one worker, and replaces it when it dies."""

    def __init__(self, job: Callable, pending: SimpleQueue, finished: SimpleQueue, timeout: float) -> None:
        super().__init__(daemon=True)
        self._job, self._pending, self._finished, self._timeout = job, pending, finished, timeout
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
        if self._worker is not None:
            self._worker.close()

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
            if self._worker is None:
                self._worker = _Worker(self._job)
            try:
                return self._worker.ask(task, self._timeout)
            except _Died as death:
                cause = str(death)
                self._worker.close()
                self._worker = None
        return Failure(f"its decoder {cause}, twice: set aside", lasting=True)


class _Died(Exception):
    """A worker gave no answer; the text ends a sentence about the decoder."""


class _Worker:
    """One process that runs the job."""

    def __init__(self, job: Callable) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        # The child must find what the parent finds, however the parent's path was set.
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **path, **_ONE_THREAD},
        )
        try:
            self.ask(job, START_SECONDS)
        except _Died as death:
            last_line = self._last_error()
            self.close()
            raise TopictureError(f"a worker process {death} while starting: {last_line}") from None

    def ask(self, message: Any, timeout: float) -> Any:
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        watchdog = threading.Timer(timeout, give_up)
        watchdog.daemon = True
        watchdog.start()
        try:
            _send(self._process.stdin, message)
            return _receive(self._process.stdout)
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
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="backslashreplace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _exit_name(code: int) -> str:
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            pass
    return f"exit code {code}"


# --- The worker's side ------------------------------------------------------------------------------------------------


def serve() -> None:
    """Run in a worker: receive the job, then answer tasks until the parent hangs up."""
    # Libraries that print must not print into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks = sys.stdin.buffer
    # An interrupt from the keyboard is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job = _receive(tasks)
        _send(answers, None)
        while True:
            _send(answers, _attempt(job, _receive(tasks)))
    except (EOFError, BrokenPipeError):
        pass


def _send(stream: Any, message: Any) -> None:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def _receive(stream: Any) -> Any:
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return pickle.loads(_read_exactly(stream, length))


def _read_exactly(stream: Any, n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content
