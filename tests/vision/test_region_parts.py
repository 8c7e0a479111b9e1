"""Parts of regions say the same about the patches of a word as the label map itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from topicture.app.learning.word_boxes import word_boxes
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import REGION_PARTS, Recipe
from topicture.vision.region_parts import known_region_parts, region_parts

WORDS = ["sea", "sky"]


def patches(labels, words):
    """Word -> {(left, top, right, bottom) in pixels: pixels of the patch}, straight from the label map."""
    found = {}
    for word in set(words):
        mine = np.isin(labels, [n for n, other in enumerate(words) if other == word])
        numbered = ndimage.label(mine)[0]
        for number, (rows, columns) in enumerate(ndimage.find_objects(numbered), start=1):
            corners = (columns.start, rows.start, columns.stop, rows.stop)
            found.setdefault(word, []).append((int((numbered == number).sum()), corners))
    return found


@settings(deadline=None)
@given(
    arrays.arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(-1, 4)),
    st.lists(st.sampled_from(WORDS), min_size=5, max_size=5),
)
def test_boxes_are_those_of_the_label_map(labels, words):
    """Where every region surely shows one word, each word's box is that of its largest patch."""
    p = np.array([[float(word == other) for other in WORDS] for word in words])
    size = np.array(labels.shape[::-1])
    true = patches(labels, words)
    boxes = word_boxes(region_parts(labels), p, WORDS)
    assert {box.word for box in boxes if box.probability == 1} == true.keys()
    for box in boxes:
        corners = np.array([[box.x, box.y], [box.x + box.w, box.y + box.h]]) * size
        if box.probability == 1:
            largest = max(area for area, _ in true[box.word])
            assert (largest, tuple(np.rint(corners).astype(int).ravel().tolist())) in true[box.word]


def test_a_box_takes_in_what_is_likely_and_leaves_out_what_is_not():
    labels = np.repeat(np.arange(4), 5)[None].repeat(8, axis=0)
    (box,) = word_boxes(region_parts(labels), np.array([[0.9], [0.7], [0.2], [0.0]]), ["cow"])
    assert (box.x, box.w) == (0, 0.5)
    assert box.probability == pytest.approx(0.8)


def test_a_word_that_no_region_likely_shows_is_where_it_is_likeliest():
    labels = np.repeat(np.arange(4), 5)[None].repeat(8, axis=0)
    (box,) = word_boxes(region_parts(labels), np.array([[0.02], [0.1], [0.04], [0.0]]), ["cow"])
    assert (box.x, box.w) == (0.25, 0.25)
    assert box.probability == pytest.approx(0.1)


def test_tiny_patches_are_no_objects():
    labels = np.zeros((40, 40), int)
    labels[0, 0] = 1
    boxes = word_boxes(region_parts(labels), np.eye(2), ["sky", "star"])
    assert [box.word for box in boxes] == ["sky"]


def test_areas_add_up():
    labels = np.array([[0, 1, 0], [1, 1, -1]])
    shape = region_parts(labels)
    assert shape.parts[:, 5].sum() == pytest.approx(5 / 6)
    assert sorted(shape.parts[:, 0].tolist()) == [0, 0, 1]
    assert len(shape.edges) == 2


def test_they_are_kept_with_the_measurements_where_wanted(tmp_path):
    from PIL import Image

    path = tmp_path / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)).save(path)
    recipe = Recipe(("regions:blobs",), segmentation="grid", min_regions=4, max_regions=4)
    options = {"vocabulary": ["sea"], "workers": 0, "cache": tmp_path / "cache"}
    describe([Photo("a", path)], recipe, **options)
    assert list(known_region_parts([path], recipe, tmp_path / "cache")) == [None]
    describe([Photo("a", path)], recipe, extra=REGION_PARTS, **options)
    (shape,) = known_region_parts([path], recipe, tmp_path / "cache")
    assert sorted(map(tuple, shape.parts[:, :5].tolist())) == [
        (0.0, 0.0, 0.0, 0.5, 0.5),
        (1.0, 0.5, 0.0, 1.0, 0.5),
        (2.0, 0.0, 0.5, 0.5, 1.0),
        (3.0, 0.5, 0.5, 1.0, 1.0),
    ]
    assert len(shape.edges) == 4
