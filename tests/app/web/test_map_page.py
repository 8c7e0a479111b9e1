"""The Map page in a browser: points are drawn, the lasso selects, the selection is tagged; keys, list, no WebGL."""

import io

import numpy as np
import pytest
from PIL import Image
from test_review_pages import eventually

from topicture.app.verbs.mapping.making import make_map

STALL = "GPU stall due to ReadPixels"  # of taking a picture of the page


@pytest.fixture
def mapped(served):
    with served.library.reading() as catalog:
        make_map(catalog)
    return served


def drawn(page, served):
    page.expected.append(STALL)
    page.goto(f"{served.url}/map")
    page.locator(".map-stage[data-drawn]").wait_for()
    return page


def lasso_all(page):
    box = page.locator(".map-stage").bounding_box()
    left, top, right, bottom = (
        box["x"] + 4,
        box["y"] + 4,
        box["x"] + box["width"] - 4,
        box["y"] + box["height"] - 4,
    )
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right - 90, top), (right - 90, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")


def test_points_are_drawn(page, mapped, shot):
    drawn(page, mapped)
    shot(page, "map")
    page.evaluate("document.querySelectorAll('.map-canvas')[1].hidden = true")  # without words and pictures
    pixels = np.asarray(
        Image.open(io.BytesIO(page.locator(".map-stage").screenshot())).convert("RGB")
    ).astype(int)
    paper = pixels[2, 2]
    coloured = np.abs(pixels - paper).sum(axis=2) > 60
    assert 200 < coloured.sum() < 0.2 * coloured.size
    green = (pixels[..., 1] - pixels[..., 0] > 30) & coloured
    assert green.sum() > 100  # those that are tagged


def test_the_lasso_selects_and_the_selection_is_tagged_and_untagged(page, mapped, shot):
    drawn(page, mapped)
    lasso_all(page)
    heading = page.get_by_role("heading", name="photos selected")
    heading.wait_for()
    n = int(heading.inner_text().split()[0])
    assert n > 30
    shot(page, "map-selected")
    page.get_by_label("Word for the selected photos").fill("holiday")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.locator(".toast", has_text=f"Tagged {n} photos “holiday”").wait_for()
    with mapped.library.reading() as catalog:
        assert len(catalog.decisions.images_with(["holiday"], "present")) == n
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.locator(".toast", has_text="Took back").wait_for()
    with mapped.library.reading() as catalog:
        assert catalog.decisions.images_with(["holiday"], "present") == []


def test_what_is_in_view_is_selected_and_rejected_by_keys_alone(page, mapped):
    drawn(page, mapped)
    page.locator(".map-stage").focus()
    page.keyboard.press("s")
    page.get_by_role("heading", name="64 photos selected").wait_for()
    page.keyboard.type("unicorn")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".toast", has_text="64 photos without “unicorn”").wait_for()
    with mapped.library.reading() as catalog:
        assert len(catalog.decisions.images_with(["unicorn"], "rejected")) == 64


def in_view(page):
    """How many photos are selected when all in view are."""
    page.locator(".map-stage").focus()
    page.keyboard.press("s")
    heading = page.locator(".map-selection h2")
    n = int(heading.inner_text().split()[0]) if heading.is_visible() else 0
    page.locator(".map-stage").focus()
    page.keyboard.press("Escape")
    return n


def test_wheel_and_keys_move_over_the_map_and_enter_opens_a_photo(page, mapped):
    drawn(page, mapped)
    assert in_view(page) == 64
    box = page.locator(".map-stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(4):
        page.mouse.wheel(0, -200)
    eventually(lambda: in_view(page) < 64)
    page.keyboard.press("0")
    assert in_view(page) == 64
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert in_view(page) < 64
    page.keyboard.press("0")
    with mapped.library.reading() as catalog:
        images = set(catalog.index_images().tolist())
    place = page.evaluate(
        "fetch('/api/map').then(r => r.json()).then(m => fetch('/api/map/points?version=' + m.version))"
        ".then(r => r.arrayBuffer()).then(b => { const n = b.byteLength / 13;"
        " return [new Float32Array(b, 4 * n, n)[0], new Float32Array(b, 8 * n, n)[0], new Int32Array(b, 0, n)[0]] })"
    )
    stretch = max(0.7, min(1.7, box["width"] / box["height"]))
    zoom = 0.46 * min(box["height"], box["width"] / stretch)
    page.mouse.click(
        box["x"] + box["width"] / 2 + place[0] * zoom * stretch,
        box["y"] + box["height"] / 2 - place[1] * zoom,
    )
    page.wait_for_url("**/photo/*")
    assert int(page.url.split("/")[-1]) in images


def test_what_is_selected_stays_selected_when_the_map_is_made_anew(page, mapped):
    """By photo, not by place in the list of photos."""
    from playwright.sync_api import expect

    version, ids = ["1"], list(range(1, 65))

    def columns(route):
        places = np.linspace(-0.9, 0.9, 64, dtype="<f4").tobytes()
        route.fulfill(body=np.array(ids, "<i4").tobytes() + 2 * places + bytes(64))

    summary = mapped.get("map")[1]
    page.route("**/api/map", lambda route: route.fulfill(json={**summary, "version": version[0]}))
    page.route("**/api/map/points*", columns)
    drawn(page, mapped)
    page.locator(".map-stage").focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("s")
    shown = page.locator(".map-photos a")
    shown.first.wait_for()
    chosen = {int(link.get_attribute("href").split("/")[-1]) for link in shown.all()}
    assert 0 < len(chosen) < 64
    version[0] = "2"  # as in another tab
    ids[:] = ids[20:] + ids[:20]
    field = page.get_by_label("Word for the selected photos")
    for word in ("before", "after"):
        field.fill(word)
        page.get_by_role("button", name="Tag", exact=True).click()
        page.locator(".toast", has_text=f"“{word}”").wait_for()
        with mapped.library.reading() as catalog:
            assert set(catalog.decisions.images_with([word], "present")) == chosen
        if word == "before":
            expect(field).to_have_value("")  # the panel of the new map
    assert {int(link.get_attribute("href").split("/")[-1]) for link in shown.all()} == chosen


def test_the_list_says_what_the_map_shows(page, mapped):
    drawn(page, mapped)
    page.get_by_role("button", name="List", exact=True).click()
    words = page.get_by_role("region", name="Words of the map")
    assert set(words.get_by_role("link").all_inner_texts()) == {"rose", "grass", "sea", "sand"}
    words.get_by_role("button", name="Show rose on the map").click()
    assert page.evaluate("document.activeElement.className") == "map-stage"


def test_without_webgl_there_is_the_list_and_a_reason(page, mapped):
    page.add_init_script(
        "const made = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, options) {"
        " return kind === 'webgl2' ? null : made.call(this, kind, options) }"
    )
    page.goto(f"{mapped.url}/map")
    page.get_by_text("This browser has no WebGL2").wait_for()
    page.get_by_role("link", name="rose").wait_for()


def test_without_a_map_one_is_made(page, served):
    page.expected.append(STALL)
    page.goto(f"{served.url}/map")
    page.get_by_role("button", name="Make the map").click()
    page.locator(".map-stage[data-drawn='64']").wait_for(timeout=60_000)
    assert served.get("map")[1]["status"] == "ready"


def test_the_columns_are_of_the_map_that_was_asked_for(mapped):
    status, answer = mapped.get("map/points", version="0" * 16)
    assert (status, answer["error"]["code"]) == (404, "not-found")
    assert mapped.get("map/points")[0] == 400
