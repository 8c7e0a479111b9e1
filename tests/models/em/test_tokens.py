"""Sums over the words of one image equal the plain formula, for bags of every length."""

import jax
import numpy as np
import pytest

from topicture.corpus.batches import Tokens
from topicture.models.em import passes
from topicture.models.em.tokens import tokens_log_density


def run(log_table, ids, counts):
    with passes.precision():
        return np.asarray(jax.jit(tokens_log_density)(log_table, Tokens(ids, counts)))


# Around the lengths where the sum is cut into pieces.
@pytest.mark.parametrize("n", [0, 1, 16, 32, 33, 47, 48])
def test_equals_the_plain_sum(n):
    rng = np.random.default_rng(n)
    log_table = np.log(rng.dirichlet(np.ones(9), 3)).T  # (9, 3)
    ids, counts = rng.integers(0, 9, n).astype(np.int32), rng.poisson(1.0, n).astype(float)
    np.testing.assert_allclose(run(log_table, ids, counts), counts @ log_table[ids], rtol=1e-12, atol=1e-14)


def test_impossible_words_count_only_where_they_occur():
    """0 times -inf is 0; a count above 0 makes the topic impossible."""
    log_table = np.array([[-np.inf, 0.0], [-1.0, -np.inf]])
    ids = np.array([0, 1], np.int32)
    assert run(log_table, ids, np.array([0.0, 2.0])).tolist() == [-2.0, -np.inf]
    assert run(log_table, ids, np.array([0.0, 0.0])).tolist() == [0.0, 0.0]


def test_precision_is_that_of_the_table():
    ids, counts = np.zeros(3, np.int32), np.ones(3, np.float32)
    assert run(np.zeros((2, 2), np.float32), ids, counts).dtype == np.float32
    assert run(np.zeros((2, 2)), ids, counts.astype(float)).dtype == np.float64


def test_no_nan_in_the_gradient_of_padding():
    log_table = np.array([[-np.inf, -1.0], [-1.0, -2.0]])
    with passes.precision():
        gradient = jax.grad(
            lambda table: tokens_log_density(table, Tokens(np.array([0, 1]), np.array([0.0, 1.0]))).sum()
        )(log_table)
    np.testing.assert_array_equal(np.asarray(gradient), [[0, 0], [1, 1]])
