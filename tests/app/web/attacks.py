"""Every route of an application, attacked in every way: what gets through is a line of the answer.

Routes are found by looking into the application, so one that is added later is attacked, too.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from urllib.parse import unquote

from event_loops import run
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from topicture.app.web.guard import MOST_BYTES, POLICY

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW")
HOST = "127.0.0.1:8237"
SELF = f"http://{HOST}"
EVIL_HOSTS = (
    "evil.example",
    "evil.example:8237",
    "127.0.0.1.evil.example:8237",
    "127.0.0.1:80",
    "127.0.0.1",
    "0.0.0.0:8237",
    "127.0.0.2:8237",
    "localhost:8237:8237",
    "localhost@evil.example:8237",
    "",
)
EVIL_ORIGINS = (
    "null",
    "http://evil.example",
    "https://127.0.0.1:8237",
    "http://127.0.0.1:9999",
    "http://127.0.0.2:8237",
    "http://localhost:8237",
    "file://",
    "",
)
TRAVERSALS = (
    "/static/../site.py",
    "/static/%2e%2e/site.py",
    "/static/..%2fsite.py",
    "/static/css/..%5c..%5csite.py",
    "/static/%2e%2e%2f%2e%2e%2fweb/site.py",
    "/static//etc/passwd",
    "/static/%00",
    "/api/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
)


def all_routes(app):
    """(methods, address with values in place of its parameters) of everything that an application answers to."""
    found = []
    for route in app.routes:
        if isinstance(route, Route):
            found.append((set(route.methods or METHODS), _filled(route.path)))
        elif isinstance(route, Mount) and isinstance(route.app, StaticFiles):
            found.append(({"GET", "HEAD"}, f"{route.path}/css/base.css"))
        elif isinstance(route, Mount):
            found += [(methods, route.path + path) for methods, path in all_routes(route)]
        else:
            found.append((set(METHODS), _filled(route.path)))
    return found


def _filled(path):
    return re.sub(r"{[^}]*}", "1", path)


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes


class Caller:
    """Sends requests to an application as they are: no client mends addresses or headers on the way.

    It is somebody who was let in, unless the headers say otherwise; None leaves one out.
    """

    def __init__(self, guarded, access):
        self._app = guarded
        self._headers = {"host": HOST, "cookie": access.cookie().partition(";")[0]}

    def ask(self, method, path, body=b"", **headers):
        return run(self.send(method, path, body, **headers))

    async def send(self, method, path, body=b"", **headers):
        chunks = [body] if isinstance(body, bytes) else list(body)
        given = {**self._headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        raw, _, query = path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw),
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in given.items() if v is not None],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8237),
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

        async def send(message):
            sent.append(message)

        await self._app(scope, receive, send)
        names = {n.decode(): v.decode("latin-1") for n, v in sent[0]["headers"]}
        return Answer(sent[0]["status"], names, b"".join(part.get("body", b"") for part in sent[1:]))


def faults(guarded, access, routes):
    """What is wrong with how a guarded application answers, one line each."""
    return run(_faults(Caller(guarded, access), routes))


async def _faults(caller, routes):
    found = []

    async def check(what, expected, *request, **headers):
        answer = await caller.send(*request, **headers)
        if answer.status not in expected:
            found.append(f"{what}: {answer.status}, not {' or '.join(map(str, expected))}")
        found.extend(
            f"{what}: no {name}" for name, value in POLICY.items() if answer.headers.get(name) != value
        )
        if not answer.headers.get("cache-control"):
            found.append(f"{what}: says nothing about caches")
        if any(name.startswith("access-control-") for name in answer.headers):
            found.append(f"{what}: lets other sites read it")

    by_path = defaultdict(set)
    for methods, path in routes:
        by_path[path] |= methods
    for path, methods in by_path.items():
        for method in METHODS:
            asked = (method, path, b"{}")
            what = f"{method} {path}"
            await check(f"{what} without a token", _REFUSED, *asked, cookie=None, **JSON)
            await check(f"{what} with a wrong token", _REFUSED, *asked, cookie="topicture-8237=x", **JSON)
            for host in EVIL_HOSTS:
                await check(f"{what} for host {host!r}", {400}, *asked, host=host, **JSON)
            for origin in EVIL_ORIGINS:
                await check(f"{what} from {origin!r}", {403}, *asked, origin=origin, **JSON)
            for site, mode in SITES:
                fetch = {"sec_fetch_site": site, "sec_fetch_mode": mode}
                await check(f"{what} by {site}, {mode}", {403}, *asked, **fetch, **JSON)
            if method not in methods:
                await check(f"{what}, which it has not", {405}, *asked, **JSON)
        if "POST" in methods:
            await _bad_bodies(path, check)
    for path in TRAVERSALS:
        await check(path, {404}, "GET", path)
    return found


async def _bad_bodies(path, check):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        await check(f"POST {path} of {kind}", {415}, "POST", path, b"{}", content_type=kind)
    large = b" " * (MOST_BYTES + 1)
    length = str(len(large))
    await check(f"POST {path} of too much", {413}, "POST", path, large, content_length=length, **JSON)
    await check(f"POST {path} of too much, in parts", {413}, "POST", path, [large[:9], large], **JSON)
    await check(
        f"POST {path} of too much, which lies", {413}, "POST", path, large, content_length="2", **JSON
    )
    for length in ("-1", "1e3", "9" * 30):
        await check(f"POST {path} of {length}", {413}, "POST", path, b"{}", content_length=length, **JSON)
    for body in (b"[]", b"nonsense", b"[" * 100_000, b"\xff"):
        await check(f"POST {path} of {body[:9]!r}", {400}, "POST", path, body, **JSON)


JSON = {"content_type": "application/json"}
SITES = (("cross-site", "cors"), ("same-site", "cors"), ("nonsense", "cors"), ("cross-site", "navigate"))
_REFUSED = {401, 405}  # a method that nobody has need not be asked for a token
