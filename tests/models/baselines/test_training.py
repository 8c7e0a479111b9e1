"""Small networks' tools: rows on the device, batches, draws, and the descent itself."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.baselines.matching import Matching
from topicture.models.baselines.network import Network
from topicture.models.baselines.training import (
    Slots,
    Walk,
    _steps,
    batches,
    dense,
    descend,
    keep_mask,
    on_device,
    product,
    rounded_up,
    weighted_sums,
)


@given(st.integers(1, 10**7))
def test_sizes_are_few_and_hardly_larger(n):
    assert n <= rounded_up(n) <= max(n * 9 / 8, n)
    assert rounded_up(rounded_up(n)) == rounded_up(n)


@pytest.mark.parametrize("n_entries", [1, 9, 40])
def test_sparse_products_are_the_dense_ones(n_entries, rng):
    x = np.zeros((17, 300), np.float32)
    for row in x[1:]:
        row[rng.choice(300, n_entries, replace=False)] = rng.normal(size=n_entries)
    rows = on_device(sparse.csr_array(x))
    assert isinstance(rows, Slots)
    n = len(rows.values)
    np.testing.assert_array_equal(dense(rows, 300)[:17], x)
    assert not np.any(dense(rows, 300)[17:])
    matrix, weights = rng.normal(size=(300, 4)).astype(np.float32), rng.normal(size=(5, n)).astype(np.float32)
    np.testing.assert_allclose(product(rows, matrix)[:17], x @ matrix, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted_sums(weights, rows, 300), weights[:, :17] @ x, rtol=1e-4, atol=1e-5)
    slope = jax.grad(lambda m: (product(rows, m) ** 2).sum())(matrix)
    np.testing.assert_allclose(slope, 2 * x.T @ (x @ matrix), rtol=1e-3, atol=1e-4)


@given(st.integers(1, 300), st.integers(1, 50))
def test_every_row_comes_once_a_round_and_batches_have_one_size(n, size):
    rounds = batches(n, size, np.random.default_rng(0))
    found = [next(rounds) for _ in range(-(-n // size))]
    assert len({chosen.shape for chosen, _ in found}) == 1
    seen = np.concatenate([chosen[counts] for chosen, counts in found])
    np.testing.assert_array_equal(np.sort(seen), np.arange(n))


def test_the_share_that_is_dropped(rng):
    assert keep_mask((200, 1000), 0.7, rng).mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 200_000))
    assert keep_mask((200, 1000), 0.0, rng).all()


def distance(weights, data, draw):
    return ((weights - data - draw) ** 2).sum()


def test_the_descent_is_adam_with_a_cosine_schedule(rng):
    start, goal = rng.normal(size=3).astype(np.float32), rng.normal(size=3).astype(np.float32)
    draws = rng.normal(size=(40, 3)).astype(np.float32)
    x, mean, square = start.astype(float), np.zeros(3), np.zeros(3)
    for n, draw in enumerate(draws):
        slope = 2 * (x - goal - draw)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = 0.05 * (1 + np.cos(np.pi * n / 40)) / 2
        x -= rate * mean / (1 - 0.9 ** (n + 1)) / (np.sqrt(square / (1 - 0.999 ** (n + 1))) + 1e-7)
    told = []
    found = descend(distance, start, goal, iter(draws), Walk(0.05, 40), lambda: told.append(1))
    np.testing.assert_allclose(found, x, rtol=1e-4)
    assert len(told) == 40


def test_what_a_listener_raises_ends_the_descent():
    drawn = []

    def draws():
        for _ in range(10_000):
            drawn.append(1)
            yield np.zeros(2, np.float32)

    def stop():
        raise TimeoutError

    start = np.ones(2, np.float32)
    with pytest.raises(TimeoutError):
        descend(distance, start, start, draws(), Walk(0.1, 10_000), stop)
    assert len(drawn) == 1  # the first step is told by itself: it compiles


def collection(n_images, rng):
    captions = rng.random((n_images, 4)) < 0.4
    captions[:, 0] = True
    bags = rng.poisson(0.2, (n_images, 30)) + np.eye(30)[np.arange(n_images) % 30]
    bags[:, :12] = 1
    bags[:, 12:] *= np.arange(18) == np.arange(n_images)[:, None] % 18
    return Corpus.from_arrays(captions=captions, vocabulary=list("abcd"), visual_words=bags)


@pytest.mark.parametrize("annotator", [Network, Matching])
def test_folds_of_nearly_one_size_are_compiled_once_and_a_seed_is_a_result(annotator, rng):
    def answers(corpus):
        model = annotator(7, n_updates=20, view="visual_words", seed=3)
        return model.fit(corpus).annotate(corpus)

    first = answers(collection(150, rng))
    n_programs = _steps._cache_size()
    corpus = collection(158, rng)
    once = answers(corpus)
    assert _steps._cache_size() == n_programs
    np.testing.assert_array_equal(once, answers(corpus))
    assert first.shape == (150, 4)
