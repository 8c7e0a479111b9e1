"""The door of the program: whatever happens behind it, a person reads one line, and a script gets a code.

Exit codes: 0 done; 1 something was skipped or is pending; 2 bad input or usage, or trouble, told in one line;
130 interrupted; 141 nobody reads the output any more (as in `topicture tags | head`).

Nothing heavy is imported before the interrupt from the keyboard has its handler.
"""

import io
import os
import sys

from topicture.app.cli.interrupts import INTERRUPTED, Interrupted, Interrupts

__all__ = ["main"]

NOBODY_READS = 141  # what a shell reports of a program that SIGPIPE has ended


def main() -> None:
    """Entry point: an error is answered by one line, never by a traceback, unless one asks for it (--debug)."""
    interrupts, code = Interrupts(), INTERRUPTED
    try:
        with interrupts:
            code = _run(interrupts)
    except Interrupted:
        pass
    if interrupts.seen:
        interrupts.end()
    if code == INTERRUPTED:
        interrupts.tell()
    sys.exit(code)


def _run(interrupts: Interrupts) -> int:
    """The exit code of the command; only an interrupt comes out as an exception."""
    try:
        _escape_what_cannot_be_printed()
        from topicture.app.cli.commands import run
        from topicture.app.cli.own_process import keep_compiled_code, own_this_process, use_all_cores

        own_this_process()
        use_all_cores()
        keep_compiled_code()
        code = run()
        sys.stdout.flush()  # here a full disk or a closed pipe is still an ordinary error
        return code
    except Interrupted:
        raise
    except BaseException as error:
        # An interrupt may come out as another exception, such as an import that failed half-way.
        return INTERRUPTED if interrupts.seen else _answer(error)


def _answer(error: BaseException) -> int:
    """Tell an error in one line; the exit code."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    by_rich = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    if isinstance(error, BrokenPipeError) or by_rich:
        _drop_output()
        return NOBODY_READS
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 2
    from topicture.app.cli.arguments import wants_json
    from topicture.app.cli.failures import as_json, one_line, traceback_lines, wants_traceback

    try:
        if wants_json():
            print(as_json(error), flush=True)
        if wants_traceback():
            print(*traceback_lines(error), sep="\n", file=sys.stderr)
        print(f"topicture: {one_line(error)}", file=sys.stderr, flush=True)
    except OSError:
        pass  # standard error is closed or full, and there is nobody to tell
    _drop_output()
    return 2


def _escape_what_cannot_be_printed() -> None:
    """Characters that the terminal's encoding lacks, and bytes of file names that are no text, become escapes."""
    if sys.stdout is None:  # closed by the caller: nobody wants it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What could not be written must not be tried again, with a complaint, when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
