"""The experiments of Yang et al. 2010 on small generated data."""

import numpy as np
import pytest
from topicture_experiments.yang2010 import models as yang2010

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.registry import make_annotator

N_WORDS = 8


@pytest.fixture(scope="module")
def data():
    """32 images of two regions, each region with a true word; words have visual words of their own."""
    rng = np.random.default_rng(5)
    beta = np.full((N_WORDS, 3 * N_WORDS), 0.01)
    for c in range(N_WORDS):
        beta[c, 3 * c : 3 * c + 3] = 0.3
    beta /= beta.sum(axis=1, keepdims=True)
    labels = rng.permutation(np.repeat(np.arange(N_WORDS), 8)).reshape(32, 2)
    captions = np.zeros((32, N_WORDS))
    captions[np.arange(32)[:, None], labels] = 1
    bags = [np.stack([rng.multinomial(10, beta[c]) for c in row]).astype(float) for row in labels]
    return Corpus.from_arrays(captions=captions, region_words=bags), labels.ravel()


FAST = {"max_iter": 4, "n_sweeps_use": 10}


@pytest.fixture(scope="module")
def makers():
    return {
        "emm-ml": lambda: make_annotator("emm-ml", **FAST),
        "empirical": lambda: make_annotator("empirical"),
    }


def test_contenders_are_those_the_corpus_has_views_for(data):
    corpus, _ = data
    found = yang2010.contenders(corpus, emm_ml={"max_iter": 2})
    assert set(found) == {"dba", "emm-ml", "emm-margin"}
    assert found["emm-ml"]().get_params()["max_iter"] == 2


def test_top_k_curves_are_the_measure_on_every_fold(data, makers):
    corpus, _ = data
    curves = yang2010.top_k_curves(corpus, makers, ks=(1, 2, 8), n_folds=2)
    assert curves.values["emm-ml"].shape == (2, 3)
    assert (curves.mean()["emm-ml"] >= curves.mean()["empirical"]).all()
    assert curves.mean()["emm-ml"][1] > 0.8
    # All words are predicted at k = 8, whatever the model.
    np.testing.assert_allclose(curves.values["emm-ml"][:, 2], curves.values["empirical"][:, 2])
    assert "emm-ml" in curves.table()
    assert np.isfinite(curves.standard_error()["emm-ml"]).all()


@pytest.mark.slow  # many small fits
def test_vocabulary_and_training_size(data, makers):
    corpus, _ = data
    by_words = yang2010.top_5_by_vocabulary(corpus, makers, [2, N_WORDS], n_folds=2)
    by_images = yang2010.top_5_by_training_size(corpus, makers, [0.5, 1.0], n_folds=2)
    whole = yang2010.top_k_curves(corpus, makers, ks=(5,), n_folds=2)
    for curves in (by_words, by_images):
        assert curves.values["emm-ml"].shape == (2, 2)
        np.testing.assert_allclose(curves.values["emm-ml"][:, 1], whole.values["emm-ml"][:, 0])


def test_frequent_words_are_kept_in_order():
    corpus = Corpus.from_arrays(
        captions=np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]), vocabulary=["a", "b", "c", "d"]
    )
    kept = yang2010.with_frequent_words(corpus, 2)
    assert kept.vocabulary.words == ("c", "d")
    assert kept.captions.toarray().tolist() == [[1, 1], [1, 1], [0, 1]]


@pytest.mark.slow  # many small fits
def test_captions_help_regions(data, makers):
    corpus, labels = data
    # With learned label weights: the default's large fixed one leaves little to tell an image's own tags apart by.
    learned = {"label": "chord", "label_weight": 1.0, "learn_lam": True, "eta": 0.5, "learn_eta": True}
    makers = {**makers, "emm-ml": lambda: make_annotator("emm-ml", **FAST, **learned)}
    plain = yang2010.region_curves(corpus, labels, makers, captioned=False, ks=(1, 8), n_folds=2)
    told = yang2010.region_curves(corpus, labels, makers, captioned=True, ks=(1, 8), n_folds=2)
    assert set(plain.values) == set(told.values) == {"emm-ml"}
    assert told.mean()["emm-ml"][0] >= plain.mean()["emm-ml"][0] > 0.8
    np.testing.assert_allclose(plain.values["emm-ml"][:, 1], 1)
    unknown = yang2010.region_curves(
        corpus, np.full_like(labels, -1), makers, captioned=False, ks=(1,), n_folds=2
    )
    assert np.isnan(unknown.values["emm-ml"]).all()


def test_region_labels_must_fit(data, makers):
    corpus, labels = data
    with pytest.raises(CorpusError, match="region"):
        yang2010.region_curves(corpus, labels[:-1], makers, captioned=False)


@pytest.mark.slow  # many small fits
def test_nu_is_chosen_in_one_call(data):
    corpus, _ = data
    choice = yang2010.choose_nu(corpus, nu2_per_image=(0.0, 10.0), n_folds=2, safeguard=False, **FAST)
    assert set(choice.params) == {"nu1", "nu2_per_image"}
    # Without a margin term all weights are 0, every word scores alike.
    assert choice.params["nu2_per_image"] == 10.0
    assert choice.candidates[0].mean > choice.candidates[1].mean
