"""The comparison of GM-Mixture, GM-LDA and Corr-LDA: its rows, its vocabulary, what it refuses."""

import numpy as np
import pytest
from topicture_experiments.blei2003.models import INDEPENDENT, compare_models

from topicture.annotations.measures.metrics import caption_perplexity
from topicture.corpus import Corpus
from topicture.errors import CorpusError

SHORT = {"n_init": 1, "max_iter": 5, "max_sweeps": 3, "sweep_tol": 0.0}


def scenes(rng, n_images, extra_word=False):
    """Two kinds of regions, each with its word; the true word of every region."""
    kinds = [rng.integers(0, 2, 4) for _ in range(n_images)]
    regions = [np.where(k[:, None], 3.0, -3.0) + rng.normal(size=(4, 2)) for k in kinds]
    captions = np.stack([np.bincount(k, minlength=3) > 0 for k in kinds]).astype(float)
    captions[:, 2] = 1.0 if extra_word else 0.0
    corpus = Corpus.from_arrays(captions=captions, vocabulary=["sea", "sun", "yeti"], regions=regions)
    return corpus, np.concatenate(kinds)


@pytest.mark.slow  # much work, all of it real
def test_rows_of_all_models(rng):
    (train, _), (test, labels) = scenes(rng, 12), scenes(rng, 6, extra_word=True)
    told = []
    rows = compare_models(
        train,
        test,
        [2],
        region_labels=labels,
        top_k=(1, 2),
        smoothings=["eb"],
        settings=SHORT,
        progress=told.append,
    )
    assert told == rows
    assert [(r["model"], r["n_topics"]) for r in rows] == [
        (INDEPENDENT, 1),
        ("gm-mixture", 2),
        ("gm-lda", 2),
        ("corr-lda", 2),
    ]
    for row in rows:
        assert np.isfinite(row["nll"])
        assert row["nll_images"] == 6
        # "yeti" is in no training caption: it is dropped, so two words are left to be perplexed by.
        assert 1 <= row["perplexity"] < 2.5
    independent, mixture, _, corr = rows
    words = np.asarray(train.captions.sum(axis=0)).ravel()[:2]
    expected = caption_perplexity(np.tile(words / words.sum(), (6, 1)), test.captions[:, :2])
    np.testing.assert_allclose(independent["perplexity"], expected, rtol=1e-6)
    assert "region_accuracy_at_1" not in mixture
    assert corr["region_accuracy_at_1"] > 0.9
    assert corr["region_accuracy_at_2"] == 1.0
    assert corr["nll"] < independent["nll"]


def test_labels_that_do_not_fit_are_refused(rng):
    (train, _), (test, labels) = scenes(rng, 4), scenes(rng, 3)
    for bad in (labels[:-1], labels + 3):
        with pytest.raises(CorpusError, match="region_labels"):
            compare_models(train, test, [2], region_labels=bad)
