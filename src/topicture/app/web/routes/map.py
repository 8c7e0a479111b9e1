"""Data of the page: map."""

from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from topicture.app.verbs.mapping.showing import map_points, map_summary
from topicture.app.web.answers import BadRequest, Question, get
from topicture.app.web.site import Site

__all__ = ["ROUTES"]


def summary(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return map_summary(catalog)


def points(site: Site, question: Question) -> Response:
    version = question.text("version")
    if version is None:
        raise BadRequest("version is missing")
    with site.need_library().reading() as catalog:
        columns = map_points(catalog, version)
    return Response(columns, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


ROUTES: list[Route] = [get("/map", summary), get("/map/points", points)]
