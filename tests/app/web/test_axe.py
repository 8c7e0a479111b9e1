"""axe finds nothing to complain about on any page: light and dark, wide and narrow, dialogs and panels included."""

import pytest
from serving import let_in, opened
from visits import DESK, NAMES, PHONE, resize, settle, visit

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = pytest.mark.slow  # every page in every form

EVERYTHING = {"resultTypes": ["violations"], "preload": False}
CONTRAST = {
    **EVERYTHING,
    "runOnly": {"type": "rule", "values": ["color-contrast"]},
}  # all that a theme changes
# What hides until it is asked for: page -> keys that show it, and what they show.
HIDDEN = {
    "photos": ("f", "#filter-fields"),
    "photo": ("w", ".why table"),
    "review-grid": ("h", "dialog.history li"),
    "words": ("j Enter", ".word-detail .confusions"),
}


@pytest.fixture(scope="module")
def served(shared):
    return shared


@pytest.fixture
def page(browser, served):
    """A page on which axe may set the inline styles that it measures with; other tests hold pages to the policy."""
    with opened(browser, served.url, bypass_csp=True) as page:
        let_in(page, served)
        yield page


def violations(page, options=EVERYTHING):
    """What axe finds, a line each. It is loaded once per visit: it is half a megabyte."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{each['id']} ({each['help']}): {node['html'][:160]} {node.get('failureSummary', '')}"
        for each in found
        for node in each["nodes"]
    ]


def in_both_themes(page, where):
    found = [f"{where}, light: {line}" for line in violations(page)]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [f"{where}, dark: {line}" for line in violations(page, CONTRAST)]
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_page_has_a_violation(page, served, name):
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    visit(page, served, name)
    found = in_both_themes(page, f"{name} at {DESK[0]}")
    resize(page, PHONE)
    found += in_both_themes(page, f"{name} at {PHONE[0]}")
    if name == "review-grid":
        page.locator("body").press("f")
        found += in_both_themes(page, "keys on the photos")
    if name in HIDDEN:
        keys, shown = HIDDEN[name]
        page.evaluate("document.activeElement.blur()")
        for key in keys.split():
            page.keyboard.press(key)
        page.locator(shown).first.wait_for(timeout=60_000)
        settle(page)
        found += in_both_themes(page, f"{name} after {keys}")
    assert found == []


def test_the_list_of_keys_has_no_violation(page, served):
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    visit(page, served, "review")
    page.locator("body").press("?")
    page.get_by_role("dialog").wait_for()
    assert in_both_themes(page, "keys") == []


def test_who_is_not_let_in_reads_a_page_without_violations(browser, served):
    with opened(browser, served.url, bypass_csp=True) as page:
        page.expected.append("401")
        page.goto("/photos")
        page.get_by_label("The token of that address").wait_for()
        assert in_both_themes(page, "door") == []
