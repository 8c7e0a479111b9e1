"""Graph regularisation: the solver, the three updates, and the annotators built on them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_never_falls
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax, wrightomega

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError, TopictureError
from topicture.models.counts import mix_unigram
from topicture.models.em import loop as em
from topicture.models.graphs import lap
from topicture.models.graphs.graph import Graph, GraphRule, Views
from topicture.models.regions import gm_mixture

SMALL = {"n_topics": 3, "n_init": 1, "max_iter": 25}


def problem(seed=0, n=12, K=3, density=0.3, scale=2.0):
    """A graph with an isolated node, and log joints."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    upper[:, -1] = 0
    return Graph.from_adjacency(upper + upper.T), scale * rng.normal(size=(n, K))


def sampled_corpus(seed=0, n=60, tagged=20, K=3):
    rng = np.random.default_rng(seed)
    truth = mix_unigram.PointParams(
        np.full(K, 1 / K), rng.dirichlet(np.full(20, 0.3), K), rng.dirichlet(np.full(8, 0.3), K)
    )
    corpus = mix_unigram.sample(rng, truth, n, n_visual=6, n_words=3)
    return corpus.without_captions(np.arange(n) >= tagged)


# --- The solver ------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10**6),
    K=st.integers(1, 12),
    log_a=st.floats(-14, 8),
    log_c=st.floats(-3, 5),
)
@settings(max_examples=200, deadline=None)
def test_simplex_step_is_stationary(seed, K, log_a, log_c):
    """ln phi_k + a phi_k - c_k is the same for all k, wherever phi_k is large enough to have a logarithm."""
    c, a = 10**log_c * np.random.default_rng(seed).normal(size=(1, K)), np.array([10**log_a])
    phi = lap.simplex_step(c, a)[0]
    assert abs(phi.sum() - 1) < 1e-12
    assert (phi >= 0).all()
    large = phi > 1e-250
    level = np.log(phi[large]) + a * phi[large] - c[0, large]
    np.testing.assert_allclose(level, level[0], atol=1e-11 * max(1, a[0], np.abs(c).max()))


def test_simplex_step_equals_newton_with_an_exact_omega(rng):
    """Its slow twin: Newton's iteration on nu alone (docs/models.md 3.11)."""
    c, a = 3 * rng.normal(size=(40, 5)), 10 ** rng.uniform(-3, 3, 40)
    nu = c.max(axis=1) - 1 - a
    for _ in range(200):
        w = wrightomega(np.log(a)[:, None] + c - 1 - nu[:, None])
        nu += (w.sum(axis=1) / a - 1) / ((w / (1 + w)).sum(axis=1) / a)
    np.testing.assert_allclose(lap.simplex_step(c, a), w / a[:, None], rtol=1e-9)


def test_no_neighbours_is_the_softmax(rng):
    c = rng.normal(size=(4, 3))
    np.testing.assert_allclose(lap.simplex_step(c, np.zeros(4)), softmax(c, axis=1))


# --- Updates of all images -----------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), lam=st.floats(0, 20), schedule=st.sampled_from(["gs", "jacobi", "mm"]))
@settings(max_examples=60, deadline=None)
def test_sweeps_never_lower_q(seed, lam, schedule):
    graph, A = problem(seed)
    p = softmax(np.random.default_rng(seed).normal(size=A.shape), axis=1)
    trace = [lap.objective(A, p, graph, lam)]
    for _ in range(6):
        p = lap.Sweeps(schedule, 1).sweep(A, p, graph, lam)
        trace.append(lap.objective(A, p, graph, lam))
    assert_never_falls(trace)


def test_all_schedules_reach_the_same_maximum():
    graph, A = problem(3)
    best = [lap.Sweeps(schedule, 300)(A, None, graph, 2.0)[0] for schedule in ("gs", "jacobi", "mm")]
    np.testing.assert_allclose(best[1], best[0], atol=1e-9)
    np.testing.assert_allclose(best[2], best[0], atol=1e-9)


def test_the_maximum_is_stationary_by_automatic_differentiation():
    """With p = softmax(t), the gradient of Q in t vanishes."""
    graph, A = problem(5)
    p, _ = lap.Sweeps("gs", 300)(A, None, graph, 1.5)
    with jax.enable_x64(True):
        L = jnp.asarray(graph.laplacian().toarray())

        def q(t):
            p = jax.nn.softmax(t, axis=1)
            return jnp.sum(p * (A - jnp.log(p))) - 1.5 * jnp.sum(p * (L @ p))

        np.testing.assert_allclose(jax.grad(q)(jnp.log(p)), 0, atol=1e-9)


@pytest.mark.parametrize("order", [None, "shuffled"])
def test_sets_of_nodes_give_what_single_nodes_give(rng, order):
    graph, A = problem(7)
    order = None if order is None else tuple(rng.permutation(12).tolist())
    p = softmax(A, axis=1)
    together = lap.Sweeps("gs", 1, order).sweep(A, p, graph, 0.7)
    for i in order or range(12):
        c = A[[i]] + 1.4 * (graph.S[[i]] @ p)
        p[i] = lap.simplex_step(c, 1.4 * graph.degree[[i]])[0]
    np.testing.assert_allclose(together, p, rtol=1e-12)


def test_smoothing_lengths():
    graph, A = problem(9)
    start = softmax(A, axis=1)
    fixed, n = lap.Smoothing("fixed", 0.2, 5)(A, None, graph, 1.0)
    np.testing.assert_allclose(fixed, graph.smooth(start, 0.2, 5))
    assert n == 5
    best, n = lap.Smoothing("best_q", 0.2, 20)(A, None, graph, 1.0)
    values = [lap.objective(A, graph.smooth(start, 0.2, step), graph, 1.0) for step in range(21)]
    assert n == int(np.argmax(values))
    assert lap.objective(A, best, graph, 1.0) == pytest.approx(max(values))
    _, n = lap.Smoothing("r_tol", 0.2, 200, 0.01)(A, None, graph, 1.0)
    R = [graph.roughness(graph.smooth(start, 0.2, step)) for step in range(n + 1)]
    assert R[n - 1] - R[n] <= 0.01 * R[0] < R[n - 2] - R[n - 1]
    # R = 0 at the start (here without any edge): one step changes nothing.
    empty = Graph.from_adjacency(np.zeros((12, 12)))
    np.testing.assert_array_equal(lap.Smoothing("r_tol")(A, None, empty, 1.0)[0], start)


def test_new_images_of_both_updates(rng):
    """An image whose edges are those of a node gets what one more update of that node gives."""
    graph, A = problem(11)
    p, _ = lap.Sweeps("gs", 300)(A, None, graph, 1.0)
    linked = np.flatnonzero(~graph.isolated)
    again = lap.Sweeps().new_images(A[linked], graph.S[linked], p, 1.0, 2)
    np.testing.assert_allclose(again, p[linked], atol=1e-9)
    alone = lap.Smoothing(gamma=0.3).new_images(A[[-1]], graph.S[[-1]], p, 1.0, 4)
    np.testing.assert_allclose(alone, softmax(A[[-1]], axis=1))
    one_step = lap.Smoothing(gamma=0.3).new_images(A[linked], graph.S[linked], p, 1.0, 1)
    mean = (graph.S @ p)[linked] / graph.degree[linked, None]
    np.testing.assert_allclose(one_step, 0.7 * softmax(A[linked], axis=1) + 0.3 * mean)


# --- Any model with one discrete variable per image ------------------------------------------------------------------


def test_the_same_code_regularises_gm_mixture(rng):
    """LapVar1 on the mixture of Gaussians and multinomials: Q never falls, and neighbours come closer."""
    truth = gm_mixture.PointParams(
        np.full(2, 0.5), rng.normal(size=(2, 2)), np.ones((2, 2)), rng.dirichlet(np.ones(4), 2)
    )
    corpus = gm_mixture.sample(rng, truth, 30, n_regions=2)
    floor = np.full(2, 1e-3)
    prior = gm_mixture.Prior(0.01, 0.01, floor)
    start = gm_mixture.init_params(corpus, 2, prior, rng, smoothing="ml")
    base = gm_mixture.make_model()
    model = lap.with_fixed_posteriors(base, gm_mixture.statistics)
    upper = np.triu(rng.random((30, 30)) < 0.1, 1).astype(float)
    graph, batches = Graph.from_adjacency(upper + upper.T), Batches(corpus, base.views)
    rough = []
    for lam in (0.0, 2.0):
        stage = lap.Coupling(model, gm_mixture.log_joint, batches, graph, lap.Sweeps("jacobi", 2), lam)
        result = lap.fit_stages(model, batches, start, prior, stages=[stage], max_iter=20, tol=1e-9)
        assert_never_falls(result.trace)
        rough.append(graph.roughness(stage.rows(result.posteriors)))
        if lam == 0:
            plain = em.fit(base, batches, start, prior, max_iter=20, tol=1e-9)
            np.testing.assert_allclose(result.trace, plain.trace[: len(result.trace)], rtol=1e-9)
    assert rough[1] < 0.5 * rough[0]


# --- Annotators ---------------------------------------------------------------------------------------------------


def test_no_graph_term_is_the_mixture_of_unigrams():
    corpus = sampled_corpus()
    plain = tp.make_annotator("mix-unigram", **SMALL, tol=0.0).fit(corpus)
    for algorithm in ("lap-var1", "lap-var2"):
        model = tp.make_annotator(
            algorithm,
            **SMALL,
            tol=0.0,
            lam=0.0,
            temperature=1.0,
            annealing=1.0,
        ).fit(corpus)
        np.testing.assert_allclose(model.objective_trace_, plain.objective_trace_, rtol=1e-9)


@pytest.mark.parametrize(
    "extra", [{}, {"continuation": 2}, {"annealing": 1.0, "temperature": 1.0}, {"schedule": "gs"}]
)
def test_lap_var1_never_falls(extra):
    model = tp.make_annotator("lap-var1", **SMALL, lam=1.0, **extra).fit(sampled_corpus(1))
    assert_never_falls(model.objective_trace_)


def test_a_fall_is_reported_and_the_best_kept():
    """A problem on which LapVar2 falls (its seed was searched for)."""
    corpus = sampled_corpus(2, n=40, tagged=10)
    settings = {"n_topics": 4, "n_init": 1, "lam": 2.0, "gamma": 0.5, "tol": 0.0, "max_iter": 40}
    settings |= {
        "annealing": 1.0,
        "temperature": 1.0,
        "eta_visual": 0.1,
        "eta_words": 0.1,
        "max_smoothing": 50,
    }
    model = tp.make_annotator("lap-var2", **settings).fit(corpus)
    assert "fell" in model.result_
    assert_never_falls(model.objective_trace_)
    values = model.result_[model.result_.index("from") :].rstrip(")").split()
    before, after = float(values[1]), float(values[3])
    assert after < before
    assert before == pytest.approx(model.objective_trace_[-1], rel=1e-8)
    longer = tp.make_annotator("lap-var2", **settings, after_fall="sweeps").fit(corpus)
    assert_never_falls(longer.objective_trace_)
    assert len(longer.objective_trace_) > len(model.objective_trace_)


@pytest.mark.parametrize("name", ["lap-em", "lap-var1", "lap-var2"])
def test_known_images_get_their_node_and_new_ones_are_joined(name):
    corpus = sampled_corpus(2)
    model = tp.make_annotator(name, **SMALL).fit(corpus[:50])
    np.testing.assert_allclose(model.transform(corpus[:50]), model.posteriors_)
    new = model.transform(corpus[50:])
    np.testing.assert_allclose(new.sum(axis=1), 1)
    # The id of a known image with other visual words is a new image.
    impostor = Corpus.from_arrays(
        vocabulary=corpus.vocabulary,
        visual_words=corpus.visual_words[50:],
        image_ids=corpus.image_ids[:10],
    )
    np.testing.assert_allclose(model.transform(impostor), new)


def test_own_graph_in_any_order(rng):
    corpus = sampled_corpus(3, n=30)
    upper = np.triu(rng.random((30, 30)) < 0.15, 1).astype(float)
    S = upper + upper.T
    straight = tp.make_annotator("lap-var1", **SMALL, lam=0.2).fit(corpus, graph=S)
    order = rng.permutation(30)
    shuffled = tp.make_annotator("lap-var1", **SMALL, lam=0.2).fit(corpus[order], graph=S[order][:, order])
    np.testing.assert_allclose(shuffled.annotate(corpus), straight.annotate(corpus), rtol=1e-9)
    # No rule, so new images have no edges unless they are given.
    new = sampled_corpus(4, n=5)
    none = straight.transform(new)
    np.testing.assert_allclose(straight.transform(new, links=np.zeros((5, 30))), none)
    assert np.abs(straight.transform(new, links=np.ones((5, 30))) - none).max() > 1e-3
    with pytest.raises(CorpusError, match="links"):
        straight.transform(new, links=np.ones((5, 3)))
    with pytest.raises(CorpusError, match="nodes"):
        tp.make_annotator("lap-var1", **SMALL).fit(corpus, graph=np.zeros((3, 3)))


@pytest.mark.parametrize("name", ["lap-em", "lap-var1"])
def test_excluded_topics_without_pseudo_counts(name):
    """Point estimates without pseudo-counts rule topics out (-inf), for a new image even all of them."""
    corpus = sampled_corpus(8, n=30)
    model = tp.make_annotator(name, **SMALL, smoothing="map", eta_visual=0.0, eta_words=0.0).fit(corpus)
    assert_never_falls(model.objective_trace_)
    assert np.isfinite(model.objective_trace_).all()
    everything = Corpus.from_arrays(vocabulary=corpus.vocabulary, visual_words=np.ones((1, 20)))
    p = model.transform(everything)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_graphs_of_several_modalities():
    corpus = sampled_corpus(5)
    rules = [{"min_visual": 2}, {"min_visual": float("inf"), "min_words": 2, "weight": 0.5}]
    model = tp.make_annotator("lap-var1", **SMALL, graph=rules).fit(corpus)
    parts = [GraphRule(min_visual=2), GraphRule(min_visual=np.inf, min_words=2)]
    a, b = (rule.graph(Views.of(corpus)).S for rule in parts)
    assert abs(model.graph_.S - (a + 0.5 * b)).max() < 1e-12


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lap-var1", {"lam": -1}),
        ("lap-var1", {"schedule": "random"}),
        ("lap-var1", {"graph": {"colour": 3}}),
        ("lap-var1", {"annealing": 0.5}),
        ("lap-var1", {"temperature": 0.5}),
        ("lap-var1", {"continuation": -1}),
        ("lap-var1", {"algorithm": "lap-var3"}),
        ("lap-var2", {"gamma": 2}),
        ("lap-em", {"stop_smoothing": "never"}),
        ("lap-em", {"max_smoothing": -1}),
    ],
)
def test_bad_settings_are_refused(name, params):
    with pytest.raises(TopictureError, match=next(iter(params))) as refused:
        tp.make_annotator(name, **params).fit(sampled_corpus())
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_the_graph_helps_where_neighbours_share_topics():
    """Images of one topic in a ring of their own, few tagged: words come through the graph.

    The papers' objective (temperature 1, no annealing), over three problems: with only four visual words per image one
    of them has topics that the graph can't mend. Annealing does harm at this size and this lam.
    """
    gains = [_gain_of_a_ring(np.random.default_rng(seed)) for seed in (6, 7, 8)]
    assert np.mean(gains) > 0.1


def _gain_of_a_ring(rng):
    """By how many nats a word the hidden captions are predicted better with the graph than without."""
    K, n = 3, 240
    truth = mix_unigram.PointParams(
        np.full(K, 1 / K), rng.dirichlet(np.full(30, 2.0), K), rng.dirichlet(np.full(9, 0.1), K)
    )
    z = np.arange(n) % K
    visual = np.stack([rng.multinomial(4, truth.B[k]) for k in z])
    words = np.stack([rng.multinomial(3, truth.Phi[k]) for k in z])
    corpus = Corpus.from_arrays(captions=words, visual_words=visual)
    hidden = corpus.without_captions(np.arange(n) >= 30)
    ring = np.zeros((n, n))
    for step in (K, 2 * K):
        ring[np.arange(n), (np.arange(n) + step) % n] = ring[(np.arange(n) + step) % n, np.arange(n)] = 1
    cost = {}
    for lam in (0.0, 2.0):
        model = tp.make_annotator("lap-var1", n_topics=K, lam=lam, n_init=3, temperature=1.0, annealing=1.0)
        p = model.fit(hidden, graph=ring).annotate(hidden)[30:]
        cost[lam] = -np.log((words[30:] / 3 * p).sum(axis=1)).mean()
    return cost[0.0] - cost[2.0]
