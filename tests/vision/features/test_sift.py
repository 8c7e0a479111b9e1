import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import constant, noise, quadrants, stripes

from topicture.errors import ImageError, TopictureError
from topicture.vision.features import sift
from topicture.vision.features.sift import SIFT, sift_patches


def directions(patches):
    """Share of the gradient in each of the eight directions, over all patches."""
    energy = patches.descriptors.reshape(-1, 4, 4, 8).astype(float).sum(axis=(0, 1, 2))
    return energy / energy.sum()


def test_patches_fit_the_picture_and_span_the_sizes():
    patches = sift_patches(noise(128, 192))
    assert patches.descriptors.shape == (1000, len(SIFT))
    assert patches.descriptors.dtype == np.uint8
    assert patches.sides.min() >= 5
    assert patches.sides.max() <= 32
    assert patches.sides.min() < 6
    assert patches.sides.max() > 31
    half = (patches.sides - 1) / 2
    assert np.all(patches.rows - half >= -1e-4)
    assert np.all(patches.rows + half <= 127 + 1e-4)
    assert np.all(patches.columns - half >= -1e-4)
    assert np.all(patches.columns + half <= 191 + 1e-4)


def test_the_draw_depends_on_content_and_seed_only():
    pixels = noise(64, 64)
    first = sift_patches(pixels, 100)
    np.testing.assert_array_equal(first.descriptors, sift_patches(pixels.copy(), 100).descriptors)
    assert not np.array_equal(first.rows, sift_patches(pixels, 100, seed=1).rows)
    changed = pixels.copy()
    changed[0, 0, 0] ^= 1
    assert not np.array_equal(first.rows, sift_patches(changed, 100).rows)


def test_gradient_directions_follow_the_stripes():
    upright = directions(sift_patches(stripes(128, 128, 6, along_rows=False), 300))
    lying = directions(sift_patches(stripes(128, 128, 6, along_rows=True), 300))
    assert upright[[0, 4]].sum() > 0.9  # 0 and 180 degrees
    assert lying[[2, 6]].sum() > 0.9  # 90 and 270 degrees


def test_brightness_and_contrast_hardly_matter():
    pixels = noise(96, 96) // 2
    plain = sift_patches(pixels, 200)
    grey = pixels.astype(float) * 1.5 + 40
    brighter = sift._describe(grey.astype(np.uint8)[..., 1], plain.rows, plain.columns, plain.sides)
    same = sift._describe(pixels[..., 1], plain.rows, plain.columns, plain.sides)
    assert np.abs(brighter.astype(int) - same).mean() < 2


def test_a_patch_is_described_alike_whatever_else_is_drawn():
    grey = noise(128, 128)[..., 0]
    patches = sift_patches(noise(128, 128), 60)
    place = patches.rows, patches.columns, patches.sides
    together = sift._describe(grey, *place)
    alone = np.concatenate([sift._describe(grey, *(value[[j]] for value in place)) for j in range(60)])
    np.testing.assert_array_equal(together, alone)


def test_flat_pictures_have_empty_descriptors():
    assert not sift_patches(constant(40, 40), 20).descriptors.any()


@settings(max_examples=25, deadline=None)
@given(height=st.integers(1, 24), width=st.integers(1, 24), seed=st.integers(0, 99))
def test_small_pictures_give_as_many_patches(height, width, seed):
    pixels = noise(height, width, seed)
    patches = sift_patches(pixels, 12, seed)
    assert patches.descriptors.shape == (12, 128)
    labels = np.arange(height * width).reshape(height, width)
    assert np.all(patches.regions(labels) >= 0)


def test_regions_are_those_under_the_centres():
    pixels, truth = quadrants(128, 128)
    truth[:10] = -1
    patches = sift_patches(pixels, 400)
    regions = patches.regions(truth)
    inner = (np.abs(patches.rows - 63.5) > 1) & (np.abs(patches.columns - 63.5) > 1) & (patches.rows > 11)
    expected = 2 * (patches.rows > 63.5) + (patches.columns > 63.5)
    np.testing.assert_array_equal(regions[inner], expected[inner])
    assert np.all(regions[patches.rows < 9] == -1)
    assert np.any(regions == -1)


def test_errors_are_clear():
    with pytest.raises(TopictureError, match="at least 1"):
        sift_patches(constant(9, 9), 0)
    with pytest.raises(ImageError, match="uint8"):
        sift_patches(np.zeros((9, 9, 3)))
