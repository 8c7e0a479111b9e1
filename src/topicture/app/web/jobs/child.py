"""The process of one piece of long work: told what to do on standard input, tells how it goes on standard output.

It ends with the server, however that ends: its standard input is then at an end.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import IO, Any

from topicture.app.verbs.library import Library
from topicture.app.verbs.plain import as_plain
from topicture.app.web.failures import described
from topicture.app.web.jobs.job import shortened
from topicture.app.web.jobs.work import WORK
from topicture.messages import receive_message, send_message

__all__ = ["main"]

EVERY_SECONDS = 0.1  # between two pieces of news of one stage


class Cancelled(BaseException):
    """Not a KeyboardInterrupt: models answer that one by keeping what they have learned so far."""


def main() -> None:
    """Run in the child."""
    # Libraries that print must not print into the news.
    news = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, _cancel)
    order = receive_message(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    work, _ = WORK[order["kind"]]
    told = _News(news)
    try:
        result = work(Library(order["catalog"]), order["options"], told.report, told.trace)
        told.send({"result": shortened(as_plain(result))})
    except Cancelled:
        told.send({"cancelled": True})
    except Exception as error:
        told.send({"error": described(error)[1]})
    os._exit(0)  # threads of compiled code that are still at work have nothing more to say


def _cancel(signum: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise Cancelled


def _end_with_the_server() -> None:
    while sys.stdin.buffer.read(1):
        pass
    if hasattr(os, "killpg"):
        os.killpg(os.getpgid(0), signal.SIGKILL)  # its own group, as `board` starts it: the workers go, too
    os._exit(1)


class _News:
    """Messages to the server, not more often than somebody could look."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sending = threading.Lock()
        self._stage = ""
        self._told = {"report": 0.0, "trace": 0.0}

    def send(self, message: dict[str, Any]) -> None:
        with self._sending:
            send_message(self._stream, message)

    def report(self, stage: str, done: int, total: int | None) -> None:
        if stage != self._stage or done == total or self._is_time("report"):
            self._stage = stage
            self.send({"stage": stage, "done": int(done), "total": None if total is None else int(total)})

    def trace(self, entry: dict[str, Any]) -> None:
        if "objective" not in entry or self._is_time("trace"):
            self.send({"trace": as_plain(entry)})

    def _is_time(self, kind: str) -> bool:
        now = time.monotonic()
        if now - self._told[kind] < EVERY_SECONDS:
            return False
        self._told[kind] = now
        return True
