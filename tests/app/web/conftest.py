"""What tests of the page share: a server of a copy of a learned collection, and a browser."""

import contextlib
import io
import json
import shutil
import socket
import threading
import urllib.request
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import pytest
import uvicorn
from photo_folder import copy_library, learn, make_library
from PIL import Image
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from topicture.app.verbs.library import Library
from topicture.app.web.application import build
from topicture.app.web.site import Site
from topicture.store.decisions.decisions import Decision

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


class Served:
    """A running server: `get` and `post` give (status, value)."""

    def __init__(self, library, url):
        self.library, self.url, self.first_address = library, url, url + "/"

    def get(self, path, **parameters):
        return self._ask(f"/api/{path}" + (f"?{urlencode(parameters)}" if parameters else ""), None)

    def post(self, path, body=None):
        return self._ask(f"/api/{path}", json.dumps(body or {}).encode())

    def _ask(self, path, body):
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


def stand_ins(library):
    """The routes of other pages that these ask for, as far as the application lacks them."""

    def thumbnail(request):
        stream = io.BytesIO()
        with Image.open(library.path(request.path_params["id"])) as image:
            image.convert("RGB").save(stream, "JPEG")
        return Response(stream.getvalue(), media_type="image/jpeg")

    async def decide(request):
        body = await request.json()
        with library.writing("review") as catalog:
            step = catalog.decisions.step("review")
            changed = catalog.decisions.decide(
                [Decision(**each) for each in body["decisions"]], "review", step
            )
        return JSONResponse({"step": step.made, "changed": changed})

    async def undo(request):
        undone = library.undo()
        return JSONResponse({"undone": undone and {"text": "Undone."}})

    return [
        Route("/thumbnails/{id:int}", thumbnail),
        Route("/decide", decide, methods=["POST"]),
        Route("/undo", undo, methods=["POST"]),
    ]


@contextlib.contextmanager
def serving(site):
    """The page of a site on a free port, in a thread of this process."""
    app = build(site)
    data = next(route for route in app.routes if isinstance(route, Mount) and route.path == "/api")
    known = {route.path for route in data.routes}
    data.routes.extend(route for route in stand_ins(site.library) if route.path not in known)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield Served(site.library, f"http://127.0.0.1:{listening.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A collection of 64 small photos, 48 of them tagged; learned and annotated."""
    root = tmp_path_factory.mktemp("sample") / "photos"
    learn(make_library(root))
    return root


@pytest.fixture
def photos(sample, tmp_path):
    return copy_library(sample, tmp_path / "photos")


@pytest.fixture
def served(photos):
    with serving(Site(photos, Library(photos / ".topicture"))) as served:
        yield served


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def page(browser, served):
    """A page that may talk to nobody but the server, and may have nothing to complain about."""
    context = browser.new_context(base_url=served.url, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(10_000)
    said, page.expected = [], []
    context.on("request", lambda request: _check_request(request.url, served.url, said))
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    try:
        page.goto(served.first_address)
        yield page
        unexpected = [line for line in said if not any(part in line for part in page.expected)]
        assert unexpected == [], unexpected
    finally:
        context.close()


def _check_request(asked, url, said):
    parts = urlsplit(asked)
    if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(url).netloc:
        said.append(f"a request to {asked}")
