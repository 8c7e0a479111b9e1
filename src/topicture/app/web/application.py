"""The web application: pages, their data, and the files that they are made of."""

import asyncio
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from topicture.app.web.addresses import PAGE_ROUTES
from topicture.app.web.failures import failure, json_answer
from topicture.app.web.routes import collection, learning, map, photos, review, search, teach, words
from topicture.app.web.scripts import ROUTE as SCRIPTS
from topicture.app.web.shell import STATIC, render_door
from topicture.app.web.site import Site

__all__ = ["build"]

# The tables of some systems call scripts plain text, which a browser that may not guess would not run.
mimetypes.add_type("text/javascript", ".js")


def build(site: Site) -> Starlette:
    """The application of one server, without its guard: `serve` puts that in front."""
    data: list[BaseRoute] = [
        *collection.ROUTES,
        *photos.ROUTES,
        *search.ROUTES,
        *review.ROUTES,
        *teach.ROUTES,
        *map.ROUTES,
        *words.ROUTES,
        *learning.ROUTES,
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        site.close()

    app = Starlette(
        routes=[
            *PAGE_ROUTES,
            Mount("/api", routes=data),
            SCRIPTS,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={
            404: lambda request, error: _plain(request, 404, "no-such-page", "There is no such page."),
            405: lambda request, error: _plain(
                request, 405, "method-not-allowed", "That can't be done here."
            ),
            Exception: lambda request, error: failure(error),
        },
        lifespan=lifespan,
    )
    app.state.site = site
    app.state.turn = asyncio.Lock()  # first come, first served; the lock of the catalog is taken by chance
    return app


def _plain(request: Request, status: int, code: str, message: str) -> Response:
    """As a page for a person who navigates, as JSON for a script."""
    if request.headers.get("sec-fetch-mode") == "navigate":
        return HTMLResponse(render_door(code, HTTPStatus(status).phrase, message, ""), status)
    return json_answer({"error": {"code": code, "message": message, "hint": ""}}, status)
