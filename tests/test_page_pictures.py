"""The pictures of the page in the documentation are those that its script takes: names, sizes, and all are used."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from topicture.app.web.addresses import PAGES

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
