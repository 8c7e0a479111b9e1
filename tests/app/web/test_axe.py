"""axe finds nothing to complain about on any page: light and dark, wide and narrow, dialogs and panels included."""

import pytest
from visits import DESK, NAMES, PHONE, prepare, visit

pytest.importorskip("axe_playwright_python")
from axe_playwright_python.sync_playwright import Axe

CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}  # all that a theme changes


def violations(page, options=None):
    found = Axe().run(page, options=options).response["violations"]
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
    prepare(served)
    found = []
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    for size in (DESK, PHONE):
        visit(page, name, size)
        found += in_both_themes(page, f"{name} at {size[0]}")
    assert found == []
