"""A fit that begins where an earlier one ended: it rises from there, and takes few steps."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary
from topicture.models.registry import load_annotator, make_annotator

MODELS = {
    "mix-unigram": {"n_topics": 4, "max_iter": 100},
    "lap-var1": {"n_topics": 4, "max_iter": 100},
    "corr-lda": {"n_topics": 4, "max_iter": 60},
    "link-lda": {"n_topics": 4, "max_iter": 60, "n_epochs": 1},
    "plsa-words": {"n_topics": 4},
}


@pytest.fixture(scope="module")
def corpus():
    """Four kinds of images, every fourth untagged."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, 80)
    captions = np.eye(4)[kind] + (rng.random((80, 4)) < 0.1)
    captions[np.arange(80) % 4 == 3] = 0
    return Corpus.from_arrays(
        captions=captions,
        vocabulary=list("abcd"),
        visual_words=rng.poisson(0.4 + 1.2 * (kind[:, None] == np.arange(12) // 3)),
        regions=[np.eye(4)[k] + rng.normal(0, 0.6, (3, 4)) for k in kind],
    )


def with_more_tags(corpus):
    captions = corpus.captions.toarray()
    captions[[3, 7, 11], [0, 1, 2]] = 1
    return replace(corpus, captions=sparse.csr_array(captions))


SLOW = ("link-lda", "plsa-words")  # to compile


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in MODELS]
)
def test_few_steps_lead_from_an_earlier_fit_to_as_good_a_one(corpus, name, tmp_path):
    settings = {**MODELS[name], "n_init": 2, "tol": 1e-5}
    before = make_annotator(name, **settings).fit(corpus)
    more = with_more_tags(corpus)
    anew = make_annotator(name, **settings).fit(more)
    before.save(tmp_path / "before.safetensors")
    before = load_annotator(tmp_path / "before.safetensors")
    went_on = make_annotator(name, **settings).fit(more, earlier=before)
    trace = went_on.objective_trace_
    assert trace[-1] >= trace[0]
    assert (np.diff(trace) >= -1e-9 * abs(trace[0])).all()
    assert went_on.n_iter_ <= max(anew.n_iter_ / 2, 3)
    assert trace[-1] >= anew.objective_trace_[0]
    np.testing.assert_allclose(went_on.annotate(more).sum(axis=1), 1)
    assert len(went_on.restarts_) == 1


@pytest.mark.parametrize("name", ["mix-unigram", "lap-var1", "corr-lda"])
def test_from_the_same_it_stays_where_it_is(corpus, name):
    settings = {**MODELS[name], "n_init": 1, "tol": 1e-4, "max_iter": 300}
    first = make_annotator(name, **settings).fit(corpus)
    again = make_annotator(name, **settings).fit(corpus, earlier=first)
    assert again.n_iter_ <= 3
    np.testing.assert_allclose(again.objective_trace_[0], first.objective_trace_[-1], rtol=1e-3)


def test_parameters_of_another_kind_are_no_start(corpus):
    first = make_annotator("mix-unigram", n_topics=4, n_init=1, max_iter=5).fit(corpus)
    for settings in ({"n_topics": 3}, {"n_topics": 4, "smoothing": "map"}):
        anew = make_annotator("mix-unigram", n_init=2, max_iter=5, **settings).fit(corpus)
        found = make_annotator("mix-unigram", n_init=2, max_iter=5, **settings).fit(corpus, earlier=first)
        np.testing.assert_array_equal(found.objective_trace_, anew.objective_trace_)
        assert len(found.restarts_) == 2


@pytest.mark.parametrize("smoothing", ["vb", pytest.param("map", marks=pytest.mark.slow)])
def test_words_may_come_and_go(corpus, smoothing):
    settings = {"n_topics": 4, "n_init": 1, "max_iter": 100, "smoothing": smoothing}
    first = make_annotator("mix-unigram", **settings).fit(corpus)
    captions = np.zeros((80, 4))
    captions[:, 1:] = corpus.captions.toarray()[:, :3]
    captions[:, 0] = captions[:, 1]  # a new word, on the same images as "a"; and "d" is gone
    other = replace(corpus, captions=sparse.csr_array(captions), vocabulary=Vocabulary(list("Aabc")))
    went_on = make_annotator("mix-unigram", **settings).fit(other, earlier=first)
    anew = make_annotator("mix-unigram", **settings).fit(other)
    assert (np.diff(went_on.objective_trace_) >= -1e-9 * abs(went_on.objective_trace_[0])).all()
    assert went_on.objective_trace_[-1] >= anew.objective_trace_[-1] - 0.02 * abs(anew.objective_trace_[-1])
    p = went_on.annotate(other)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.corrcoef(p[:, 0], p[:, 1])[0, 1] > 0.95
