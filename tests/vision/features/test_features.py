import json

import numpy as np
import pytest

from topicture.errors import CorpusError, FitWarning, ModelFileError
from topicture.vision.features.transform import Features, Projection, _by_columns, _by_rows, fit_features
from topicture.vision.recipe import Recipe

RECIPE = Recipe(("deep", "regions:deep", "visual_words:sift"), components=4, n_words=6)


def photos(rng, n=20):
    """Raw measurements of n invented photos."""
    mixing = rng.normal(size=(5, 30))
    for _ in range(n):
        n_regions = int(rng.integers(2, 5))
        yield {
            "deep": rng.uniform(0, 3, 16).astype(np.float32),
            "regions:deep": (rng.normal(size=(n_regions, 5)) @ mixing + 3).astype(np.float16),
            "regions:blobs": rng.normal(5, [1, 100, 1e-3], (n_regions, 3)).astype(np.float32),
            "sift": rng.integers(0, 256, (40, 128), dtype=np.uint8),
            "sift-regions": rng.integers(-1, n_regions, 40).astype(np.int32),
            "region-areas": np.full(n_regions, 1 / n_regions, dtype=np.float32),
        }


@pytest.fixture
def raw(rng):
    return list(photos(rng))


def fit(recipe, raw):
    return fit_features(recipe, len(raw), lambda photo, steps: {step: raw[photo][step] for step in steps})


def test_blob_columns_are_standardised_on_the_training_photos(raw):
    features = fit(Recipe("regions:blobs"), raw)
    rows = np.concatenate([features.view("regions:blobs", photo) for photo in raw])
    assert np.allclose(rows.mean(axis=0), 0, atol=1e-3)
    assert np.allclose(rows.std(axis=0), 1, atol=1e-3)


def test_constant_column_becomes_zero(raw):
    for photo in raw:
        photo["regions:blobs"][:, 1] = 7
    rows = fit(Recipe("regions:blobs"), raw).view("regions:blobs", raw[0])
    assert (rows[:, 1] == 0).all()


def test_principal_axes_are_uncorrelated_and_weigh_by_their_spread(raw):
    features = fit(RECIPE, raw)
    rows = np.concatenate([features.view("regions:deep", photo) for photo in raw])
    assert rows.shape[1] == 4
    spread = np.cov(rows.T, bias=True)
    assert np.allclose(spread, np.diag(np.diag(spread)), atol=0.02 * spread.max())
    assert (np.diff(np.diag(spread)) < 0).all()


def test_axes_do_not_depend_on_the_way_they_are_found(rng):
    """Few rows and many go two ways; on a square they must agree."""
    rows = rng.normal(size=(40, 40)) * np.linspace(5, 1, 40)
    ways = [way(rows, rows.mean(axis=0)) for way in (_by_rows, _by_columns)]
    assert np.allclose(ways[0][0], ways[1][0], atol=1e-9)
    assert np.allclose(np.abs(np.sum(ways[0][1][:, :39] * ways[1][1][:, :39], axis=0)), 1, atol=1e-6)


def test_axes_without_variance_are_left_out(raw):
    """Five directions of variance and half-precision rounding: thirty axes are asked for, all finite."""
    rows = fit(Recipe("regions:deep", components=30), raw).view("regions:deep", raw[0])
    assert np.isfinite(rows).all()
    for photo in raw:
        photo["regions:deep"][:] = 2
    rows = fit(Recipe("regions:deep", components=30), raw).view("regions:deep", raw[0])
    assert rows.shape[1] == 1
    assert np.allclose(rows, 0)


def test_words_of_deep_regions_keep_distances(raw):
    """Before clustering, scores are turned but not scaled: distances in the plane of the axes stay."""
    axes = (
        fit(Recipe("visual_words:deep", components=5, n_words=3), raw).projections["visual_words:deep"].axes
    )
    assert np.allclose(axes.T @ axes, np.eye(5), atol=1e-4)


def test_deep_descriptor_has_length_one(raw):
    row = fit(RECIPE, raw).view("deep", raw[0])
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)
    assert np.allclose(row * np.linalg.norm(raw[0]["deep"]), raw[0]["deep"], atol=1e-5)


def test_region_words_count_each_patch_once(raw):
    features = fit(RECIPE, raw)
    for photo in raw:
        counts = features.view("visual_words:sift", photo)
        assert counts.shape == (len(photo["region-areas"]), 6)
        assert counts.sum() == np.sum(photo["sift-regions"] >= 0)


def test_each_region_is_one_blob_word(raw):
    features = fit(Recipe("visual_words:blobs", n_words=5), raw)
    counts = features.view("visual_words:blobs", raw[0])
    assert counts.sum(axis=1).tolist() == [1.0] * len(raw[0]["regions:blobs"])


def test_other_photos_do_not_move_the_fit(raw):
    fitted = fit(RECIPE, raw[:10])
    changed = [*raw[:10], *({**photo, "regions:deep": photo["regions:deep"] * 9} for photo in raw[10:])]
    again = fit_features(RECIPE, 10, lambda photo, steps: {step: changed[photo][step] for step in steps})
    for name, array in fitted.to_arrays().items():
        assert np.array_equal(array, again.to_arrays()[name])


def test_large_collections_are_sampled_evenly(raw, monkeypatch):
    monkeypatch.setattr("topicture.vision.features.transform.MAX_FIT_PHOTOS", 5)
    asked = []

    def raw_of(photo, steps):
        asked.append(photo)
        return {step: raw[photo % len(raw)][step] for step in steps}

    fit_features(Recipe("regions:blobs"), 1_000_001, raw_of)
    assert asked == [0, 250_000, 500_000, 750_000, 1_000_000]


def test_round_trip_through_arrays_and_json(raw):
    features = fit(RECIPE, raw)
    spec = json.loads(json.dumps(features.spec()))
    again = Features.from_arrays(features.to_arrays(), spec)
    assert again.recipe == features.recipe
    assert again.keys == features.keys
    for view in RECIPE.views:
        before, after = features.view(view, raw[3]), again.view(view, raw[3])
        assert abs(before - after).sum() == 0
    again.check_current()


@pytest.mark.parametrize(
    "damage",
    [
        lambda arrays, spec: arrays.pop("projection/regions:deep/mean"),
        lambda arrays, spec: arrays.pop("codebook/visual_words:sift/centres"),
        lambda arrays, spec: arrays.update({"projection/regions:deep/axes": np.zeros((2, 2), np.float32)}),
        lambda arrays, spec: arrays["projection/regions:deep/mean"].fill(np.nan),
        lambda arrays, spec: spec.pop("keys"),
        lambda arrays, spec: spec["recipe"].update(views=["unknown"]),
        lambda arrays, spec: spec["recipe"].update(unknown=1),
        lambda arrays, spec: spec.update(recipe=3),
    ],
)
def test_damaged_files_are_refused(damage, raw):
    features = fit(RECIPE, raw)
    arrays = {name: array.copy() for name, array in features.to_arrays().items()}
    spec = features.spec()
    damage(arrays, spec)
    with pytest.raises(ModelFileError):
        Features.from_arrays(arrays, spec)


def test_features_of_another_version_are_refused(raw):
    features = fit(RECIPE, raw)
    old = Features(features.recipe, {**features.keys, "deep": "deep of old"}, features.projections)
    with pytest.raises(ModelFileError, match="fitted on 'deep of old'"):
        old.check_current()


def test_nothing_to_learn_from(raw):
    with pytest.raises(CorpusError, match="no training photo"):
        fit(Recipe("regions:blobs"), [])
    for photo in raw:
        photo["regions:blobs"] = photo["regions:blobs"][:0]
    with pytest.raises(CorpusError, match="none has a region"):
        fit(Recipe("regions:blobs"), raw)


def test_fewer_descriptors_than_words_is_a_warning(raw):
    with pytest.warns(FitWarning, match="not 5000"):
        fit(Recipe("visual_words:blobs", n_words=5000), raw)


def test_projection_is_affine():
    project = Projection(np.array([1.0, 2.0], np.float32), np.array([[2.0], [1.0]], np.float32))
    assert project(np.array([[1.0, 2.0], [2.0, 4.0]])).tolist() == [[0.0], [4.0]]
