"""What tests of the page share: a collection that is learned once, a server for each test, and a browser."""

import contextlib
import json
import os
import shutil
import socket
import threading
import urllib.request
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import pytest
import uvicorn
from photo_folder import copy_library, learn, make_library

from topicture.app.verbs.library import Library
from topicture.app.web.access import Access
from topicture.app.web.application import build
from topicture.app.web.guard import Guard
from topicture.app.web.site import Site

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
# Nothing of the browser's own asks anybody anything; WebGL is drawn by the processor.
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--enable-unsafe-swiftshader",
)


class Served:
    """A running server and whoever was let in: `get` and `post` give (status, value)."""

    def __init__(self, site, access):
        self.site, self.access = site, access
        self.library = site.library
        self.url = access.address.rstrip("/")
        self.first_address = access.first_address
        self.cookie = access.cookie().partition(";")[0]

    def get(self, path, **parameters):
        return self._ask(f"/api/{path}" + (f"?{urlencode(parameters)}" if parameters else ""), None)

    def post(self, path, body=None):
        return self._ask(f"/api/{path}", json.dumps(body or {}).encode())

    def _ask(self, path, body):
        headers = {"Cookie": self.cookie, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


@contextlib.contextmanager
def serving(site):
    """The page of a site on a free port, in a thread of this process."""
    listening = socket.create_server(("127.0.0.1", 0))
    access = Access("127.0.0.1", listening.getsockname()[1])
    server = uvicorn.Server(
        uvicorn.Config(
            Guard(build(site), access), log_level="warning", ws="none", timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield Served(site, access)
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
        site.close()


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
    """A page of a browser that was let in. Whatever it says on its console, and whatever it asks of anybody but the
    server, fails the test; `page.expected` takes parts of messages that a test wants."""
    with opened(browser, served.url) as page:
        page.goto(served.first_address)
        yield page


@contextlib.contextmanager
def opened(browser, url, **options):
    """A page that may talk to nobody but `url`, and may have nothing to complain about."""
    context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 800}, **options)
    page = context.new_page()
    page.set_default_timeout(10_000)
    said, page.expected = [], []
    context.on("request", lambda request: _check_request(request.url, url, said))
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    try:
        yield page
        unexpected = [line for line in said if not any(part in line for part in page.expected)]
        assert unexpected == []
    finally:
        context.close()


def _check_request(asked, url, said):
    parts = urlsplit(asked)
    if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(url).netloc:
        said.append(f"a request to {asked}")


@pytest.fixture
def shot(request):
    """Save a picture of a page where TOPICTURE_SHOTS names a folder; for people who look at it."""
    folder = os.environ.get("TOPICTURE_SHOTS")

    def take(page, name):
        if folder:
            page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return take
