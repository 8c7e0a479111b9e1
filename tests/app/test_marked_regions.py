"""Boxes that people made: kept at import, and set against the regions of models when these are chosen."""

import json

import numpy as np
import pytest
from photo_folder import make_photos, words_of
from PIL import Image

from topicture.annotations.choice.region_evidence import Calibration, Overlaps, RegionEvidence
from topicture.app.learning.region_choice import _best
from topicture.app.learning.word_boxes import box_overlap
from topicture.app.verbs.library import Library
from topicture.store import Catalog
from topicture.store.regions import Box
from topicture.store.safety.own_files import CatalogError

RECIPE = {"views": ["colour-layout", "regions:blobs"], "max_side": 32, "min_regions": 2, "max_regions": 4}


def name(number):
    return ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"


def labelme(root, folder, number, size=None):
    """The upper half shows the first word of a photo, the lower half the second."""
    with Image.open(root / name(number)) as image:
        width, height = size or image.size
    shapes = [
        {"label": word, "shape_type": "rectangle", "points": [[0, top], [width, top + height / 2]]}
        for word, top in zip(words_of(number), (0, height / 2), strict=False)
    ]
    content = {"shapes": shapes, "imagePath": name(number), "imageWidth": width, "imageHeight": height}
    (folder / f"{number}.json").write_text(json.dumps(content))


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    root = make_photos(tmp_path_factory.mktemp("photos"), n=36, tagged=30)
    labels = tmp_path_factory.mktemp("labels")
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    for number in range(24):
        labelme(root, labels, number)
    labelme(root, labels, 24, size=(100, 10))
    return library, library.import_tags(labels, "labelme")


def test_boxes_are_kept_in_shares_of_the_picture(marked):
    library, result = marked
    assert result.boxes_left_out == len(words_of(24)[:2])
    assert result.boxes > 24
    with Catalog.open(library.folder) as catalog:
        kept = catalog.regions.marked()
        assert sum(map(len, kept.values())) == result.boxes
        assert kept[catalog.files.at(name(0)).image][0] == Box(words_of(0)[0], 0, 0, 1, 0.5, 1)


def test_learning_sets_models_against_the_boxes(marked):
    library, result = marked
    library.learn("lsa", workers=0)
    folder = library.folder / "models" / library.models()[0].folder
    told = json.loads((folder / "report.json").read_text())["regions"]
    for trial in told["trials"]:
        assert 20 <= trial["marked"] <= result.boxes
        assert 0.3 < trial["overlap_whole"] <= 1
        assert trial["overlap"] > 0.3
    assert isinstance(told["beats_whole_photo"], bool)


def test_damaged_boxes_are_told(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        catalog.set("marked_regions", {"1": [["dog", 0]]})
        with pytest.raises(CatalogError, match="marked_regions"):
            catalog.regions.marked()


def evidence(right, placed, n=40):
    whole = np.full(n, 0.4)
    noise = np.random.default_rng(0).normal(0, 0.01, n)
    overlaps = None if placed is None else Overlaps(placed + noise, whole)
    return RegionEvidence(right, 0.5, 1.0, 0.1, Calibration(np.zeros(1), np.zeros(1)), overlaps)


def test_what_people_marked_counts_before_tags():
    names = ("first", "second")
    by_tags = {"first": evidence(0.9, None), "second": evidence(0.8, None)}
    assert _best(names, by_tags) == "first"
    by_marks = {"first": evidence(0.9, 0.5), "second": evidence(0.8, 0.6)}
    assert _best(names, by_marks) == "second"
    too_few = {"first": evidence(0.9, 0.5, n=5), "second": evidence(0.8, 0.6, n=5)}
    assert _best(names, too_few) == "first"
    assert evidence(0.9, 0.5).beats_whole_photo
    assert not evidence(0.9, 0.3).beats_whole_photo  # although tags say so
    assert evidence(0.9, 0.3, n=5).beats_whole_photo


def test_overlap_of_boxes():
    assert box_overlap((0, 0, 1, 1), (0, 0, 1, 1)) == 1
    assert box_overlap((0, 0, 0.5, 1), (0.5, 0, 0.5, 1)) == 0
    assert box_overlap((0, 0, 0.5, 1), (0.25, 0, 0.5, 1)) == pytest.approx(1 / 3)
