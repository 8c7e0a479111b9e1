"""Requests into plain values, and plain values or errors into JSON.

A handler is an ordinary function of the site and a `Question`; it runs in a thread, so it may read the disk. What it
returns is sent as JSON unless it is a Response already. An error becomes its code, its text and a hint (`failures`).
"""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from topicture.app.verbs.plain import as_plain
from topicture.app.web import numbers  # noqa: F401  (what `number` in an address is)
from topicture.app.web.failures import BadRequest, failure, json_answer
from topicture.app.web.site import Site, bring_up_to_date
from topicture.store import OldCatalog

__all__ = ["BadRequest", "Question", "get", "post"]


@dataclass(frozen=True)
class Question:
    """The parts of a request that a handler may look at."""

    path: dict[str, Any]
    query: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    def text(self, name: str, default: str | None = None) -> str | None:
        return self.query.get(name, default)

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1 << 53) -> int:
        """A whole number of the query, within bounds; raises BadRequest."""
        raw = self.query.get(name)
        if raw is None:
            return default
        try:
            value = int(raw)
        except ValueError:
            raise BadRequest(f"{name} must be a whole number") from None
        if not least <= value <= most:
            raise BadRequest(f"{name} must be between {least} and {most}, not {value}")
        return value


Handler = Callable[[Site, Question], Any]


def get(path: str, handler: Handler) -> Route:
    """A route that reads."""
    return Route(path, _endpoint(handler), methods=["GET"], name=handler.__name__)


def post(path: str, handler: Handler, *, in_turn: bool = False) -> Route:
    """A route that changes something; its body is a JSON object. With `in_turn`, requests are answered as they come."""
    return Route(path, _endpoint(handler, in_turn), methods=["POST"], name=handler.__name__)


def _endpoint(handler: Handler, in_turn: bool = False) -> Callable:
    async def endpoint(request: Request) -> Response:
        try:
            body = _object(await request.body()) if request.method == "POST" else {}
            question = Question(dict(request.path_params), dict(request.query_params), body)
            async with request.app.state.turn if in_turn else nullcontext():
                answer = await run_in_threadpool(_answered, handler, request.app.state.site, question)
            return answer if isinstance(answer, Response) else json_answer(as_plain(answer))
        except Exception as error:  # whatever it is, the page gets an answer that it can show
            return failure(error)

    return endpoint


def _answered(handler: Handler, site: Site, question: Question) -> Any:
    try:
        return handler(site, question)
    except OldCatalog:  # a backup that was put back since the server began, or one that was busy then
        bring_up_to_date(site.need_library())
        return handler(site, question)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadRequest("the body must be a JSON object")
    return value
