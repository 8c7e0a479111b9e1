"""The addresses that people see: each is one HTML shell that its script fills from the data routes."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from topicture.app.web import numbers  # noqa: F401  (what `number` in an address is)
from topicture.app.web.shell import render_shell

__all__ = ["PAGES", "PAGE_ROUTES"]

# address -> (name of the page and of its script, title)
PAGES = {
    "/photos": ("photos", "Photos"),
    "/search": ("search", "Search"),
    "/photo/{id:number}": ("photo", "Photo"),
    "/review": ("review", "Review"),
    "/review/tag/{word:path}": ("review-grid", "Review"),
    "/review/questions": ("review-questions", "Review"),
    "/teach": ("teach", "Teach"),
    "/map": ("map", "Map"),
    "/words": ("words", "Words"),
    "/learn": ("learn", "Learn"),
    "/welcome": ("welcome", "Welcome"),
}


def _page(name: str, title: str):
    def endpoint(request: Request) -> Response:
        return HTMLResponse(render_shell(name, title, request.app.state.site.collection))

    return endpoint


def _home(request: Request) -> Response:
    """The photos; before anything was learned or is being learned, the page that leads there."""
    site = request.app.state.site
    begun = site.library is not None and (
        site.library.models() or any(job.kind == "learn" for job in site.jobs.list())
    )
    return RedirectResponse("/photos" if begun else "/welcome", 303)


PAGE_ROUTES = [
    Route("/", _home, methods=["GET"]),
    *(Route(address, _page(*page), methods=["GET"]) for address, page in PAGES.items()),
]
