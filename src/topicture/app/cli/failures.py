"""Any exception as one line: what is wrong, where, and what to do."""

import errno
import json
import os
import sqlite3
import traceback

from topicture.collection.words import printable
from topicture.errors import TopictureError

__all__ = ["DEBUG", "as_json", "one_line", "traceback_lines", "wants_traceback"]

DEBUG = "TOPICTURE_DEBUG"
"""The variable of the environment that asks for tracebacks, as --debug does."""

_FULL = "the disk is full; make room and run the command again (what was saved before this is kept)"
_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL.replace("the disk is full", "your share of the disk is used up"),
    errno.EFBIG: "the file would be larger than this disk or your limits allow",
    errno.EACCES: "you may not read or write it; check its permissions",
    errno.EPERM: "the system does not allow it; check its owner and permissions",
    errno.EROFS: "the disk is read-only",
    errno.EMFILE: "too many files are open; use fewer --workers or raise the limit (ulimit -n)",
    errno.ENOMEM: "not enough memory; use fewer --workers or close other programs",
}


def one_line(error: BaseException) -> str:
    """What to tell a person about an error; control characters are escaped."""
    return printable(_sentence(error))


def as_json(error: BaseException) -> str:
    """An error as one JSON document: its code, which stays whatever the sentence says, and the sentence."""
    from topicture.app.error_codes import code_of  # knows all kinds of errors, and so imports much

    return json.dumps({"error": {"code": code_of(error), "message": one_line(error)}})


def wants_traceback() -> bool:
    """Whether the person asked for more than a line."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


def traceback_lines(error: BaseException) -> list[str]:
    """The traceback, safe to print."""
    text = "".join(traceback.format_exception(error))
    return [printable(line) for line in text.rstrip("\n").split("\n")]


def _sentence(error: BaseException) -> str:
    if isinstance(error, TopictureError):
        return str(error)
    if isinstance(error, OSError):
        return _system(error)
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer --workers or close other programs, and run the command again"
    if isinstance(error, sqlite3.Error):
        return _database(error)
    if isinstance(error, RecursionError):
        return f"something is nested too deeply to be read; {_MORE}"
    if isinstance(error, UnicodeError):
        return f"a text is not valid Unicode ({error}); {_MORE}"
    what = ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
    return f"internal error ({what}); {_MORE}, and report it: this should not happen"


_MORE = "run again with --debug to see where"


def _system(error: OSError) -> str:
    names = [os.fsdecode(n) for n in (error.filename, error.filename2) if isinstance(n, str | bytes)]
    reason = _HINTS.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__
    return ": ".join([*names[:1], reason])


def _database(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name == "SQLITE_FULL":
        return _FULL
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "the catalog is in use by another process; wait for it and run the command again"
    return f"the catalog's database can't be used ({error}); 'topicture check' says what is wrong with it"
