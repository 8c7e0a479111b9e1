"""Where the collection stands, its pictures, and how a new one begins."""

import os
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from topicture.app.verbs.library import Library
from topicture.app.web.answers import BadRequest, Question, get, post
from topicture.app.web.failures import failure
from topicture.app.web.site import Site
from topicture.errors import TopictureError
from topicture.vision.thumbnails import SIZES

__all__ = ["ROUTES"]


def status(site: Site, question: Question) -> Any:
    return None if site.library is None else site.library.status()


def collection(site: Site, question: Question) -> Any:
    """The folder to begin with, where there is no collection yet."""
    return {"photos": None if site.photos is None else str(site.photos), "begun": site.library is not None}


def begin(site: Site, question: Question) -> Any:
    """Make a catalog of a folder, and look for its photos."""
    folder = question.body.get("folder")
    if not isinstance(folder, str) or not folder.strip():
        raise BadRequest("folder must be the path of a folder of photos")
    if site.library is not None:
        raise BadRequest("There is a collection already.")
    path = Path(os.path.expanduser(folder.strip()))  # an unknown home stays as it is, and is no folder
    if not path.is_absolute() or not path.is_dir():
        raise BadRequest(f"{folder}: not a folder on this computer; give its whole path")
    site.library = Library.create(path)
    return {"job": site.jobs.start("scan", {})}


async def thumbnail(request: Request) -> Response:
    """A small picture; asked for again by its tag, it need not be sent again."""
    site: Site = request.app.state.site
    image, size = request.path_params["id"], request.query_params.get("size", "small")
    try:
        if size not in SIZES:
            raise BadRequest(f"size must be one of: {', '.join(SIZES)}")
        site.need_library()
        headers = {"cache-control": "private, no-cache", "etag": f'"{site.studio.tag(image, size)}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        shown = await site.studio.show(image, size)
        return Response(shown.jpeg, media_type="image/jpeg", headers=headers)
    except (TopictureError, OSError) as error:
        return failure(error)


ROUTES = [
    get("/status", status),
    get("/collection", collection),
    post("/collection", begin),
    Route("/thumbnails/{id:number}", thumbnail, methods=["GET"]),
]
