"""The worker's side of `workers`: a process that receives a job and answers tasks until its parent hangs up."""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from topicture import errors
from topicture.errors import TopictureError
from topicture.messages import send_message

__all__ = ["Failure", "Raised", "attempt", "one_line", "serve"]

LONGEST_REASON = 1000


@dataclass(frozen=True)
class Failure:
    """A task that has no result, and why, in one line; `lasting` where trying again would not help."""

    reason: str
    lasting: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not isinstance(self.lasting, bool):
            raise TypeError("a failure is a text and a truth value")


@dataclass(frozen=True)
class Raised:
    """A TopictureError of the job: the name of its class, and its text."""

    kind: str
    text: str

    def error(self) -> TopictureError:
        kind = getattr(errors, self.kind, TopictureError) if isinstance(self.kind, str) else TopictureError
        known = isinstance(kind, type) and issubclass(kind, TopictureError)
        return (kind if known else TopictureError)(one_line(str(self.text)))


def attempt(job: Callable[[Any], Any], task: Any) -> Any:
    try:
        return job(task)
    except TopictureError as error:  # what the user must put right, or all tasks will fail alike
        return Raised(type(error).__name__, str(error))
    except Exception as error:  # one task's trouble, whatever it is, stays one task's
        return Failure(f"{type(error).__name__}: {one_line(str(error)) or 'no message'}")


def one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_REASON]


def serve() -> None:
    """Run in a worker: receive the job, then answer tasks until the parent hangs up."""
    # Libraries that print must not print into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks = sys.stdin.buffer
    # An interrupt from the keyboard is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job, memory, folder = pickle.load(tasks)
        _limit_memory(memory)
        if folder is not None:
            os.chdir(folder)
        send_message(answers, None)
        while True:
            _answer(answers, job, pickle.load(tasks))
    except (EOFError, BrokenPipeError):
        pass


def _answer(stream: IO[bytes], job: Callable, task: Any) -> None:
    result = attempt(job, task)
    try:
        send_message(stream, result)
    except (TypeError, ValueError) as error:  # raised before anything is written
        send_message(stream, Failure(f"its result can't be sent: {one_line(str(error))}"))


def _limit_memory(limit: int | None) -> None:
    """Let the system refuse this process more than `limit` bytes; after the job's libraries are loaded."""
    try:
        import resource
    except ImportError:  # Windows
        return
    if limit is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
