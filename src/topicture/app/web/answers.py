"""Requests into plain values, and plain values or errors into JSON.

A handler is an ordinary function of the site and a `Question`; it runs in a thread, so it may read the disk. What it
returns is sent as JSON unless it is a Response already. A TopictureError becomes its code, its text and a hint.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from topicture.app.verbs.plain import as_plain
from topicture.app.web.site import Site
from topicture.errors import TopictureError

__all__ = ["BadRequest", "Question", "get", "post"]


class BadRequest(TopictureError):
    """A request that does not say what it wants; the text names the field."""


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


def post(path: str, handler: Handler) -> Route:
    """A route that changes something; its body is a JSON object."""
    return Route(path, _endpoint(handler), methods=["POST"], name=handler.__name__)


def _endpoint(handler: Handler) -> Callable:
    async def endpoint(request: Request) -> Response:
        body: Any = {}
        if request.method == "POST":
            try:
                body = json.loads(await request.body() or b"{}")
            except (ValueError, RecursionError):
                body = None
            if not isinstance(body, dict):
                return JSONResponse(
                    {"error": {"code": "bad-request", "message": "the body must be a JSON object"}}, 400
                )
        question = Question(dict(request.path_params), dict(request.query_params), body)
        try:
            answer = await run_in_threadpool(handler, request.app.state.site, question)
        except TopictureError as error:
            return JSONResponse(
                {"error": {"code": type(error).__name__, "message": str(error), "hint": ""}}, 400
            )
        return answer if isinstance(answer, Response) else JSONResponse(as_plain(answer))

    return endpoint
