"""Members of `auto` in the forms that large collections need: the same numbers, without tables of images x words."""

import tracemalloc

import numpy as np
import pytest
from corpora import make_tiny_corpus
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.baselines import label_spreading, logistic, one_view, tagprop
from topicture.models.baselines.label_spreading import LabelSpreading, spread
from topicture.models.registry import load_annotator, make_annotator


@pytest.fixture
def captions(rng):
    return sparse.csr_array((rng.random((50, 7)) < 0.2).astype(float))


def test_word_sigmoids_of_sparse_tables_are_those_of_dense_ones(rng, captions):
    said = sparse.random_array((50, 7), density=0.3, rng=rng)
    for sparse_one, dense_one in zip(
        tagprop.word_sigmoids(said, captions),
        tagprop.word_sigmoids(said.toarray() + 1e-300, captions.toarray()),  # no pair is left out
        strict=True,
    ):
        np.testing.assert_allclose(sparse_one, dense_one, rtol=1e-9)


def test_rank_weights_of_some_images_are_those_of_a_table_of_them(rng, captions):
    own = np.sort(rng.choice(50, 20, replace=False))
    rows = rng.integers(50, size=(20, 4))
    y, eps = captions.toarray(), tagprop.EPS
    pi = np.full(4, 0.25)
    for _ in range(3):  # the steps as they are published
        p = eps + (1 - 2 * eps) * np.einsum("k,nkv->nv", pi, y[rows])
        weight = np.where(y[own] > 0, 1 / y[own].sum(), 1 / (y[own] == 0).sum())
        of_rank = np.where(y[rows] > 0, 1 - eps, eps)
        present, absent = of_rank / p[:, None], (1 - of_rank) / (1 - p[:, None])
        share = np.where(y[own][:, None] > 0, present, absent) * weight[:, None]
        pi = pi * share.sum(axis=(0, 2))
        pi /= pi.sum()
    np.testing.assert_allclose(tagprop.learn_rank_weights(rows, captions, 3, own=own), pi, rtol=1e-9)


def test_blocks_of_images_give_the_same_regressions(rng, captions, monkeypatch):
    rows = rng.normal(size=(50, 3))
    whole, _ = logistic.fit_logistic(rows, captions, 1.0, 50, 1e-12)
    monkeypatch.setattr(logistic, "blocks", lambda n, _: (slice(i, min(i + 7, n)) for i in range(0, n, 7)))
    parts, _ = logistic.fit_logistic(rows, captions, 1.0, 50, 1e-12)
    np.testing.assert_allclose(parts.weights, whole.weights, atol=1e-6)


def test_sparse_spreading_with_all_words_kept_is_dense_spreading(rng, captions):
    links = sparse.random_array((50, 50), density=0.1, rng=rng)
    links = sparse.csr_array(links.maximum(links.T))
    dense = spread(links, captions.toarray(), 0.8, 10)
    np.testing.assert_allclose(spread(links, captions, 0.8, 10).toarray(), dense, atol=1e-12)


def test_large_models_are_saved_and_loaded(rng, tmp_path, monkeypatch):
    corpus = make_tiny_corpus(rng)
    whole = LabelSpreading().fit(corpus).annotate(corpus)
    monkeypatch.setattr(label_spreading, "_MANY", 0)
    monkeypatch.setattr(one_view, "_MANY_NUMBERS", 0)
    large = LabelSpreading().fit(corpus)
    assert sparse.issparse(large.spread_)
    assert large.rows_.dtype == np.float32
    np.testing.assert_allclose(large.annotate(corpus), whole, atol=1e-6)
    large.save(tmp_path / "model")
    np.testing.assert_array_equal(load_annotator(tmp_path / "model").annotate(corpus), large.annotate(corpus))


def test_no_table_of_images_and_words_is_held(rng, monkeypatch):
    monkeypatch.setattr("topicture.models.base._BLOCK_BYTES", 64 << 20)
    D, V = 6000, 5000
    words = sparse.csr_array(
        (np.ones(1200), (np.repeat(np.arange(400), 3), rng.integers(V, size=1200))), shape=(D, V)
    )
    corpus = Corpus.from_arrays(captions=words, descriptor=rng.normal(size=(D, 8)).astype(np.float32))
    model = make_annotator("knn", n_neighbours=5).fit(corpus)
    tracemalloc.start()
    try:
        kept = sum(block.p.nnz for block in model.annotate_blocks(corpus, top=5))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept == 5 * D
    assert peak < D * V * 4  # a whole table in float32 and nothing else
