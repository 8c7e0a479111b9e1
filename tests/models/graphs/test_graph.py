"""Similarity graphs against their definitions, written as double loops over pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from topicture.errors import CorpusError, TopictureError
from topicture.models.graphs.edges import nearest, shared_terms
from topicture.models.graphs.graph import Graph, GraphRule, Views, combine
from topicture.models.neighbours import unit_rows


def counts(rng, n, size, rate=0.4):
    return sparse.csr_array(rng.poisson(rate, (n, size)).astype(float))


def views(rng, n=14, tagged=9):
    words = counts(rng, n, 5).toarray()
    words[tagged:] = 0
    return Views(counts(rng, n, 8), sparse.csr_array(words), rng.normal(size=(n, 3)))


def random_graph(rng, n=10, share=0.3):
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    return Graph.from_adjacency(upper + upper.T)


# --- Laplacian and roughness -----------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), n=st.integers(1, 9), share=st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=30, deadline=None)
def test_roughness_is_every_form_of_the_double_sum(seed, n, share):
    rng = np.random.default_rng(seed)
    graph, p = random_graph(rng, n, share), rng.dirichlet(np.ones(3), n)
    S, L = graph.S.toarray(), graph.laplacian().toarray()
    squares = ((p[:, None] - p[None]) ** 2).sum(axis=2)
    ordered = 0.5 * (S * squares).sum()
    unordered = np.triu(S * squares, 1).sum()
    quadratic = sum(p[:, k] @ L @ p[:, k] for k in range(3))
    np.testing.assert_allclose([ordered, unordered, quadratic], graph.roughness(p), atol=1e-12)


def test_gradient_of_roughness(rng):
    graph, p = random_graph(rng), rng.dirichlet(np.ones(3), 10)
    d, h = rng.normal(size=p.shape), 1e-6
    slope = (graph.roughness(p + h * d) - graph.roughness(p - h * d)) / (2 * h)
    np.testing.assert_allclose(slope, (2 * (graph.laplacian() @ p) * d).sum(), rtol=1e-6)


@given(seed=st.integers(0, 10_000), gamma=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_smoothing_keeps_the_simplex_and_never_roughens(seed, gamma):
    rng = np.random.default_rng(seed)
    graph, p = random_graph(rng, 8, 0.2), rng.dirichlet(np.ones(4), 8)
    smooth = graph.smooth(p, gamma)
    np.testing.assert_allclose(smooth.sum(axis=1), 1)
    assert (smooth >= 0).all()
    assert graph.roughness(smooth) <= graph.roughness(p) + 1e-12
    np.testing.assert_array_equal(smooth[graph.isolated], p[graph.isolated])


def test_smoothing_ends_at_the_degree_weighted_mean_of_each_component(rng):
    blocks = sparse.block_diag([np.ones((4, 4)), np.array([[0, 2.0], [2.0, 0]]), np.zeros((1, 1))])
    graph, p = Graph.from_adjacency(blocks), rng.dirichlet(np.ones(3), 7)
    assert graph.components().tolist() == [0, 0, 0, 0, 1, 1, 2]
    limit = graph.smooth(p, 0.5, steps=200)
    for component in range(3):
        nodes = graph.components() == component
        weight = graph.degree[nodes] if graph.degree[nodes].any() else np.ones(nodes.sum())
        np.testing.assert_allclose(limit[nodes], np.tile(weight @ p[nodes] / weight.sum(), (nodes.sum(), 1)))


def test_full_step_on_two_nodes_only_swaps_them():
    graph = Graph.from_adjacency([[0, 1], [1, 0]])
    np.testing.assert_array_equal(graph.smooth(np.eye(2), 1.0), np.eye(2)[::-1])


def test_step_out_of_range_is_refused(rng):
    with pytest.raises(TopictureError, match="gamma"):
        random_graph(rng).smooth(np.eye(10), 1.5)


# --- Adjacency of the user's own ---------------------------------------------------------------------------------


def test_self_loops_are_dropped():
    graph = Graph.from_adjacency([[5, 1, 0], [1, 0, 0], [0, 0, 2]])
    np.testing.assert_array_equal(graph.S.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert graph.isolated.tolist() == [False, False, True]
    assert graph.n_edges == 1


def test_fully_connected_graph_averages_the_others(rng):
    graph, p = Graph.from_adjacency(np.ones((6, 6))), rng.dirichlet(np.ones(2), 6)
    others = (p.sum(axis=0) - p) / 5
    np.testing.assert_allclose(graph.smooth(p, 0.3), 0.7 * p + 0.3 * others)


def test_asymmetric_is_refused_or_made_symmetric():
    one_way = [[0, 2.0], [0, 0]]
    with pytest.raises(CorpusError, match="symmetric"):
        Graph.from_adjacency(one_way)
    assert Graph.from_adjacency(one_way, asymmetric="mean").S.toarray().tolist() == [[0, 1], [1, 0]]
    assert Graph.from_adjacency(one_way, asymmetric="max").S.toarray().tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        (np.ones((2, 3)), "square"),
        ([[0, -1.0], [-1.0, 0]], "negative"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ("nonsense", "matrix"),
    ],
)
def test_what_is_no_graph_is_refused(matrix, complaint):
    with pytest.raises(CorpusError, match=complaint) as refused:
        Graph.from_adjacency(matrix)
    assert "\n" not in str(refused.value)


# --- Edges and weights ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("min_visual", "min_words"), [(2, np.inf), (3, 1), (np.inf, 2), (0, np.inf)])
def test_threshold_edges_by_their_definition(rng, strict, min_visual, min_words):
    images = views(rng)
    rule = GraphRule(min_visual=min_visual, min_words=min_words, strict=strict)
    F, W = images.visual.toarray() > 0, images.words.toarray() > 0

    def enough(shared, threshold):
        return shared > threshold if strict else shared >= threshold

    expected = [
        [i != j and (enough((F[i] & F[j]).sum(), min_visual) or enough((W[i] & W[j]).sum(), min_words))
         for j in range(14)]
        for i in range(14)
    ]  # fmt: skip
    np.testing.assert_array_equal(rule.graph(images).S.toarray(), np.array(expected, float))


@pytest.mark.parametrize("weighting", ["heat", "dot"])
@pytest.mark.parametrize("everywhere", [False, True])
def test_weights_by_their_definition(rng, weighting, everywhere):
    images = views(rng)
    rule = GraphRule(
        min_visual=2, weighting=weighting, sigma_visual=4, sigma_words=3, mu_visual=0.7, mu_words=0.2,
        words_of_untagged=everywhere,
    )  # fmt: skip
    F, W = images.visual.toarray(), images.words.toarray()
    S = rule.graph(images).S.toarray()
    edges = GraphRule(min_visual=2).graph(images).S.toarray()
    for i, j in np.argwhere(edges):
        words = everywhere or (W[i].any() and W[j].any())
        if weighting == "heat":
            expected = np.exp(-((F[i] - F[j]) ** 2).sum() / 4 - words * ((W[i] - W[j]) ** 2).sum() / 3)
        else:
            expected = 0.7 * F[i] @ F[j] + words * 0.2 * W[i] @ W[j]
        np.testing.assert_allclose(S[i, j], expected)
    assert not S[edges == 0].any()
    np.testing.assert_array_equal(S, S.T)


def cosine_neighbours(X, Y, k, same):
    """The k nearest columns of each row, by sorting all of them."""
    lengths = [np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-300) for Z in (X, Y)]
    cosine = np.round((X / lengths[0]) @ (Y / lengths[1]).T, 12)
    if same:
        np.fill_diagonal(cosine, -1)
    order = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    near = np.zeros_like(cosine)
    np.put_along_axis(near, order, np.take_along_axis(cosine, order, 1), 1)
    return np.maximum(near, 0)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_nearest_neighbours_and_ties_by_sorting(rng, k):
    X = counts(rng, 30, 6, rate=0.5)  # few terms: many ties and zero rows
    np.testing.assert_allclose(
        nearest(X, X, k, same=True).toarray(), cosine_neighbours(X.toarray(), X.toarray(), k, True)
    )
    Y = counts(rng, 11, 6, rate=0.5)
    np.testing.assert_allclose(
        nearest(Y, X, k).toarray(), cosine_neighbours(Y.toarray(), X.toarray(), k, False)
    )


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_ties_of_descriptors_go_to_the_lower_index_as_those_of_counts(rng, k, same):
    """Three directions in 60 rows: nearly all cosines are tied. Dense and sparse rows follow one rule."""
    dense = np.eye(3)[rng.integers(0, 3, 60)] * rng.choice([0.3, 1.0, 7.0], (60, 1)) + 0.2
    others = dense if same else dense[rng.permutation(60)[:50]]
    by_descriptor = nearest(dense, others, k, same=same)
    by_counts = nearest(sparse.csr_array(dense), sparse.csr_array(others), k, same=same)
    np.testing.assert_array_equal(by_descriptor.toarray(), by_counts.toarray())
    assert (np.diff(by_descriptor.indptr) == k).all()
    cosines = np.round(unit_rows(dense) @ unit_rows(others).T, 12)
    if same:
        np.fill_diagonal(cosines, -1)
    first = np.sort(np.argsort(-cosines, axis=1, kind="stable")[:, :k], axis=1)
    np.testing.assert_array_equal(by_descriptor.indices.reshape(60, k), first)


def test_nearest_by_descriptor(rng):
    X = rng.normal(size=(40, 3))
    found = nearest(X, X, 4, same=True).toarray()
    np.testing.assert_allclose(found, cosine_neighbours(X, X, 4, True), atol=1e-6)
    alike = np.ones((6, 3))
    assert (np.diff(nearest(alike, alike, 2, same=True).indptr) == 2).all()


def test_blocks_change_nothing(rng, monkeypatch):
    X = counts(rng, 25, 6)
    whole = nearest(X, X, 3, same=True).toarray(), shared_terms(X, X, 2).toarray()
    monkeypatch.setattr("topicture.models.graphs.edges._BLOCK_ENTRIES", 30)
    np.testing.assert_array_equal(nearest(X, X, 3, same=True).toarray(), whole[0])
    np.testing.assert_array_equal(shared_terms(X, X, 2).toarray(), whole[1])


def test_mutual_neighbours_are_the_common_ones(rng):
    images = views(rng)
    near = nearest(images.visual, images.visual, 3, same=True).toarray() > 0
    for mutual, expected in ((True, near & near.T), (False, near | near.T)):
        rule = GraphRule(kind="neighbours", n_neighbours=3, mutual=mutual)
        np.testing.assert_array_equal(rule.graph(images).S.toarray() > 0, expected)


@pytest.mark.parametrize(
    "rule",
    [
        GraphRule(min_visual=2, weighting="heat"),
        GraphRule(kind="neighbours", n_neighbours=2, weighting="dot"),
        GraphRule(kind="neighbours", n_neighbours=2, features="descriptor"),
    ],
)
def test_links_of_an_image_do_not_depend_on_others(rng, rule):
    known, new = views(rng), views(rng, n=5)
    together = rule.links(new, known).toarray()
    assert together.any()
    for i in range(5):
        alone = Views(new.visual[[i]], None, new.descriptor[[i]])
        np.testing.assert_allclose(rule.links(alone, known).toarray()[0], together[i])


def test_combination_is_the_weighted_sum(rng):
    images = views(rng)
    a, b = GraphRule(min_visual=2).graph(images), GraphRule(min_visual=np.inf, min_words=1).graph(images)
    np.testing.assert_allclose(combine([a, b], [1, 0.5]).S.toarray(), a.S.toarray() + 0.5 * b.S.toarray())
    with pytest.raises(CorpusError, match="different"):
        combine([a, Graph.from_adjacency(np.zeros((3, 3)))])


@pytest.mark.parametrize(
    "setting",
    [{"kind": "ring"}, {"weighting": "odd"}, {"sigma_visual": 0}, {"n_neighbours": 0}, {"min_visual": -1}],
)
def test_bad_rules_are_refused(setting):
    with pytest.raises(TopictureError, match=next(iter(setting))):
        GraphRule(**setting)


def test_missing_views_are_named(rng):
    with pytest.raises(CorpusError, match="visual words"):
        GraphRule().graph(Views(None, None, np.ones((2, 2))))
    with pytest.raises(CorpusError, match="descriptor"):
        GraphRule(kind="neighbours", features="descriptor").graph(Views(counts(rng, 3, 3), None, None))


def test_empty_graph(rng):
    graph = GraphRule().graph(Views(sparse.csr_array((4, 5)), sparse.csr_array((4, 2)), None))
    assert graph.n_edges == 0
    p = rng.dirichlet(np.ones(2), 4)
    np.testing.assert_array_equal(graph.smooth(p, 0.4), p)
    assert graph.roughness(p) == 0
