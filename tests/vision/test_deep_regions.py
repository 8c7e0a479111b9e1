"""Regions by the network's map: pieces of one thing join, whatever their colours; the measurer's way with them."""

import numpy as np
import pytest
from pictures import noise, quadrants

from topicture.errors import TopictureError
from topicture.vision.deep_regions import cell_shares, deep_regions
from topicture.vision.measure import Measurer, Task, photo_regions
from topicture.vision.recipe import REGION_PARTS, Recipe

RECIPE = Recipe(("deep", "regions:deep"), network="lite0", segmentation="deep", min_regions=2, max_regions=5)


def striped():
    """Left a cow with stripes, right a path of the colours of its stripes; the map knows which is which."""
    pixels = np.full((120, 160, 3), 120, np.uint8)
    pixels[(np.arange(120) // 15 % 2 == 0)] = 160
    feature_map = np.zeros((2, 8, 8), np.float32)
    feature_map[0, :, :4] = feature_map[1, :, 4:] = 1
    return pixels, feature_map


def test_the_map_joins_what_colours_part():
    pixels, feature_map = striped()
    labels = deep_regions(pixels, feature_map, 1, 2)
    assert labels.max() == 1
    left, right = labels[:, :70], labels[:, 90:]
    assert (left == np.bincount(left.ravel()).argmax()).mean() > 0.95
    assert (right == np.bincount(right.ravel()).argmax()).mean() > 0.95
    assert left[60, 30] != right[60, 30]


def test_outlines_follow_the_picture():
    """A disc on a plain ground, in a map that says nothing: its outline is round, not that of a grid."""
    rows, columns = np.mgrid[:120, :160]
    disc = (rows - 60) ** 2 + (columns - 80) ** 2 < 40**2
    pixels = np.where(disc[..., None], np.uint8([200, 60, 40]), np.uint8([60, 120, 60]))
    labels = deep_regions(pixels, np.ones((2, 4, 4), np.float32), 2, 2)
    assert (labels == labels[60, 80])[disc].mean() > 0.97
    assert (labels == labels[0, 0])[~disc].mean() > 0.97


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 400), (300, 200)])
def test_labels_are_whole_numbers_without_gaps_the_largest_first(shape):
    pixels = noise(*shape)
    labels = deep_regions(pixels, np.random.default_rng(0).random((3, 7, 7)).astype(np.float32), 2, 6)
    sizes = np.bincount(labels.ravel())
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    assert min(2, labels.size) <= len(sizes) <= 6
    assert np.array_equal(
        labels, deep_regions(pixels, np.random.default_rng(0).random((3, 7, 7)).astype(np.float32), 2, 6)
    )


def test_cell_shares_are_areas():
    labels = np.zeros((4, 4), int)
    labels[:, 3] = 1
    np.testing.assert_allclose(
        cell_shares(labels, (2, 2)), [[1 / 3, 1 / 6, 1 / 3, 1 / 6], [0, 0.5, 0, 0.5]], rtol=1e-6
    )


def test_measurements_agree_with_the_regions_of_the_photo():
    pixels = quadrants()[0]
    steps = ("deep", "regions:deep", *REGION_PARTS)
    arrays = Measurer(RECIPE)(Task(pixels, None, steps)).arrays
    shown, labels = photo_regions(pixels, RECIPE)
    assert labels.shape == shown.shape[:2]
    n = labels.max() + 1
    assert 2 <= n <= 5
    assert arrays["regions:deep"].shape == (n, 1392)
    assert set(arrays["region-parts"][:, 0].astype(int)) == set(range(n))
    areas = np.bincount(arrays["region-parts"][:, 0].astype(int), weights=arrays["region-parts"][:, 5])
    np.testing.assert_allclose(areas, np.bincount(labels.ravel()) / labels.size, atol=0.02)


def test_a_larger_input_leaves_the_whole_photo_alone():
    pixels = noise(60, 80)
    plain = Measurer(RECIPE)(Task(pixels, None, ("deep", "regions:deep"))).arrays
    fine = Measurer(Recipe(**{**RECIPE.to_json(), "map_side": 320}))(
        Task(pixels, None, ("deep", "regions:deep"))
    ).arrays
    np.testing.assert_allclose(fine["deep"], plain["deep"], atol=1e-5)
    assert fine["regions:deep"].shape[1] == 1392
    keys = [Recipe(**{**RECIPE.to_json(), "map_side": side}).keys() for side in (0, 320)]
    assert keys[0]["deep"] == keys[1]["deep"]
    assert keys[0]["regions:deep"] != keys[1]["regions:deep"]
    with pytest.raises(TopictureError, match="map_side"):
        Recipe(map_side=7)


def test_regions_go_by_the_network_that_divides_them():
    """Blobs of deep regions are others with another network, so they are kept under another key."""
    one, other = (
        Recipe(("regions:blobs",), network=network, segmentation="deep").keys()["regions:blobs"]
        for network in ("lite0", "lite2")
    )
    assert one != other
    plain = {Recipe(("regions:blobs",), network=n).keys()["regions:blobs"] for n in ("lite0", "lite2")}
    assert len(plain) == 1
