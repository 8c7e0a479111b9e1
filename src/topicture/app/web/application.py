"""The web application: pages, their data, and the files that they are made of."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from topicture.app.web.addresses import PAGE_ROUTES
from topicture.app.web.routes import collection, learning, map, photos, review, search, teach, words
from topicture.app.web.site import Site

__all__ = ["build"]

STATIC = Path(__file__).parent / "static"


def build(site: Site) -> Starlette:
    """The application of one server."""
    data: list[Route] = [
        *collection.ROUTES,
        *photos.ROUTES,
        *search.ROUTES,
        *review.ROUTES,
        *teach.ROUTES,
        *map.ROUTES,
        *words.ROUTES,
        *learning.ROUTES,
    ]
    app = Starlette(
        routes=[*PAGE_ROUTES, Mount("/api", routes=data), Mount("/static", StaticFiles(directory=STATIC))]
    )
    app.state.site = site
    return app
