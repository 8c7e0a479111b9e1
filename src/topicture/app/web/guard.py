"""What every request must pass before a route sees it, and what every answer carries.

A pure ASGI application around the other one: a route can't be added beside it.
"""

import json
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from topicture.app.web.access import Access
from topicture.app.web.shell import door_style_source, render_door

__all__ = ["MOST_BYTES", "POLICY", "Guard"]

MOST_BYTES = 8 << 20
"""Largest body of a request: some hundred thousand decisions."""

LOGIN = "/login"
METHODS = ("GET", "HEAD", "POST")

POLICY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    f"style-src 'self' {door_style_source()}; img-src 'self'; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()",
}

# Code of a refusal -> (status, what is wrong, what to do)
_REFUSALS = {
    "unknown-host": (
        400,
        "This server is not known by that name.",
        "Open the address that the terminal shows.",
    ),
    "foreign-site": (403, "Another site asked for this page.", "If that was you, open it from here."),
    "no-token": (401, "This browser was not let in yet.", "Open the address that the terminal shows."),
    "no-such-page": (404, "There is no such page.", "Go to the photos."),
    "method-not-allowed": (405, "That can't be done here.", ""),
    "body-too-large": (413, "That is too much at once.", "Choose fewer photos, and do it in parts."),
    "not-json": (415, "The body of a request must be application/json.", ""),
}


class Guard:
    """Lets requests of the browser that was let in through to `app`."""

    def __init__(self, app: ASGIApp, access: Access):
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        send = _with_policy(send, scope["path"])
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, headers, send, refusal)
        elif scope["path"] == LOGIN:
            await self._let_in(scope, headers, send)
        elif not self._access.has_cookie(headers.get("cookie", "")):
            await _refuse(scope, headers, send, "no-token")
        elif (refusal := _bad_body(scope, headers)) is not None:
            await _refuse(scope, headers, send, refusal)
        else:
            await self._pass_on(scope, headers, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        """Why a request is refused whoever sends it."""
        if len(headers.getlist("host")) != 1 or not self._access.knows_host(headers["host"]):
            return "unknown-host"
        if not self._is_own(scope, headers):
            return "foreign-site"
        if scope["method"] not in METHODS:
            return "method-not-allowed"
        if "\0" in scope["path"] or ".." in scope["path"].replace("\\", "/").split("/"):
            return "no-such-page"
        return None

    def _is_own(self, scope: Scope, headers: Headers) -> bool:
        """Whether the request comes from a page of ours, or from somebody who typed, bookmarked or clicked outside
        of any page. A link of another site may lead to the door, and no further."""
        if any(origin != f"http://{headers['host']}" for origin in headers.getlist("origin")):
            return False
        site = headers.get("sec-fetch-site", "none")
        to_the_door = scope["path"] == LOGIN and headers.get("sec-fetch-mode") == "navigate"
        return site in ("same-origin", "none") or (to_the_door and scope["method"] == "GET")

    async def _let_in(self, scope: Scope, headers: Headers, send: Send) -> None:
        if scope["method"] == "POST":
            await _refuse(scope, headers, send, "method-not-allowed")
            return
        tokens = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [])
        if scope["method"] == "GET" and len(tokens) == 1 and self._access.spend(tokens[0]):
            await _answer(send, 303, b"", {"location": "/", "set-cookie": self._access.cookie()})
        elif self._access.has_cookie(headers.get("cookie", "")):  # an old address, opened again
            await _answer(send, 303, b"", {"location": "/"})
        else:
            await _refuse(scope, headers, send, "no-token")

    async def _pass_on(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """A body may claim one length and have another, or claim none: it is counted as it comes."""
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MOST_BYTES:
                await _refuse(scope, headers, send, "body-too-large")
                return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replayed, send)


def _bad_body(scope: Scope, headers: Headers) -> str | None:
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > MOST_BYTES:
        return "body-too-large"
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return "not-json" if scope["method"] == "POST" and kind != "application/json" else None


def _with_policy(send: Send, path: str) -> Send:
    """Whatever answers, its headers say what a browser may do with it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in POLICY.items():
                headers[name] = value
            # What the page is made of is asked for again with its tag; what it shows is not kept at all.
            headers.setdefault("cache-control", "no-cache" if path.startswith("/static/") else "no-store")
        await send(message)

    return sent


async def _refuse(scope: Scope, headers: Headers, send: Send, code: str) -> None:
    """As a page for a person who navigates, as JSON for a script."""
    status, message, hint = _REFUSALS[code]
    if headers.get("sec-fetch-mode") == "navigate" or "text/html" in headers.get("accept", ""):
        title = HTTPStatus(status).phrase
        body = render_door(code, title, message, hint).encode()
        kind = "text/html; charset=utf-8"
    else:
        body = json.dumps({"error": {"code": code, "message": message, "hint": hint}}).encode()
        kind = "application/json"
    more = {"allow": ", ".join(METHODS)} if status == 405 else {}
    await _answer(send, status, b"" if scope["method"] == "HEAD" else body, {"content-type": kind, **more})


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    headers = {**headers, "content-length": str(len(body))}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
