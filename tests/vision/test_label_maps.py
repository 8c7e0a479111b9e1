"""Sizes and colours as OpenCV has them, so that regions stay what they were; merging by Ward's criterion."""

import cv2
import numpy as np
import pytest

from topicture.vision.label_maps import adjacency, contiguous, lab_colours, merge_down, shrink_to


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


def ward(labels, look, n_regions):
    """The cheapest pair of neighbours first, everything computed anew at every step."""
    labels = labels.copy()
    while labels.max() + 1 > n_regions:
        size = np.bincount(labels.ravel())
        first, second = np.nonzero(np.triu(adjacency(labels)))
        cost = size[first] * size[second] / (size[first] + size[second])
        cost = cost * ((look[first] - look[second]) ** 2).sum(axis=1)
        a, b = first[cost.argmin()], second[cost.argmin()]
        look = look.copy()
        look[a] = (size[a] * look[a] + size[b] * look[b]) / (size[a] + size[b])
        labels[labels == b] = a
        look = np.delete(look, b, axis=0)
        labels = contiguous(labels)
    return labels


@pytest.mark.parametrize("n_regions", [1, 5, 12])
def test_merging_follows_ward(rng, n_regions):
    labels = contiguous(rng.integers(0, 30, (8, 9)).repeat(3, axis=0).repeat(2, axis=1))
    look = rng.normal(size=(labels.max() + 1, 4))
    np.testing.assert_array_equal(
        merge_down(labels, look, 1, n_regions, alike=0.0), ward(labels, look, n_regions)
    )


def test_neighbours_that_look_alike_merge_below_the_bound():
    labels = np.arange(6).reshape(1, 6).repeat(2, axis=0)
    look = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2])[:, None]
    np.testing.assert_array_equal(merge_down(labels, look, 1, 6, alike=1.0)[0], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(merge_down(labels, look, 1, 6, alike=0.01)[0], np.arange(6))
