"""Regions: words for the parts of a photo, drawn, and written for other programs."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from photo_folder import make_photos, words_of
from PIL import Image

from topicture.app.learning.labelling import Labelled, RegionLabel, boxes_of
from topicture.app.verbs.library import Library

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


def labelled(labels, words):
    labels = np.array(labels)
    areas = np.bincount(labels.ravel()) / labels.size
    regions = tuple(RegionLabel(n, word, 0.5, areas[n]) for n, word in enumerate(words))
    return Labelled("x.jpg", regions, np.zeros((*labels.shape, 3), np.uint8), labels)


def test_boxes_surround_connected_patches():
    boxes = boxes_of(
        labelled([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 3], [2, 2, 2, 3]], ["sky", "sea", "sea", "sky"])
    )
    assert [(box.word, box.x, box.y, box.w, box.h) for box in boxes] == [
        ("sea", 0.0, 0.0, 1.0, 1.0),  # both patches of sea touch
        ("sky", 0.0, 0.0, 0.5, 0.5),
        ("sky", 0.75, 0.5, 0.25, 0.5),
    ]


def test_tiny_patches_are_no_objects():
    labels = np.zeros((40, 40), int)
    labels[0, 0] = 1
    assert [box.word for box in boxes_of(labelled(labels, ["sky", "star"]))] == ["sky"]


def test_regions_are_labelled(library):
    right = []
    for number in range(32, 40):
        if len(set(words_of(number))) < 2:
            continue
        name = ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"
        found = library.regions(name)
        assert sum(region.area for region in found.regions) == pytest.approx(1)
        for region in found.regions:
            rows = np.nonzero(found.labels == region.region)[0]
            right.append(region.word == words_of(number)[int(rows.mean() >= 12)])
    assert np.mean(right) > 0.6  # four words: chance is a quarter


def test_regions_are_drawn(library, tmp_path):
    from topicture.app.verbs.drawing import draw_regions

    (tmp_path / "regions.png").write_bytes(draw_regions(library.regions("photo-032.jpg")))
    with Image.open(tmp_path / "regions.png") as picture:
        assert picture.size == (640, 480)
        assert len(picture.getcolors(1 << 20)) > 100


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
def test_exiftool_reads_the_regions_back(library):
    number = next(n for n in range(32, 40) if len(set(words_of(n))) == 2)
    name = ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"
    library.decide(name, set(words_of(number)), "present")
    assert library.write().pending == ()
    sidecar = library.folder.parent / f"{name}.xmp"
    told = json.loads(
        subprocess.run(
            ["exiftool", "-json", "-struct", "-Subject", "-ImageRegion", sidecar],
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
