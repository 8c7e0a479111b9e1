import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import constant, gradient, noise, quadrants

from topicture.errors import ImageError, TopictureError
from topicture.vision.segment import crop_dark_border, dark_border, segment, segment_methods

METHODS = segment_methods()
CONTENT_METHODS = tuple(method for method in METHODS if method != "grid")


def n_regions(labels):
    """Number of regions; fails unless the labels are 0 .. n - 1, all present."""
    values = np.unique(labels)
    np.testing.assert_array_equal(values, np.arange(len(values)))
    return len(values)


def purity(labels, truth):
    """Share of the pixels that lie in the quarter to which most of their region belongs."""
    regions = range(labels.max() + 1)
    return sum(np.bincount(truth[labels == n]).max() for n in regions) / truth.size


@pytest.mark.parametrize("method", CONTENT_METHODS)
@pytest.mark.parametrize(("low", "high"), [(4, 4), (6, 10)])
@pytest.mark.parametrize("size", [(60, 80), (480, 900)], ids=["small", "above working size"])
def test_quadrants_are_found(method, low, high, size):
    pixels, truth = quadrants(*size)
    labels = segment(pixels, method, low, high)
    assert low <= n_regions(labels) <= high
    assert labels.shape == size
    assert purity(labels, truth) > 0.97


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "pixels", [constant(40, 50), gradient(), noise(48, 64)], ids=["constant", "gradient", "noise"]
)
def test_bounds_hold_on_hard_pictures(method, pixels):
    labels = segment(pixels, method)
    assert labels.shape == pixels.shape[:2]
    assert labels.dtype == np.int32
    assert 6 <= n_regions(labels) <= 10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 4), (5, 1), (2, 2), (2, 3), (3, 3), (1, 40), (1, 700), (300, 2)]
)
def test_tiny_and_thin_pictures(method, shape):
    labels = segment(noise(*shape), method)
    assert labels.shape == shape
    assert min(6, labels.size) <= n_regions(labels) <= 10


@settings(max_examples=40, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    height=st.integers(1, 30),
    width=st.integers(1, 30),
    n_colours=st.integers(1, 4),
    low=st.integers(1, 9),
    extra=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_bounds_hold_whenever_there_are_enough_pixels(method, height, width, n_colours, low, extra, seed):
    rng = np.random.default_rng(seed)
    palette = rng.integers(0, 256, (n_colours, 3), dtype=np.uint8)
    pixels = palette[rng.integers(0, n_colours, (height, width))]
    labels = segment(pixels, method, min_regions=low, max_regions=low + extra)
    assert min(low, labels.size) <= n_regions(labels) <= low + extra


@pytest.mark.parametrize("method", METHODS)
def test_same_input_same_labels(method):
    pixels = noise(60, 60, seed=3)
    np.testing.assert_array_equal(segment(pixels, method), segment(pixels.copy(), method))


def test_alike_neighbours_are_merged_below_the_maximum():
    assert n_regions(segment(constant(60, 60), "slic", min_regions=2, max_regions=10)) == 2
    assert n_regions(segment(quadrants()[0], "slic", min_regions=2, max_regions=10)) >= 4


def test_grid_is_rectangles_in_reading_order():
    labels = segment(noise(40, 60), "grid", min_regions=6, max_regions=6)
    expected = np.repeat(np.repeat(np.arange(6).reshape(2, 3), 20, axis=0), 20, axis=1)
    np.testing.assert_array_equal(labels, expected)


def test_errors_are_clear():
    with pytest.raises(ImageError, match="uint8"):
        segment(np.zeros((4, 4, 3)))
    with pytest.raises(ImageError, match="uint8"):
        segment(np.zeros((0, 4, 3), dtype=np.uint8))
    with pytest.raises(TopictureError, match="unknown segmentation 'watershed'"):
        segment(constant(4, 4), "watershed")
    with pytest.raises(TopictureError, match="1 <= min <= max"):
        segment(constant(4, 4), min_regions=5, max_regions=4)


# --- Slide borders ---------------------------------------------------------------------------------------------


def framed(picture, top, bottom, left, right, level=4):
    return np.pad(picture, ((top, bottom), (left, right), (0, 0)), constant_values=level)


@pytest.mark.parametrize("widths", [(3, 4, 5, 6), (2, 1, 4, 3), (0, 0, 6, 0)])
def test_dark_frames_are_cropped(widths):
    top, bottom, left, right = widths
    picture = constant(128 - top - bottom, 192 - left - right, (150, 90, 60))
    pixels = framed(picture, *widths)
    assert dark_border(pixels) == (slice(top, 128 - bottom), slice(left, 192 - right))
    np.testing.assert_array_equal(crop_dark_border(pixels), picture)


def test_the_blurred_line_between_frame_and_picture_goes_too():
    pixels = framed(constant(122, 186, (200, 200, 200)), 3, 3, 3, 3)
    pixels[3, 3:-3] = 90
    assert dark_border(pixels)[0] == slice(4, 125)


@pytest.mark.parametrize(
    "pixels",
    [constant(128, 192), constant(128, 192, (0, 0, 0)), constant(128, 192, (12, 10, 20)), gradient(128, 192)],
    ids=["plain", "black", "night", "dark side"],
)
def test_pictures_without_a_frame_are_left_alone(pixels):
    assert crop_dark_border(pixels).shape[0] == 128
    assert crop_dark_border(pixels).shape[1] >= 180


@settings(max_examples=50, deadline=None)
@given(height=st.integers(1, 40), width=st.integers(1, 40), seed=st.integers(0, 1000), dark=st.booleans())
def test_something_always_remains(height, width, seed, dark):
    pixels = noise(height, width, seed) // (8 if dark else 1)
    cropped = crop_dark_border(pixels)
    assert cropped.shape[0] >= 0.8 * height - 2
    assert cropped.shape[1] >= 0.8 * width - 2
    assert cropped.size > 0
