"""An interrupt from the keyboard ends the program within two seconds, whatever it is doing.

The handler raises `Interrupted`, so that everything on the way out is tidied up. Python runs handlers between its own
instructions only, and compiled code may take minutes: so a thread, woken by the signal itself, ends the process where
the way out takes longer than `GRACE_SECONDS`. That is safe, since all that is stored survives a kill at any moment.
"""

import atexit
import contextlib
import glob
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Self

__all__ = ["INTERRUPTED", "Interrupted", "Interrupts"]

INTERRUPTED = 130
GRACE_SECONDS = 1.0
_LINE = b"topicture: interrupted\n"


class Interrupted(BaseException):
    """Ctrl-C in a command.

    Not a KeyboardInterrupt: models answer that one by keeping what they have learned so far, which suits a notebook,
    while a command must not save it as if it were whole.
    """


class Interrupts:
    """Handles SIGINT while it is open; only where the signal is not ignored, and in the main thread."""

    def __init__(self) -> None:
        self.seen = False
        self._told = threading.Lock()
        self._former: Any = None

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._former = signal.signal(signal.SIGINT, self._raise)
            if os.name == "posix":
                self._start_watch()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._former is None or self.seen:  # once seen, the watch goes on until the process has ended
            return
        if os.name == "posix":
            os.close(signal.set_wakeup_fd(-1))
        signal.signal(signal.SIGINT, self._former)
        # Python's own handler would print a traceback of the way out.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)

    def tell(self) -> None:
        """Say it, once."""
        if self._told.acquire(blocking=False):
            try:
                sys.stderr.flush()
                os.write(2, _LINE)
            except OSError:
                pass  # nobody is listening

    def end(self) -> None:
        """End the process, once all is tidied up: Python's own way out crashes where compiled code is still at work."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        self._end_now()

    def _raise(self, signum: int, frame: FrameType | None) -> None:
        if self.seen or _inside_jax(frame):
            self._end_now()
        self.seen = True
        sys.unraisablehook = lambda _: (
            None
        )  # raised in a finaliser it would be printed and lost; the watch remains
        raise Interrupted

    def _start_watch(self) -> None:
        wakes, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(wakes,), daemon=True).start()

    def _watch(self, wakes: int) -> None:
        with os.fdopen(wakes, "rb", buffering=0) as signals:
            while number := signals.read(1):
                if number[0] == signal.SIGINT:
                    time.sleep(GRACE_SECONDS)
                    self._end_now()

    def _end_now(self) -> None:
        self.tell()
        _kill_children()
        os._exit(INTERRUPTED)


def _inside_jax(frame: FrameType | None) -> bool:
    """Whether JAX may have called this code from C++, where an exception of ours would abort the process."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("jax", "jaxlib"):
            return True
        frame = frame.f_back
    return False


def _kill_children() -> None:
    """Where the system lists them; elsewhere workers end with their present photo, when nobody asks for another."""
    for path in glob.glob("/proc/self/task/*/children"):
        try:
            with open(path, encoding="ascii") as children:
                pids = [int(pid) for pid in children.read().split()]
        except OSError:
            continue  # the thread is gone
        for pid in pids:
            with contextlib.suppress(OSError):  # so is the child
                os.kill(pid, signal.SIGKILL)
