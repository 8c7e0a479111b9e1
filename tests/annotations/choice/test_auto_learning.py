"""Probabilities learned on a collection full of bursts come true on photos of other scenes."""

import numpy as np
import pytest
from scipy import sparse

from topicture.annotations.choice.learning import learn_auto
from topicture.annotations.choice.presence import JudgedPairs, calibration_error, fit_presence, reliability
from topicture.corpus import Corpus
from topicture.models.blends import members as auto_members
from topicture.models.blends.members import members_for

N_KINDS, N_WORDS, N_COLUMNS, SHOTS = 8, 16, 48, 4


def photos(rng, world, n_scenes, shots, name):
    """Shots of scenes; a scene's words follow its kind, and for the most part nothing that can be seen."""
    look, likely = world
    kind = rng.integers(0, N_KINDS, n_scenes)
    scenes = look[kind] + rng.normal(size=(n_scenes, N_COLUMNS))
    words = rng.random((n_scenes, N_WORDS)) < likely[kind]
    words[~words.any(axis=1), 0] = True
    return Corpus.from_arrays(
        captions=np.repeat(words, shots, axis=0).astype(float),
        descriptor=np.repeat(scenes, shots, axis=0) + 0.1 * rng.normal(size=(n_scenes * shots, N_COLUMNS)),
        image_ids=[f"{name}{i:05d}" for i in range(n_scenes * shots)],
    )


@pytest.mark.slow
def test_promises_come_true_on_new_photos(monkeypatch):
    """Bursts of four, and settings and members of which many only seem to help; pooled over five collections."""
    few = {"knn": {"n_neighbours": (1, 2, 3, 5, 10, 30), "power": (1.0, 5.0, 20.0)}}
    monkeypatch.setattr(auto_members, "_GRIDS", {**auto_members._GRIDS, **few})
    cheap = ["knn", "tagprop", "logistic", "label-spreading"]
    monkeypatch.setattr(
        "topicture.models.blends.auto.members_for", lambda corpus, _: members_for(corpus, cheap)
    )
    promised, truth = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        world = 0.45 * rng.normal(size=(N_KINDS, N_COLUMNS)), rng.beta(0.3, 0.9, (N_KINDS, N_WORDS))
        tagged, new = photos(rng, world, 70, SHOTS, "tagged"), photos(rng, world, 500, 1, "new")
        found = learn_auto(tagged, seed=seed)
        said = tagged.captions.toarray() > 0
        presence = fit_presence(found.held_out.p, said, np.ones_like(said))
        promised.append(presence(found.annotator.annotate(new.without_captions())))
        truth.append(sparse.csr_array(new.captions).toarray() > 0)
    judged = np.concatenate(truth)
    bins = reliability(JudgedPairs.of(np.concatenate(promised), judged, np.ones_like(judged)))
    for b in bins:
        standard_error = np.sqrt(b.promised * (1 - b.promised) / b.n)
        assert abs(b.promised - b.observed) < 0.05 + 4 * standard_error, b
    assert calibration_error(bins) < 0.05
