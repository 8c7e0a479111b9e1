"""A server with a real address for tests of the pages, in a thread of the test's own process."""

import io
import socket
import threading
import time
from contextlib import contextmanager

import uvicorn
from PIL import Image
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from topicture.app.verbs.library import Library
from topicture.app.web.application import build
from topicture.app.web.site import Site


def thumbnail(request: Request) -> Response:
    path = request.app.state.site.library.path(request.path_params["id"])
    size = 1600 if request.query_params.get("size") == "large" else 320
    with Image.open(path) as image:
        image = image.convert("RGB")
        image.thumbnail((size, size))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG")
    return Response(buffer.getvalue(), media_type="image/jpeg", headers={"Cache-Control": "max-age=600"})


@contextmanager
def serving(catalog, port=0):
    """The address of a server for a catalog, as long as the block lasts."""
    app = build(Site(None, Library(catalog)))
    app.router.routes.insert(0, Route("/api/thumbnails/{id:int}", thumbnail))
    listener = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
