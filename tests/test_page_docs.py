"""The documentation of the page: its pictures are those that the script takes, and every address is in it."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image
from starlette.routing import Mount, Route

from topicture.app.web.addresses import PAGES
from topicture.app.web.application import build
from topicture.app.web.site import Site

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))
import screenshots  # noqa: E402

sys.path.remove(str(DOCS))
NAMES = {picture.name for picture in screenshots.PICTURES}


def test_the_script_visits_every_page():
    assert set(screenshots.VISITS) == {name for name, _ in PAGES.values()}
    assert {picture.page for picture in screenshots.PICTURES} <= set(screenshots.VISITS)


@pytest.mark.parametrize("picture", screenshots.PICTURES, ids=lambda picture: picture.name)
def test_a_picture_has_its_size(picture):
    path = screenshots.IMAGES / picture.name
    assert path.stat().st_size < screenshots.LIMIT_BYTES
    with Image.open(path) as image:
        assert image.size == screenshots.SIZES[picture.size]


def test_there_are_no_pictures_of_pages_that_nothing_takes():
    assert {path.name for path in screenshots.IMAGES.glob("page-*")} == NAMES


@pytest.mark.parametrize(
    ("page", "pictures"), [("docs/page.md", screenshots.PICTURES), ("README.md", screenshots.IN_README)]
)
def test_all_pictures_are_shown(page, pictures):
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    assert set(re.findall(r"images/(page-[\w-]+\.webp)", text)) == {picture.name for picture in pictures}


def test_every_address_is_documented():
    text = (DOCS / "page.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"(?<![\w.])/[a-z][\w/]*(?:\.js)?", text))
    routes = build(Site(None, None)).routes
    data = next(route for route in routes if isinstance(route, Mount) and route.path == "/api")
    addresses = [route.path for route in routes if isinstance(route, Route) and route.path != "/"]
    addresses += [data.path + route.path for route in data.routes]
    assert len(addresses) > 40
    named = {re.sub(r"{(\w+):\w+}", lambda found: found[1].upper(), address) for address in addresses}
    assert named <= documented, named - documented
