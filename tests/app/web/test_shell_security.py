"""Every route is defended, those that come later, too."""

import base64
import hashlib
import json
import re

import attacks
import pytest
from attacks import Caller
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from topicture.app.verbs.library import Library
from topicture.app.web.access import Access
from topicture.app.web.application import build
from topicture.app.web.guard import POLICY, Guard
from topicture.app.web.shell import render_door
from topicture.app.web.site import Site
from topicture.errors import TopictureError

PORT = 8237


@pytest.fixture
def app(photos):
    site = Site(photos, Library(photos / ".topicture"))
    yield build(site)
    site.close()


@pytest.fixture
def access():
    return Access("127.0.0.1", PORT)


def test_every_route_refuses_every_attack(app, access):
    routes = attacks.all_routes(app)
    assert len(routes) > 20
    assert attacks.faults(Guard(app, access), access, routes) == []


def test_a_route_that_is_added_later_is_found(app):
    app.router.routes.append(Route("/later/{name}", lambda request: PlainTextResponse("")))
    assert ({"GET", "HEAD"}, "/later/1") in attacks.all_routes(app)


def test_a_route_beside_the_guard_is_noticed(app, access):
    """The test of the test: whatever the guard would not see is told."""
    guard, bare = Guard(app, access), Guard(app, access)._app

    async def leaky(scope, receive, send):
        await (bare if scope["path"] == "/api/status" else guard)(scope, receive, send)

    found = attacks.faults(leaky, access, [({"GET", "HEAD"}, "/api/status")])
    for part in (
        "without a token: 200",
        "for host 'evil.example': 200",
        "from 'null': 200",
        "by cross-site, cors: 200",
    ):
        assert any(part in line for line in found), part
    assert any("no content-security-policy" in line for line in found)


def test_the_policy_allows_nothing_but_our_own_files():
    policy = POLICY["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    style = re.search("<style>(.*?)</style>", render_door("no-token", "", "", ""), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert set(policy.replace(";", "").split()) - {"'none'", "'self'", f"'sha256-{digest}'"} == {
        part.split()[0] for part in policy.split("; ")
    }


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": attacks.SELF},
        {"host": "localhost:8237", "origin": "http://localhost:8237"},
        {"host": "[::1]:8237"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "same-origin"},
    ],
)
def test_our_own_pages_and_bookmarks_get_through(app, access, headers):
    assert Caller(Guard(app, access), access).ask("GET", "/photos", **headers).status == 200


def path_of(access):
    return access.first_address.removeprefix(attacks.SELF)


def test_a_token_is_spent_by_its_first_use(app, access):
    caller, path = Caller(Guard(app, access), access), path_of(access)
    assert (
        caller.ask("HEAD", path, cookie=None).status == 401
    )  # a preview by a chat program does not spend it
    first = caller.ask("GET", path, cookie=None)
    assert (first.status, first.headers["location"]) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in first.headers["set-cookie"]
    assert caller.ask("GET", path, cookie=None).status == 401
    assert caller.ask("GET", path).status == 303  # whoever is in already is not locked out
    assert access.first_address == f"{attacks.SELF}/"


def test_a_link_of_another_site_may_lead_to_the_door_only(app, access):
    caller = Caller(Guard(app, access), access)
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "cookie": None}
    refused = caller.ask("GET", "/photos", **link)
    assert refused.status == 403
    assert b'href="/"' in refused.body
    assert caller.ask("GET", path_of(access), **link).status == 303


def test_wrong_tokens_are_refused_and_spend_nothing(app, access):
    caller, right = Caller(Guard(app, access), access), path_of(access)
    for query in ("", "?token=", "?token=x", "?token=%ff", f"?token=x&{right.partition('?')[2]}"):
        assert caller.ask("GET", f"/login{query}", cookie=None).status == 401
    assert caller.ask("GET", right, cookie=None).status == 303


def test_capital_letters_make_no_other_host():
    assert Access("PC.local", PORT, "a token of my own").knows_host(f"pc.local:{PORT}")
    assert Access("LocalHost", PORT).knows_host(f"localhost:{PORT}")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "photos.example"])
def test_an_address_that_others_reach_needs_a_chosen_token(host):
    with pytest.raises(TopictureError, match="--token"):
        Access(host, PORT)
    with pytest.raises(TopictureError, match="at least 16"):
        Access(host, PORT, "short")
    access = Access(host, PORT, "a token of my own")
    assert access.spend("a token of my own")
    assert access.spend("a token of my own")  # for a second device
    assert access.knows_host("192.168.1.7:8237")
    assert not access.knows_host("evil.example:8237")


def test_websockets_are_closed(app, access):
    from starlette.testclient import TestClient
    from starlette.websockets import WebSocketDisconnect

    client = TestClient(Guard(app, access), base_url=attacks.SELF)
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/status"):
        pass


def test_an_unexpected_error_is_told_on_the_terminal_only(app, access, monkeypatch, capsys):
    monkeypatch.setattr(Library, "status", lambda self: 1 / 0)
    answer = Caller(Guard(app, access), access).ask("GET", "/api/status")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (500, "internal-error")
    assert b"division" not in answer.body
    assert "ZeroDivisionError" in capsys.readouterr().err
