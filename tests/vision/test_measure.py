import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import noise, quadrants
from PIL import Image

from topicture.errors import ImageError
from topicture.vision.features.blobs import blob_features
from topicture.vision.measure import (
    Measured,
    Measurer,
    Task,
    Unmeasured,
    content_id,
    photo_regions,
    resize_labels,
)
from topicture.vision.recipe import VIEWS, Recipe

STEPS = tuple(dict.fromkeys(step for view in VIEWS.values() for step in view.steps))
RECIPE = Recipe(network="lite0", n_patches=30)


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def test_every_step_has_its_shape_and_is_finite():
    measured = Measurer(RECIPE)(Task(png(quadrants()[0]), None, STEPS))
    assert isinstance(measured, Measured)
    n_regions = len(measured.arrays["region-areas"])
    shapes = {step: array.shape for step, array in measured.arrays.items()}
    assert shapes == {
        "deep": (1280,),
        "colour-layout": (648,),
        "regions:deep": (n_regions, 1392),
        "regions:blobs": (n_regions, 46),
        "sift": (30, 128),
        "sift-regions": (30,),
        "region-areas": (n_regions,),
    }
    assert all(np.isfinite(array).all() for array in measured.arrays.values())
    assert measured.arrays["region-areas"].sum() == pytest.approx(1)


def test_a_step_does_not_depend_on_the_others():
    pixels = noise(50, 70)
    together = Measurer(RECIPE)(Task(pixels, None, STEPS)).arrays
    for step in STEPS:
        alone = Measurer(RECIPE)(Task(pixels, None, (step,))).arrays
        assert list(alone) == [step]
        assert np.array_equal(alone[step], together[step]), step


def test_path_bytes_and_pixels_agree(tmp_path):
    pixels = noise(40, 40)
    path = tmp_path / "a.png"
    path.write_bytes(png(pixels))
    results = [
        Measurer(RECIPE)(Task(source, None, STEPS)) for source in (path, str(path), png(pixels), pixels)
    ]
    for step in STEPS:
        for result in results[1:]:
            assert np.array_equal(result.arrays[step], results[0].arrays[step])
    assert results[0].content == results[1].content == results[2].content == content_id(png(pixels), None)


def test_own_regions_replace_the_segmentation():
    pixels, truth = quadrants()
    arrays = Measurer(RECIPE)(Task(pixels, truth, ("regions:blobs", "sift-regions"))).arrays
    assert np.allclose(arrays["regions:blobs"], blob_features(pixels, truth), rtol=1e-5, atol=1e-5)
    assert set(arrays["sift-regions"]) <= {0, 1, 2, 3}


def test_own_regions_that_cover_nothing():
    labels = np.full((60, 80), -1, dtype=np.int32)
    arrays = Measurer(RECIPE)(Task(quadrants()[0], labels, STEPS)).arrays
    assert arrays["regions:blobs"].shape == (0, 46)
    assert arrays["regions:deep"].shape == (0, 1392)
    assert arrays["region-areas"].shape == (0,)
    assert (arrays["sift-regions"] == -1).all()


def test_identity_follows_content_and_regions():
    pixels, truth = quadrants()
    ids = {
        content_id(pixels, None),
        content_id(pixels, truth),
        content_id(pixels, 3 - truth),
        content_id(pixels[::-1], None),
        content_id(png(pixels), None),
    }
    assert len(ids) == 5
    assert content_id(pixels.copy(), truth.copy()) in ids


def test_failures_carry_their_reason(tmp_path):
    missing = Measurer(RECIPE)(Task(tmp_path / "none", None, ("deep",)))
    assert isinstance(missing, Unmeasured)
    assert not missing.lasting
    broken = Measurer(RECIPE)(Task(b"text", None, ("deep",)))
    assert isinstance(broken, Unmeasured)
    assert broken.lasting
    assert "not a photo" in broken.reason


def test_photo_regions_are_those_that_were_measured():
    pixels, labels = photo_regions(png(noise(60, 90)), RECIPE)
    assert labels.shape == pixels.shape[:2]
    rows = Measurer(RECIPE)(Task(png(noise(60, 90)), None, ("regions:blobs",))).arrays["regions:blobs"]
    assert np.allclose(rows, blob_features(pixels, labels), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("border", "shape"), [(0, (40, 60)), (5, (30, 50)), (20, (40, 60)), ("dark", (36, 54))]
)
def test_border_is_cut(border, shape):
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[2:-2, 3:-3] = 200
    assert photo_regions(pixels, Recipe(border=border))[0].shape[:2] == shape


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(5, 30), st.integers(5, 30)),
    grow=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    n=st.integers(1, 5),
    seed=st.integers(0, 50),
)
def test_enlarged_labels_keep_every_region(shape, grow, n, seed):
    labels = np.random.default_rng(seed).integers(-1, n, shape).astype(np.int32)
    labels.flat[:n] = np.arange(n)
    enlarged = resize_labels(labels, (shape[0] + grow[0], shape[1] + grow[1]))
    assert set(np.unique(enlarged)) - {-1} == set(range(n))
    assert np.array_equal(resize_labels(enlarged, enlarged.shape), enlarged)
    if grow == (0, 0):
        assert np.array_equal(enlarged, labels)


def test_tiny_region_survives_a_large_reduction():
    labels = np.zeros((400, 400), dtype=np.int32)
    labels[377, 21] = 1
    resized = resize_labels(labels, (20, 20))
    assert np.argwhere(resized == 1).tolist() == [[18, 1]]


def test_label_map_with_a_gap_is_refused():
    labels = np.zeros((10, 10), dtype=np.int32)
    labels[0, 0] = 2
    with pytest.raises(ImageError, match="no region 1"):
        resize_labels(labels, (10, 10))
