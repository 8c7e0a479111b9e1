import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from topicture.earlier.user_regions import (
    decode_rle,
    regions_from_coco,
    regions_from_labelme,
    regions_from_masks,
)
from topicture.errors import CorpusError

SIZE = (20, 30)


def runs_of(mask):
    """Run lengths of a mask, down the columns, starting outside."""
    flat = np.concatenate([[False], mask.T.ravel()])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    return np.diff([0, *edges, mask.size]).tolist()


def compressed(runs):
    """COCO's text for run lengths: an encoder written for these tests."""
    text = ""
    for i, run in enumerate(runs):
        number, more = (run - runs[i - 2] if i > 2 else run), True
        while more:
            bits = number & 31
            number >>= 5
            more = number != (-1 if bits & 16 else 0)
            text += chr(48 + bits + 32 * more)
    return text


def box(x0, y0, x1, y1):
    return [x0, y0, x1, y0, x1, y1, x0, y1]


def test_a_coco_polygon_fills_the_pixels_inside():
    result = regions_from_coco([{"segmentation": [box(5, 2, 15, 12)]}], SIZE)
    expected = np.full(SIZE, -1)
    expected[2:12, 5:15] = 0
    np.testing.assert_array_equal(result.labels, expected)
    assert result.labels.dtype == np.int32
    assert result.sources == (0,)
    assert result.refused == ()


def test_several_polygons_are_one_region():
    result = regions_from_coco([{"segmentation": [box(0, 0, 5, 5), box(20, 10, 25, 15)]}], SIZE)
    assert (result.labels == 0).sum() == 50


def test_a_box_serves_where_there_is_no_segmentation():
    result = regions_from_coco([{"segmentation": [], "bbox": [3, 4, 10, 5]}], SIZE)
    assert (result.labels[4:9, 3:13] == 0).all()
    assert (result.labels == 0).sum() == 50


@settings(max_examples=60)
@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)), st.booleans())
def test_run_length_masks_round_trip(mask, as_text):
    runs = runs_of(mask)
    rle = {"size": list(mask.shape), "counts": compressed(runs) if as_text else runs}
    np.testing.assert_array_equal(decode_rle(rle, mask.shape), mask)


def test_a_known_compressed_text():
    mask = decode_rle({"size": [9, 10], "counts": "61X13mN000`0"}, (9, 10))  # as COCO's own tools write it
    assert runs_of(mask) == [6, 1, 40, 4, 5, 4, 5, 4, 21]


def test_long_and_shrinking_runs_in_compressed_text():
    mask = np.zeros((300, 400), dtype=bool)
    mask[:, 50:52] = mask[5, 100] = mask[10:290, 300] = True
    rle = {"size": [300, 400], "counts": compressed(runs_of(mask))}
    np.testing.assert_array_equal(decode_rle(rle, mask.shape), mask)


@pytest.mark.parametrize(
    ("rle", "reason"),
    [
        ({"size": [20, 30], "counts": [100]}, "100 pixels for a picture of 600"),
        ({"size": [30, 20], "counts": [600]}, "size"),
        ({"size": [20, 30], "counts": [-5, 605]}, "pixels"),
        ({"size": [20, 30], "counts": "~"}, "alphabet"),
        ({"size": [20, 30], "counts": "P"}, "ends within"),
        ({"size": [20, 30]}, "0 pixels"),
    ],
)
def test_bad_run_lengths_are_refused(rle, reason):
    with pytest.raises(CorpusError, match=reason):
        decode_rle(rle, SIZE)
    assert reason in regions_from_coco([{"segmentation": rle}], SIZE).refused[0][1]


def test_labelme_shapes():
    shapes = [
        {"points": [[0, 0], [10, 0], [10, 10], [0, 10]], "shape_type": "polygon"},
        {"points": [[25, 15], [15, 5]], "shape_type": "rectangle"},
        {"points": [[5, 15], [5, 18]], "shape_type": "circle"},
        {"points": [[1, 1], [2, 2]], "shape_type": "line"},
    ]
    result = regions_from_labelme(shapes, SIZE)
    assert result.sources == (0, 1, 2)
    sizes = np.bincount(result.labels[result.labels >= 0])
    assert sizes[0] == sizes[1] == 100
    assert sizes[2] == pytest.approx(np.pi * 9, rel=0.2)
    assert result.refused == ((3, "line of 2 points is no region"),)


def test_smaller_regions_lie_on_top_whatever_the_order():
    large, small = {"segmentation": [box(0, 0, 20, 20)]}, {"segmentation": [box(5, 5, 10, 10)]}
    for annotations in ([large, small], [small, large]):
        result = regions_from_coco(annotations, SIZE)
        inner = annotations.index(small)
        assert (result.labels[5:10, 5:10] == inner).all()
        assert (result.labels == 1 - inner).sum() == 400 - 25


def test_hidden_and_bad_items_are_left_out_with_a_reason_and_the_rest_stays():
    annotations = [
        {"segmentation": [box(0, 0, 10, 10)]},
        {"segmentation": [box(0, 0, 5, 10)]},
        {"segmentation": [box(5, 0, 10, 10)]},
        {"segmentation": [[1, 2, 3]]},
        {"segmentation": [[1, 2, 3, 4]]},
        {"bbox": [float("nan"), 0, 5, 5]},
        {"bbox": [100, 100, 5, 5]},
        {"bbox": ["left", 0, 5, 5]},
        {},
        {"segmentation": [box(20, 10, 25, 15)]},
    ]
    result = regions_from_coco(annotations, SIZE)
    assert result.sources == (1, 2, 9)
    assert [index for index, _ in result.refused] == [0, 3, 4, 5, 6, 7, 8]
    reasons = dict(result.refused)
    assert "hidden" in reasons[0]
    assert "2 points" in reasons[4]
    assert "finite" in reasons[5]
    assert "no pixel" in reasons[6]
    assert "neither" in reasons[8]


def test_masks_and_their_order():
    masks = np.zeros((3, *SIZE), dtype=bool)
    masks[0, :5], masks[2, 10:] = True, True
    result = regions_from_masks(masks)
    assert result.sources == (0, 2)
    np.testing.assert_array_equal(np.unique(result.labels), [-1, 0, 1])
    assert result.refused == ((1, "covers no pixel of the picture"),)
    assert (regions_from_masks([], shape=SIZE).labels == -1).all()
    with pytest.raises(CorpusError, match="shape must be given"):
        regions_from_masks([])
    assert "size" in regions_from_masks([masks[0], masks[2].T]).refused[0][1]


def test_another_size_than_the_drawing():
    annotations = [{"segmentation": [box(4, 4, 16, 12)]}]
    half = regions_from_coco(annotations, SIZE, shape=(10, 15))
    np.testing.assert_array_equal(half.labels, regions_from_coco(annotations, SIZE).labels[1::2, 1::2])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-10, 40)] * 4), max_size=6))
def test_every_item_is_a_region_or_refused(corners):
    result = regions_from_coco([{"segmentation": [box(*corner)]} for corner in corners], SIZE)
    assert sorted([*result.sources, *(index for index, _ in result.refused)]) == list(range(len(corners)))
    present = np.unique(result.labels)
    np.testing.assert_array_equal(present[present >= 0], np.arange(len(result.sources)))
