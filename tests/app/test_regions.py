"""Regions: words for the parts of a photo, drawn, and written for other programs."""

import io
import json
import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photo_folder import make_photos, words_of
from PIL import Image

from topicture.app.learning.labelling import Labelled, RegionLabel, WordBox, _best
from topicture.app.verbs.drawing import draw_regions, name_places
from topicture.app.verbs.library import Library
from topicture.corpus import Vocabulary
from topicture.errors import ImageError
from topicture.vision.region_parts import region_parts

RECIPE = {
    "views": ["regions:blobs", "visual_words:blobs"],
    "max_side": 32,
    "min_regions": 2,
    "max_regions": 4,
    "n_words": 8,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = Library.create(make_photos(tmp_path_factory.mktemp("photos"), n=40, tagged=32), recipe=RECIPE)
    library.scan()
    library.learn("corr-lda", workers=0)
    library.annotate(workers=0)
    return library


def test_regions_are_labelled(library):
    right = []
    for number in range(32, 40):
        if len(set(words_of(number))) < 2:
            continue
        name = ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"
        found = library.regions(name, tags=False)
        assert sum(region.area for region in found.regions) == pytest.approx(1)
        for region in found.regions:
            rows = np.nonzero(found.labels == region.region)[0]
            if region.word:
                right.append(region.word == words_of(number)[int(rows.mean() >= 12)])
    assert np.mean(right) > 0.6  # four words: chance is a quarter


def test_a_photo_that_is_away_is_named(library):
    photo, away = (library.folder.parent / name for name in ("photo-032.jpg", "away"))
    photo.rename(away)
    try:
        with pytest.raises(ImageError, match=r"photo-032\.jpg: can't be opened"):
            library.regions("photo-032.jpg")
    finally:
        away.rename(photo)


def test_a_tagged_photo_has_its_own_words(library):
    """Tags are known: no region gets another word, each tag has a place, and a region may have no word."""
    for number in range(32):
        name = ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"
        found = library.regions(name)
        assert {region.word for region in found.regions} <= {*words_of(number), ""}
        assert {box.word for box in found.boxes} <= set(words_of(number))
        assert len(found.boxes) == len({box.word for box in found.boxes}) >= 1
        assert all(0 <= box.probability <= 1 for box in found.boxes)


def test_a_region_of_a_tagged_photo_that_shows_something_else_has_no_word():
    shape = region_parts(np.array([[0, 1]]))
    sure, words = np.array([[0.8, 0.1], [0.1, 0.8]]), Vocabulary(["sea", "sky"])
    assert [region.word for region in _best(sure, words, shape, {"sea": 1.0})] == ["sea", ""]
    assert [region.word for region in _best(sure, words, shape, {})] == ["sea", "sky"]
    assert [region.word for region in _best(sure, words, shape, {"unknown": 1.0})] == ["sea", "sky"]


def test_regions_are_drawn(library, tmp_path):
    (tmp_path / "regions.png").write_bytes(draw_regions(library.regions("photo-032.jpg")))
    with Image.open(tmp_path / "regions.png") as picture:
        assert picture.size == (640, 480)
        assert len(picture.getcolors(1 << 20)) > 100


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
def test_exiftool_reads_the_regions_back(library):
    number = next(n for n in range(32, 40) if len(set(words_of(n))) == 2)
    name = ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"
    library.decide(name, set(words_of(number)), "present")
    assert library.write(regions=True, certainty=0.0).pending == ()
    sidecar = library.folder.parent / f"{name}.xmp"
    told = json.loads(
        subprocess.run(
            ["exiftool", "-json", "-struct", "-Subject", "-ImageRegion", "-RegionInfo", sidecar],
            capture_output=True,
            check=True,
        ).stdout
    )[0]
    assert sorted(told["Subject"]) == sorted(set(words_of(number)))
    assert told["ImageRegion"]
    for region in told["ImageRegion"]:
        assert region["Name"] in words_of(number)
        assert 0 <= region["RegionBoundary"]["RbX"] <= 1
        assert 0 < region["RegionBoundary"]["RbH"] <= 1
    assert {r["Name"] for r in told["RegionInfo"]["RegionList"]} == {r["Name"] for r in told["ImageRegion"]}


def drawn(boxes, words, side=480):
    labels = np.zeros((side, side), int)
    labels[:, side // 2 :] = 1
    regions = tuple(RegionLabel(n, word, 0.9, 0.5) for n, word in enumerate(words))
    found = Labelled("x.jpg", regions, tuple(boxes), np.full((side, side, 3), 90, np.uint8), labels)
    return np.asarray(Image.open(io.BytesIO(draw_regions(found))).convert("RGB"))


def colours(picture, left=0):
    """Those of the lower half, where no name stands."""
    return {tuple(colour) for colour in picture[240:, left:].reshape(-1, 3).tolist()}


def test_every_word_has_one_colour_and_no_word_none():
    assert len(colours(drawn([], ["sea", "sky"]))) == 2
    assert len(colours(drawn([], ["sea", "sea"]))) == 1
    assert colours(drawn([], ["sea", ""]), 240) == {(90, 90, 90)}


@pytest.mark.parametrize(
    ("words", "named"),
    [(["sea", "sky"], [True, True]), (["sea", ""], [True, False]), (["sea", "sea"], [True, False])],
)
def test_no_colour_goes_without_its_name(words, named):
    """A word of regions that has no rectangle is named as well, once."""
    halves = np.split(drawn([], words)[:240], 2, axis=1)
    assert [bool((half == 0).all(axis=2).any()) for half in halves] == named


def test_doubtful_rectangles_have_thin_lines():
    inked = [
        (drawn([WordBox("sea", 0.2, 0.5, 0.6, 0.4, p)], ["", ""]) != 90).any(axis=2).sum() for p in (0.9, 0.2)
    ]
    assert inked[0] > inked[1] > 1000


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 700), st.floats(0, 500), st.floats(0, 700), st.floats(0, 500), st.floats(20, 300)
        ),
        max_size=12,
    )
)
def test_names_neither_clip_nor_overlap(boxes):
    frames = [(min(a, c), min(b, d), max(a, c) + 6, max(b, d) + 6) for a, b, c, d, _ in boxes]
    places = name_places(frames, [(width, 20.0) for *_, width in boxes], (720, 520))
    found = [place for place in places if place is not None]
    for left, top, right, bottom in found:
        assert 0 <= left < right <= 720
        assert 0 <= top < bottom <= 520
    for one, other in combinations(found, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_many_names_all_find_a_place():
    frame = (600.0, 400.0, 719.0, 519.0)
    places = name_places([frame] * 8, [(150.0, 20.0)] * 8, (720, 520))
    assert None not in places
