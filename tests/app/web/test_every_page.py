"""Every page keeps the promises that all of them make: heading, keys, narrow screens, and nothing said on the console.

The `page` of these tests fails them where anything appears on the console (as every breach of the content security
policy does: an inline style, an inline script), or where a request goes anywhere but to the server.
"""

import gzip
import re
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

import pytest
from visits import NAMES, PHONE, resize, settle, visit

import topicture.app.web
from topicture.app.web.scripts import SPACED, scripts

STATIC = Path(topicture.app.web.__file__).parent / "static"
JAVASCRIPT_BUDGET = 60_000  # bytes, compressed
SMALLEST_TARGET = 32  # pixels; boxes to tick are 24, as WCAG 2.2 asks

PANELS = "main button[aria-expanded=false], main summary"
DIALOGS = "main button[title^=History], .frame-tools button[aria-label^=Keyboard]"
SEEN = """element => {
  const box = element.getBoundingClientRect();
  const over = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return Boolean(over && (element.contains(over) || over.contains(element)));
}"""
# Whatever can be clicked and is too small; links within a sentence and what only screen readers see do not count.
SMALL = """smallest => [...document.querySelectorAll("button, select, input, summary, a[href], [role=option]")]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest(".visually-hidden, .skip-link"))
  .filter((each) => getComputedStyle(each).display !== "inline")
  .map((each) => [each.outerHTML.slice(0, 120), each.getBoundingClientRect()])
  .filter(([html, box]) => box.width && Math.min(box.width, box.height) < (html.includes("checkbox") ? 24 : smallest))
  .map(([html, box]) => `${html}: ${Math.round(box.width)} x ${Math.round(box.height)}`)"""
PLACE = """() => {
  const focused = document.activeElement;
  return focused.closest("main") ? "main" : (focused.closest("nav, form, .frame-tools") ?? focused).className;
}"""
SIDEWAYS = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth"


@pytest.fixture(scope="module")
def served(shared):
    return shared


@pytest.mark.parametrize("name", NAMES)
def test_every_page(page, served, name):
    visit(page, served, name)
    assert page.title().endswith(" · Topicture")
    assert page.locator("main").count() == 1
    assert page.locator("h1").count() == 1
    assert page.locator("h1").inner_text().strip()
    assert page.locator("script:not([src]), style, [onclick]").count() == 0
    keys_are_listed(page)
    tab_reaches_the_content(page)
    panels_open(page)
    resize(page, PHONE)
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate(SMALL, SMALLEST_TARGET) == []
    tabs = page.locator(".frame-nav a")
    assert tabs.evaluate_all(f"tabs => tabs.map({SEEN})") == [True] * tabs.count()


def keys_are_listed(page):
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    keys.get_by_text("Show this list").wait_for()
    page.keyboard.press("Escape")
    keys.wait_for(state="detached")


def tab_reaches_the_content(page):
    """From the top: the link that skips, then the pages, the search, the tools, and what the page is for."""
    page.evaluate("document.activeElement.blur(); document.body.tabIndex = -1; document.body.focus()")
    reached = []
    while "main" not in reached and len(reached) < 30:
        page.keyboard.press("Tab")
        reached.append(page.evaluate(PLACE))
    assert list(dict.fromkeys(reached)) == [
        "skip-link",
        "wordmark",
        "frame-nav",
        "frame-search",
        "frame-tools",
        "main",
    ]


def panels_open(page):
    """Whatever opens, opens without a word on the console; what lies over the page is closed by Escape."""
    for opener in page.locator(f"{PANELS}, {DIALOGS}").all():
        if not (opener.is_visible() and opener.is_enabled()):
            continue
        over = opener.evaluate("(button, dialogs) => button.matches(dialogs)", DIALOGS)
        opener.click()
        if over:
            page.locator("dialog[open] :is(li, tr)").first.wait_for()
        settle(page)
        assert page.evaluate(SIDEWAYS) <= 0
        if over:
            page.keyboard.press("Escape")
            page.locator("dialog[open]").wait_for(state="detached")


@pytest.mark.parametrize("size", [PHONE, (360, 640)])
def test_the_buttons_of_a_question_are_seen_without_scrolling(page, served, size):
    visit(page, served, "review-questions", size)
    for button in ("Yes", "No", "Skip"):
        found = page.get_by_role("button", name=button).first
        box = found.bounding_box()
        assert box["y"] + box["height"] <= size[1]
        assert found.evaluate(SEEN)
    assert page.locator(".stage img").bounding_box()["height"] >= 120


def test_the_javascript_of_all_pages_stays_small():
    """As a browser gets it: each script compressed by itself."""
    packed = {name: len(script.packed) for name, script in scripts().items()}
    assert sum(packed.values()) + len(gzip.compress((STATIC / "theme.js").read_bytes())) < JAVASCRIPT_BUDGET
    shared = packed.pop("shared")
    assert max(packed.values()) + shared < JAVASCRIPT_BUDGET / 2  # what one page loads


def test_what_is_squeezed_out_of_scripts_stands_in_no_text():
    tokens = re.compile(
        r"""//[^\n]*|/\*.*?\*/|`(?:\\.|[^`\\])*`|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
    )
    texts = [
        text for path in STATIC.rglob("*.js") for text in tokens.findall(path.read_text("utf-8")) if text
    ]
    assert len(texts) > 500
    assert [text for text in texts if SPACED.search(text)] == []


def test_scripts_are_served_compressed_and_hold_every_module(served):
    modules = {path.stem for folder in ("js", "pages") for path in (STATIC / folder).glob("*.js")}
    held = "".join(gzip.decompress(script.packed).decode() for script in scripts().values())
    found = set(re.findall(r"^const \$(\w+)=once", held, re.MULTILINE)) | {
        name.replace("-", "_") for name in NAMES
    }
    assert found == {name.replace("-", "_") for name in modules}
    headers = {"Cookie": served.cookie, "Accept-Encoding": "gzip"}
    request = urllib.request.Request(f"{served.url}/static/scripts/shared.js", None, headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.read() == scripts()["shared"].packed
        assert answer.headers["content-encoding"] == "gzip"
        headers["If-None-Match"] = answer.headers["etag"]
    with pytest.raises(HTTPError) as again:
        urllib.request.urlopen(urllib.request.Request(request.full_url, None, headers))
    assert again.value.code == 304
    again.value.close()
