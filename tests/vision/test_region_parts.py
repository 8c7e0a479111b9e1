"""Parts of regions say the same about the patches of a word as the label map itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from topicture.app.learning.labelling import RegionLabel, word_boxes
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import REGION_PARTS, Recipe
from topicture.vision.region_parts import known_region_parts, region_parts

WORDS = ["sea", "sky"]


def patches(labels, words):
    """(word, left, top, right, bottom) in pixels, straight from the label map."""
    found = []
    for word in set(words):
        mine = np.isin(labels, [n for n, other in enumerate(words) if other == word])
        numbered = ndimage.label(mine)[0]
        for number, (rows, columns) in enumerate(ndimage.find_objects(numbered), start=1):
            if (numbered == number).sum() >= 0.01 * labels.size:
                found.append((word, columns.start, rows.start, columns.stop, rows.stop))
    return sorted(found)


@settings(deadline=None)
@given(
    arrays.arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(-1, 4)),
    st.lists(st.sampled_from(WORDS), min_size=5, max_size=5),
)
def test_boxes_are_those_of_the_label_map(labels, words):
    areas = [float((labels == n).mean()) for n in range(5)]
    regions = [RegionLabel(n, word, 0.5, areas[n]) for n, word in enumerate(words)]
    size = np.array(labels.shape[::-1])
    boxes = []
    for box in word_boxes(region_parts(labels), regions):
        corners = np.array([[box.x, box.y], [box.x + box.w, box.y + box.h]]) * size
        boxes.append((box.word, *np.rint(corners).astype(int).ravel().tolist()))
    assert sorted(boxes) == patches(labels, words)


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
