"""A server of the page in a thread of a test, and a browser's page that may talk to nobody else."""

import contextlib
import json
import socket
import threading
import urllib.request
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import uvicorn

from topicture.app.web.access import Access
from topicture.app.web.application import build
from topicture.app.web.guard import Guard

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


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
            with _DIRECT.open(request, timeout=60) as answer:
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
        assert unexpected == [], unexpected
    finally:
        context.close()


def let_in(page, served):
    """As the first address does, without opening a page for it."""
    name, _, value = served.cookie.partition("=")
    page.context.add_cookies([{"name": name, "value": value, "url": served.url, "sameSite": "Strict"}])


def _check_request(asked, url, said):
    parts = urlsplit(asked)
    if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(url).netloc:
        said.append(f"a request to {asked}")
