"""Neighbours and soft inference: against plain sorting, ties, negative cosines, too few images, the choice of Z."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from topicture.models import neighbours
from topicture.models.neighbours import caption_log_likelihood, nearest, soft_inference, unit_rows
from topicture.models.searching import products, rows

# Few distinct values, so that ties and zero vectors are common.
small_integers = st.integers(-2, 2).map(float)


def ranked(queries, features):
    cosines = np.round(unit_rows(queries) @ unit_rows(features).T, 12)
    return np.argsort(-cosines, axis=1, kind="stable")


@settings(deadline=None, max_examples=60)
@given(
    features=arrays(float, st.tuples(st.integers(1, 20), st.just(3)), elements=small_integers),
    queries=arrays(float, st.tuples(st.integers(1, 4), st.just(3)), elements=small_integers),
    n=st.integers(1, 25),
)
def test_nearest_are_the_first_of_the_ranking(features, queries, n):
    for search in ("exact", "single", "sparse"):
        near = nearest(queries, features, n, search)
        np.testing.assert_array_equal(near.rows, ranked(queries, features)[:, :n])


def test_small_blocks_change_nothing(rng, monkeypatch):
    queries, features = rng.normal(size=(50, 4)), rng.normal(size=(80, 4))
    whole = nearest(queries, features, 5)
    monkeypatch.setattr(neighbours, "blocks", lambda n, *_: (slice(i, min(i + 7, n)) for i in range(0, n, 7)))
    np.testing.assert_array_equal(nearest(queries, features, 5).rows, whole.rows)


def test_faiss_finds_the_same(rng):
    queries, features = rng.normal(size=(40, 6)), rng.normal(size=(3000, 6))
    features[7] = 0
    exact, fast = (nearest(queries, features, 20, search) for search in ("exact", "faiss"))
    np.testing.assert_array_equal(fast.rows, exact.rows)
    np.testing.assert_allclose(fast.cosines, exact.cosines, atol=1e-15)


@pytest.mark.parametrize("n_copies", [10, 60, 500])
def test_of_many_near_copies_every_search_finds_the_same(rng, n_copies):
    """More near copies than faiss is asked for: which of them it gives is its own affair, which we take is not."""
    queries, features = rng.normal(size=(20, 6)), rng.normal(size=(2000, 6))
    copies = rng.choice(2000, n_copies, replace=False)
    # Cosines that differ from the eighth decimal on: float32 can't rank them.
    features[copies] = (queries[0] + 0.1 + 1e-8 * rng.normal(size=(n_copies, 6))) * rng.random((n_copies, 1))
    for search in ("exact", "single", "sparse", "faiss"):
        near = nearest(queries, features, 5, search)
        np.testing.assert_array_equal(near.rows, ranked(queries, features)[:, :5])


def test_negative_cosines_count_as_zero():
    features = np.array([[1.0, 0], [-1, 0.1], [-1, -0.1]])
    captions = sparse.csr_array(np.eye(3))
    p = soft_inference(nearest(np.array([[1.0, 0]]), features, 3), captions, np.full(3, 1 / 3))
    np.testing.assert_allclose(p, [[1, 0, 0]])


def test_no_positive_neighbour_gives_word_frequency():
    empirical = np.array([0.25, 0.75])
    near = nearest(np.array([[1.0, 0], [0, 0]]), np.array([[-1.0, 0]]), 3)
    p = soft_inference(near, sparse.csr_array(np.array([[1.0, 0]])), empirical)
    np.testing.assert_allclose(p, [empirical, empirical])


def test_no_dimension_left_gives_word_frequency():
    near = nearest(np.zeros((2, 0)), np.zeros((4, 0)), 3)
    p = soft_inference(near, sparse.csr_array(np.ones((4, 2))), np.array([0.25, 0.75]))
    np.testing.assert_allclose(p, [[0.25, 0.75]] * 2)


def test_counts_weigh_words():
    captions = sparse.csr_array(np.array([[2.0, 1, 0], [0, 0, 1]]))
    near = neighbours.Neighbours(np.array([[0, 1]]), np.array([[1.0, 0.5]]))
    np.testing.assert_allclose(soft_inference(near, captions, np.full(3, 1 / 3)), [[4 / 7, 2 / 7, 1 / 7]])


def test_likelihood_counts_tokens_under_the_mixed_probabilities():
    captions = sparse.csr_array(np.array([[1.0, 0, 0], [0, 1, 0]]))
    near = neighbours.Neighbours(np.array([[0, 1]]), np.array([[1.0, 1.0]]))
    truth, empirical = sparse.csr_array(np.array([[0.0, 2, 0]])), np.array([0.5, 0.5, 0])
    one, two = (caption_log_likelihood(near, captions, empirical, truth, n) for n in (1, 2))
    assert one == pytest.approx(2 * np.log(0.05))
    assert two == pytest.approx(2 * np.log(0.5))


def test_rows_in_float32_are_ranked_by_their_true_cosines(rng):
    features = unit_rows(rng.normal(size=(300, 5))).astype(np.float32)
    queries = rng.normal(size=(20, 5))
    expected = nearest(queries, features.astype(np.float64), 10, "exact").rows
    for search in ("exact", "single", "sparse", "faiss"):
        np.testing.assert_array_equal(nearest(queries, features, 10, search).rows, expected)


def test_lists_on_disk_find_nearly_all_of_the_nearest(rng):
    centres = rng.normal(size=(40, 17))  # a prime number of columns has no parts of one size
    features = centres[rng.integers(40, size=12_000)] + 0.5 * rng.normal(size=(12_000, 17))
    features = features.astype(np.float32)
    queries = features[:200]
    true, found = (nearest(queries, features, 10, search) for search in ("exact", "lists"))
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(true.rows, found.rows, strict=True)])
    assert recall > 0.9
    np.testing.assert_array_equal(found.rows[:, 0], np.arange(200))
    assert (np.diff(found.cosines, axis=1) <= 1e-12).all()


def test_the_search_follows_from_the_sizes():
    assert neighbours.plan_of(100, 5_000, 512) == "exact"
    assert neighbours.plan_of(100, 1_000_000, 512) == "single"
    assert neighbours.plan_of(1, 1_000_001, 512) == "lists"
    assert neighbours.plan_of(1_000_000, 1_000_000, 512) == "lists"


def counts(rng, n, n_columns=200):
    """Rows like counts of visual words: few of them are not 0."""
    table = np.zeros((n, n_columns))
    table[np.arange(n)[:, None], rng.integers(n_columns, size=(n, 4))] = rng.integers(1, 4, size=(n, 4))
    return table


def test_many_rows_of_counts_are_searched_by_what_they_share(rng, monkeypatch):
    monkeypatch.setattr(neighbours, "MANY_ROWS", 500)
    features, queries = counts(rng, 600), counts(rng, 30)
    queries[3] = 0
    monkeypatch.setitem(neighbours._FINDERS, "exact", None)  # would fail
    monkeypatch.setitem(neighbours._FINDERS, "single", None)
    found = nearest(queries, features, 7)
    np.testing.assert_array_equal(found.rows, ranked(queries, features)[:, :7])
    assert not products.mostly_zeros(rng.normal(size=(600, 200)))
    assert not products.mostly_zeros(counts(rng, 600, 8))


def test_what_a_search_needs_is_made_once_for_each_member_and_goes_with_its_rows(rng, monkeypatch):
    monkeypatch.setattr(rows, "MANY_ROWS", 50)
    made = []
    monkeypatch.setattr(
        products, "_in_single_precision", lambda rows: made.append(len(rows)) or rows.astype(np.float32)
    )
    before = set(rows._KEPT)
    one, two = rng.normal(size=(60, 3)), rng.normal(size=(70, 3))
    for _ in range(3):  # blocks of photos, about which two members are asked
        for features in (one, two):
            nearest(rng.normal(size=(2, 3)), features, 4, "single")
    assert made == [60, 70]
    assert set(rows._KEPT) > before
    del one, two, features
    assert set(rows._KEPT) == before


def test_a_large_copy_of_rows_is_not_kept(rng, monkeypatch):
    monkeypatch.setattr(rows, "MANY_ROWS", 50)
    monkeypatch.setattr(rows, "_MOST_KEPT", 60 * 3 * 8 - 1)
    features, before = rng.normal(size=(60, 3)), set(rows._KEPT)
    nearest(features, features, 4, "exact")
    assert set(rows._KEPT) == before


def test_a_row_is_as_near_in_any_block_of_queries(rng):
    features = unit_rows(rng.normal(size=(500, 9))).astype(np.float32)
    queries = rng.normal(size=(40, 9))
    for search in ("single", "sparse"):
        whole = nearest(queries, features, 6, search)
        for d in range(0, 40, 7):
            alone = nearest(queries[d : d + 1], features, 6, search)
            np.testing.assert_array_equal(alone.cosines[0], whole.cosines[d])
