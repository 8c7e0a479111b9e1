"""Sizes and colours as OpenCV has them, so that regions stay what they were."""

import cv2
import numpy as np
import pytest

from topicture.vision.label_maps import lab_colours, shrink_to


@pytest.mark.parametrize("size", [(96, 128), (120, 90), (61, 80), (7, 300), (160, 160), (200, 133)])
def test_shrinking_is_opencvs(size, rng):
    pixels = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
    small = shrink_to(pixels, 80)
    if small is not pixels:
        height, width = small.shape[:2]
        expected = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(small, expected)
    assert max(small.shape) == min(80, max(size))
    assert small.dtype == np.uint8


def test_colours_are_opencvs_but_for_one_unit_in_a_thousand_values(rng):
    pixels = rng.integers(0, 256, (120, 160, 3), dtype=np.uint8)
    off = np.abs(lab_colours(pixels) - cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2Lab))
    assert off.max() <= 256 / (1 << 14)
    assert (off > 0).mean() < 0.002


def test_colours_of_greys_and_of_the_corners_of_the_cube():
    corners = np.array([[[r, g, b] for r in (0, 255) for g in (0, 255) for b in (0, 255)]], np.uint8)
    exact = cv2.cvtColor(corners.astype(np.float32) / 255, cv2.COLOR_RGB2Lab)
    np.testing.assert_allclose(lab_colours(corners), exact, atol=0.02)
    lightness = lab_colours(np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2))
    assert (np.diff(lightness[0, :, 0]) > 0).all()
    assert np.abs(lightness[..., 1:]).max() < 0.2
