"""LSA: against scikit-learn's TruncatedSVD, propagation by a plain walk, wide and sparse data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.neighbours import ranked_images
from topicture.models.spaces import lsa
from topicture.models.spaces.latent_space import Joint
from topicture.models.spaces.lsa import LSA, propagate, singular_vectors


def make_corpus(rng, n_images=60, n_words=7, n_columns=9, n_visual=15):
    """Two kinds of images, each with its own words and features."""
    kind = rng.integers(2, size=n_images)
    descriptor = rng.random((n_images, n_columns)) + 2 * (kind[:, None] == (np.arange(n_columns) < 4))
    favoured = np.where(kind[:, None] == (np.arange(n_words) < 3), 0.6, 0.02)
    captions = (rng.random((n_images, n_words)) < favoured).astype(float)
    captions[:, -1] = captions[:, :-1].sum(axis=1) == 0
    visual = rng.poisson(0.2 + 2 * (kind[:, None] == (np.arange(n_visual) < 6)), (n_images, n_visual))
    return Corpus.from_arrays(captions=captions, descriptor=descriptor, visual_words=visual)


def with_captions(corpus, captions):
    return Corpus.from_arrays(captions=captions, descriptor=corpus.descriptor)


def walk(ranking, captions, n_words):
    """docs/models.md 3.13, LSA1, word by word."""
    corpus_count = captions.sum(axis=0)
    taken = []
    for image in ranking:
        own = [w for w in range(captions.shape[1]) if captions[image, w] > 0]
        own.sort(key=lambda w: (-captions[image, w], -corpus_count[w], w))
        taken += [w for w in own if w not in taken]
    return (taken + [-1] * n_words)[:n_words]


@pytest.mark.parametrize("dense_limit", [4096, 4], ids=["triangular factor", "lanczos"])
def test_agrees_with_truncated_svd_up_to_sign(rng, monkeypatch, dense_limit):
    monkeypatch.setattr(lsa, "_MAX_DENSE", dense_limit)
    corpus = make_corpus(rng)
    joint = Joint(corpus.captions, corpus.descriptor)
    values, basis = singular_vectors(joint, 5, rng)
    svd = TruncatedSVD(5, algorithm="arpack", random_state=0).fit(joint.at(slice(None)))
    np.testing.assert_allclose(values[:5], svd.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(basis * svd.components_.T, axis=0)), 1, rtol=1e-9)


def test_blocks_of_rows_change_nothing(rng, monkeypatch):
    corpus = make_corpus(rng)
    joint = Joint(corpus.captions, corpus.visual_words)
    whole = np.linalg.svd(joint.at(slice(None)), compute_uv=False)
    monkeypatch.setattr(lsa, "blocks", lambda n, _: (slice(i, min(i + 13, n)) for i in range(0, n, 13)))
    np.testing.assert_allclose(singular_vectors(joint, 3, rng)[0], whole, rtol=1e-11)


@pytest.mark.parametrize("dense_limit", [4096, 4])
def test_components_are_cut_to_the_rank(rng, monkeypatch, dense_limit):
    monkeypatch.setattr(lsa, "_MAX_DENSE", dense_limit)
    visual = rng.random((30, 2)) @ rng.random((2, 20))
    words = sparse.csr_array(np.ones((30, 1)))
    assert singular_vectors(Joint(words, visual), 10, rng)[1].shape == (21, 3)


def test_propagation_is_the_walk_through_the_images(rng):
    captions = rng.poisson(0.4, (12, 8)).astype(float)
    captions[:, 5] = 0  # never reached: the list stays short
    ranking = ranked_images(rng.normal(size=(4, 3)), rng.normal(size=(12, 3)))
    lists = propagate(ranking, sparse.csr_array(captions), 8)
    assert lists.tolist() == [walk(order, captions, 8) for order in ranking]
    assert (lists[:, -1] == -1).all()
    np.testing.assert_array_equal(propagate(ranking, sparse.csr_array(captions), 3), lists[:, :3])


@pytest.mark.parametrize("view", ["descriptor", "visual_words"])
@pytest.mark.parametrize("inference", ["soft", "propagation"])
def test_words_of_the_own_kind_come_first(rng, view, inference):
    corpus = make_corpus(rng, n_images=200)
    train, test = corpus.split([0.8, 0.2], seed=0)
    p = LSA(6, inference=inference, view=view).fit(train).annotate(test)
    kind = test.descriptor[:, 0] > 1.5
    own = np.where(kind, p[:, :3].sum(axis=1), p[:, 3:6].sum(axis=1))
    other = np.where(kind, p[:, 3:6].sum(axis=1), p[:, :3].sum(axis=1))
    assert np.mean(own > other) > 0.8  # by chance a half, give or take 0.08


def test_propagation_gives_probabilities_in_the_order_of_the_list(rng):
    corpus = make_corpus(rng)
    model = LSA(4, inference="propagation").fit(corpus)
    lists, p = model.propagate(corpus, corpus.n_words), model.annotate(corpus)
    reached = (lists >= 0).sum(axis=1)
    for d in range(len(corpus)):
        ordered = p[d, lists[d, : reached[d]]]
        assert (np.diff(ordered) < 0).all()
        np.testing.assert_allclose(p[d].sum(), ordered.sum())


def test_untagged_images_change_nothing(rng):
    corpus = make_corpus(rng)
    hidden = np.arange(len(corpus)) % 3 == 0
    partly, tagged = corpus.without_captions(hidden), corpus[~hidden]
    np.testing.assert_array_equal(LSA(4).fit(partly).annotate(corpus), LSA(4).fit(tagged).annotate(corpus))


def test_balanced_weight_gives_both_parts_the_same_length(rng):
    corpus = make_corpus(rng)
    weight = LSA(word_weight="balanced").fit(corpus).word_weight_
    words = weight * corpus.captions.toarray()
    np.testing.assert_allclose(np.sum(words**2), np.sum(corpus.descriptor**2))


def test_validation_finds_the_words_and_the_neighbours_that_help(rng):
    """Features tell the kind and nothing else, so many neighbours are better than one; long captions mislead."""
    corpus = make_corpus(rng, n_images=300)
    chosen = LSA(6).fit(corpus)
    assert chosen.n_neighbours_ >= 10
    noisy = with_captions(corpus, corpus.captions.toarray() * rng.integers(1, 30, (300, 1)))
    train, test = noisy.split([0.8, 0.2], seed=0)
    likelihoods = []
    for weight in ("auto", 1.0):
        p = LSA(6, word_weight=weight).fit(train).annotate(test)
        likelihoods.append(np.log(0.9 * p + 0.1 / 7)[test.captions.toarray() > 0].mean())
    assert likelihoods[0] > likelihoods[1]


def test_without_neighbours_the_answer_is_word_frequency(rng):
    corpus = make_corpus(rng)
    blank = Corpus.from_arrays(captions=np.zeros((1, 7)), descriptor=np.zeros((1, 9)))
    p = LSA(4).fit(corpus).annotate(blank)
    counts = corpus.captions.toarray().sum(axis=0)
    np.testing.assert_allclose(p[0], counts / counts.sum())


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 0},
        {"n_neighbours": 0},
        {"n_neighbours": "many"},
        {"inference": "hard"},
        {"view": "regions"},
        {"word_weight": 0.0},
        {"word_weight": "heavy"},
        {"search": "near"},
    ],
)
def test_settings_that_cannot_work_are_refused(rng, params):
    (name,) = params
    with pytest.raises(TopictureError, match=name):
        LSA(**params).fit(make_corpus(rng))


def test_missing_view_is_that_of_the_instance(rng):
    bare = Corpus.from_arrays(captions=np.ones((3, 2)), descriptor=np.ones((3, 2)))
    assert LSA.needs == ("descriptor",)
    with pytest.raises(CorpusError, match="visual_words"):
        LSA(view="visual_words").fit(bare)
