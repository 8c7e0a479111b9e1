"""Names and tags that would like to be more than text are shown as text."""

import os
from pathlib import Path

import pytest
from photo_folder import jpeg, learn, make_library, put

HOSTILE = '<img src=x onerror="document.title=1">'
RIGHT_TO_LEFT = "\u202etxt.gpj"
NO_TEXT = "bytes-\ufffd.jpg"  # how bytes that are no text are shown


@pytest.fixture
def photos(tmp_path):
    """Instead of the sample: photos with such names, and two such tags."""
    root = tmp_path / "photos"
    library = make_library(root)
    put(root / f"{HOSTILE}.jpg", jpeg(101))
    put(root / f"a{RIGHT_TO_LEFT}.jpg", jpeg(102))
    put(root / "line\nbreak" / "photo.jpg", jpeg(103))
    put(Path(os.fsdecode(os.fsencode(root) + b"/bytes-\xff.jpg")), jpeg(104))
    library.scan()
    learn(library)
    for image in range(1, 69):
        library.decide(image, [HOSTILE], "present")
    library.decide(1, [RIGHT_TO_LEFT], "present")
    return root


def test_hostile_names_and_tags_are_text(page, served):
    from playwright.sync_api import expect

    listed = {photo["name"]: photo for photo in served.get("photos", limit=100)[1]["photos"]}
    nasty = next(photo for name, photo in listed.items() if name.startswith("<img"))
    page.goto("/photos?order=path")
    expect(page.locator(".tile[aria-label*=onerror]").first).to_be_attached()
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_role("combobox", name="Tag", exact=True).fill("<img")
    page.get_by_role("option").filter(has_text="onerror").click()
    expect(page.locator("main [role=status]").first).to_have_text("68 photos")
    expect(page.get_by_label("Folder").locator("option")).to_have_count(3)
    page.goto(f"/photo/{nasty['id']}")
    expect(page.locator(".panel h1")).to_have_text(nasty["name"])
    expect(page.get_by_role("region", name="Tags").locator("bdi").first).to_have_text(HOSTILE)
    page.goto("/search?q=%22%3Cimg+src%3Dx+onerror%3D%5C%22document.title%3D1%5C%22%3E%22")
    expect(page.locator("main [role=status]").first).to_have_text("68 photos")
    page.goto("/search?q=%3Cimg+src%3Dz%3E")
    expect(page.locator("main .empty")).to_contain_text("<img")
    page.goto(f"/photo/{listed[NO_TEXT]['id']}")
    expect(page.locator(".panel h1")).to_have_text(NO_TEXT)
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "1"
