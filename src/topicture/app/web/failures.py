"""Errors as the page tells them: a code for scripts, what is wrong, and what to click."""

import errno
import json
import re
import sys
import traceback
from typing import Any, NamedTuple

from starlette.responses import Response

from topicture.app.error_codes import code_of
from topicture.collection.words import printable
from topicture.errors import (
    BadWord,
    CorpusError,
    DataNotFound,
    ImageError,
    ModelFileError,
    NotFitted,
    TopictureError,
    UnknownModel,
)
from topicture.store import CatalogBusy, CatalogError
from topicture.store.shards import ShardError

__all__ = ["BadRequest", "NoCatalog", "described", "failure", "json_answer"]


class BadRequest(TopictureError):
    """A request that does not say what it wants; the text names the field."""

    code = "bad-request"


class NoCatalog(TopictureError):
    """There is no collection yet."""

    code = "no-catalog"


class _Kind(NamedTuple):
    """How a class of errors is told."""

    status: int
    hint: str = ""
    message: str | None = None  # instead of the error's own text, which is about the command line


_KINDS: dict[type[TopictureError], _Kind] = {
    BadRequest: _Kind(400),
    NoCatalog: _Kind(409, "Choose a folder of photos on the Welcome page."),
    BadWord: _Kind(422, "Try another spelling."),
    CatalogBusy: _Kind(409, "It will be free when that has ended; then try again."),
    CatalogError: _Kind(500, "Nothing was changed."),
    CorpusError: _Kind(422, "Tag a few more photos on Photos or Teach, then learn again."),
    DataNotFound: _Kind(404, "It may have been moved or removed; scan the folder on the Learn page."),
    ImageError: _Kind(422, "The file is damaged, or of a kind that is not read."),
    ModelFileError: _Kind(500, "Learn again on the Learn page."),
    NotFitted: _Kind(409, "Press “Learn” on the Learn page.", "Nothing was learned yet."),
    ShardError: _Kind(500, "Look at the photos anew on the Learn page."),
    UnknownModel: _Kind(404, "Choose one of the list."),
    TopictureError: _Kind(400),
}

# "run 'topicture learn'", but not "'topicture learn' has been writing"
_COMMAND = re.compile(
    r"\b(?:run|see|with|by|or) '?topicture |\(topicture |'topicture \w+' (?:lists|looks|says) |--[a-z]"
)
_FULL = {errno.ENOSPC, errno.EDQUOT}


def described(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status and the plain values of an error; one that nobody expected is told on standard error only.

    An error may carry a `code` of its own, and `more`: a dict of plain values for the page.
    """
    if isinstance(error, TopictureError):
        kind = next(_KINDS[each] for each in type(error).__mro__ if each in _KINDS)
        message = kind.message or _without_commands(printable(str(error)))
        return kind.status, {
            "code": code_of(error),
            "message": message,
            "hint": kind.hint,
            **getattr(error, "more", {}),
        }
    if isinstance(error, OSError) and error.errno in _FULL:
        return 507, {
            "code": code_of(error),
            "message": "The disk is full.",
            "hint": "Make room, then try again.",
        }
    print(*map(printable, "".join(traceback.format_exception(error)).splitlines()), sep="\n", file=sys.stderr)
    return 500, {
        "code": "internal-error",
        "message": "Something went wrong that should not.",
        "hint": "The terminal that runs Topicture shows where; please report it.",
    }


def _without_commands(text: str) -> str:
    """What to type into a terminal is no advice for somebody in a browser; what is wrong remains."""
    parts = text.split("; ")
    kept = [part for part in parts if not _COMMAND.search(part)]
    return "; ".join(kept) if kept else _COMMAND.split(text)[0].rstrip(" ,:(") or text


def failure(error: Exception) -> Response:
    status, values = described(error)
    return json_answer({"error": values}, status)


def json_answer(value: Any, status: int = 200) -> Response:
    """Plain values as JSON in ASCII: bytes of file names that are no text have no other form."""
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")
