"""The server as a whole: it lets one browser in, shows pictures, and ends cleanly."""

import urllib.error
import urllib.request

import pytest


def test_the_first_address_lets_a_browser_in_once(page, served, browser):
    page.context.clear_cookies()
    page.goto(served.first_address)
    assert page.url == f"{served.url}/photos"  # without the token
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (
        f"topicture-{served.access.port}",
        True,
        "Strict",
    )
    other = browser.new_context().new_page()
    assert other.goto(served.first_address).status == 401
    assert "let in" in other.inner_text("h1")
    other.context.close()


def test_a_thumbnail_is_a_small_jpeg_and_is_not_sent_twice(served):
    request = urllib.request.Request(f"{served.url}/api/thumbnails/1", headers={"Cookie": served.cookie})
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Type"] == "image/jpeg"
        assert answer.read(3) == b"\xff\xd8\xff"
        tag = answer.headers["ETag"]
    request.add_header("If-None-Match", tag)
    with pytest.raises(urllib.error.HTTPError) as again:
        urllib.request.urlopen(request)
    again.value.close()
    assert again.value.code == 304
