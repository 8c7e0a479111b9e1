"""Evidence on regions from tags alone: a model that has learned parts passes, one of whole photos does not."""

import numpy as np
import pytest

from topicture.annotations.choice.region_evidence import (
    OTHER,
    Calibration,
    region_evidence,
    region_posterior,
)
from topicture.app.learning.region_choice import NOISE, REGION_MODELS, choose_region_model, trust_told
from topicture.corpus import Corpus
from topicture.models.regions.region_logistic import RegionLogistic


def photos(rng, n=150, by_part=True):
    """Two of six words per photo, a region for each; or both regions a mixture of both, so that there are no parts."""
    regions, captions = [], np.zeros((n, 6))
    for caption in captions:
        words = rng.choice(6, 2, replace=False)
        caption[words] = 1
        x = 3 * np.eye(6)[words]
        x = x if by_part else np.tile(x.mean(axis=0), (2, 1))
        regions.append(x + rng.normal(0, 0.3, x.shape))
    return Corpus.from_arrays(captions=captions, regions=regions)


def test_a_model_of_parts_beats_the_whole_photo(rng):
    found = region_evidence(RegionLogistic, photos(rng))
    assert found.right > 0.95
    assert found.chance == pytest.approx(0.5)
    assert found.gain > 2 * found.gain_error
    assert found.beats_whole_photo


def test_where_there_are_no_parts_it_does_not(rng):
    found = region_evidence(RegionLogistic, photos(rng, by_part=False))
    assert not found.beats_whole_photo


def test_certainties_are_calibrated_and_rise(rng):
    corpus = photos(rng)
    noisy = Corpus.from_arrays(
        captions=corpus.captions,
        regions=corpus.regions + rng.normal(0, 2, corpus.regions.shape),
        region_offsets=corpus.region_offsets,
        vocabulary=corpus.vocabulary,
    )
    clear, dim = (region_evidence(RegionLogistic, each) for each in (corpus, noisy))
    assert dim.right < clear.right
    assert (np.diff(dim.calibration.values) >= -1e-12).all()
    assert dim.calibration(np.array(0.9)) < clear.calibration(np.array(0.9)) + 1e-9


def test_posterior_prefers_tags_and_leaves_room_for_nothing():
    p = np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]])
    q = region_posterior(p, np.array([1.0, OTHER, OTHER]))
    np.testing.assert_allclose(q[0], [0.5, 0.09, 0.06] / np.array(0.65))
    # What is not tagged is not the tag, however alone it is.
    np.testing.assert_allclose(q[1], [0, 0, 1])
    with_background = region_posterior(np.array([[0.2, 0.1]]), np.array([1.0, OTHER]))
    np.testing.assert_allclose(
        with_background, [[0.2 / (0.2 + 0.03 + 0.7 * OTHER), 0.03 / (0.23 + 0.7 * OTHER)]]
    )


def test_the_better_model_is_chosen_and_what_is_told_is_read_again(rng):
    corpus = photos(rng)
    annotator, told = choose_region_model(corpus, REGION_MODELS, np.arange(len(corpus)), 0, lambda *_: None)
    rights = {trial["model"]: trial["right"] for trial in told["trials"]}
    assert set(rights) == set(REGION_MODELS)
    assert annotator.name == told["model"]
    assert rights[told["model"]] >= max(rights.values()) - NOISE
    trust = trust_told({"regions": told})
    assert trust.beats_whole_photo is told["beats_whole_photo"]
    np.testing.assert_allclose(trust.calibration.values, told["values"])


@pytest.mark.parametrize(
    "part",
    [
        None,
        {},
        {"knots": [0, 1]},
        {"knots": [1, 0], "values": [0, 1], "beats_whole_photo": True},
        {"knots": "x"},
        7,
    ],
)
def test_reports_without_evidence_are_trusted_in_nothing(part):
    assert trust_told({"regions": part}) is None


def test_too_few_photos_to_hide_any_prove_nothing(rng):
    corpus = photos(rng, n=5)
    _, told = choose_region_model(corpus, ("region-logistic",), np.arange(5), 0, lambda *_: None)
    assert told["beats_whole_photo"] is False
    np.testing.assert_array_equal(trust_told({"regions": told}).calibration(np.array([0.0, 1.0])), 0)


def test_calibration_is_linear_between_knots():
    np.testing.assert_allclose(
        Calibration(np.array([0.0, 1.0]), np.array([0.0, 0.5]))(np.array([0.5, 2.0])), [0.25, 0.5]
    )
