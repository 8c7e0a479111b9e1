"""What tests of the page share: a collection that is learned once, a server for each test, and a browser."""

import contextlib
import io
import json
import shutil
import socket
import threading
import urllib.request
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import pytest
import uvicorn
from photo_folder import copy_library, learn, make_library
from PIL import Image
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from topicture.app.verbs.library import Library
from topicture.app.web.application import build
from topicture.app.web.site import Site

CHROMIUM = shutil.which("chromium")
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


def _thumbnail(request):
    with Image.open(request.app.state.site.library.path(request.path_params["id"])) as image:
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, "JPEG")
    return Response(buffer.getvalue(), media_type="image/jpeg", headers={"Cache-Control": "max-age=600"})


@contextlib.contextmanager
def serving(site):
    """The page of a site on a free port, in a thread of this process."""
    app = build(site)
    app.router.routes.insert(0, Route("/api/thumbnails/{id:int}", _thumbnail))
    app.router.routes.insert(0, Route("/api/complete", lambda request: JSONResponse({"words": []})))
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def ask(path, body):
        request = urllib.request.Request(url + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield SimpleNamespace(
            site=site,
            library=site.library,
            url=url,
            first_address=f"{url}/",
            get=lambda path, **query: ask(f"/api/{path}" + (f"?{urlencode(query)}" if query else ""), None),
            post=lambda path, body=None: ask(f"/api/{path}", json.dumps(body or {}).encode()),
        )
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A collection of 64 small photos, 48 of them tagged; learned and annotated. Copy it, never change it."""
    root = tmp_path_factory.mktemp("sample") / "photos"
    learn(make_library(root))
    return root


@pytest.fixture
def photos(sample, tmp_path):
    """The folder of a copy of the sample."""
    return copy_library(sample, tmp_path / "photos")


@pytest.fixture
def served(photos):
    """A server of a copy of the sample."""
    with serving(Site(photos, Library(photos / ".topicture"))) as served:
        yield served


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def page(browser, served):
    """A page whose test fails on any message of its console and on any request elsewhere."""
    with opened(browser, served.url) as page:
        yield page


@contextlib.contextmanager
def opened(browser, url, **options):
    """A page that may talk to nobody but `url`, and may have nothing to complain about."""
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 800}, **options)
    page = context.new_page()
    page.set_default_timeout(10_000)
    said, page.expected = [], []
    context.on(
        "request",
        lambda request: (
            said.append(request.url) if urlsplit(request.url).netloc != urlsplit(url).netloc else None
        ),
    )
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    try:
        yield page
        assert [line for line in said if not any(part in line for part in page.expected)] == []
    finally:
        context.close()
