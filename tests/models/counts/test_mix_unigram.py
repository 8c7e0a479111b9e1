"""Mixture of unigrams: exact evidence by enumeration, stationary updates, closed forms, recovery."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import dirichlet_log_prior, enumerate_posterior, match_topics
from scipy.special import gammaln, logsumexp

from topicture.annotations.measures import metrics
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import TopictureError
from topicture.models.counts.mix_unigram import (
    MODEL,
    DirichletParams,
    MixUnigram,
    PointParams,
    Prior,
    elbo,
    expected,
    init_params,
    log_prior,
    sample,
)
from topicture.models.em import loop as em
from topicture.models.em import passes

K, U, V = 2, 5, 3
PRIOR = Prior(0.3, 0.7, 0.4)
KINDS = {"map": PointParams, "vb": DirichletParams}


def small_corpus(n_images=4, seed=0):
    """Images of a few tokens; image 1 has no visual word, image 2 no caption."""
    rng = np.random.default_rng(seed)
    F, W = rng.poisson(0.6, (n_images, U)), rng.poisson(0.5, (n_images, V))
    F[1], W[2] = 0, 0
    return Corpus.from_arrays(captions=W, visual_words=F)


def random_params(kind, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.dirichlet(np.ones(K))
    if kind == "map":
        return PointParams(a, rng.dirichlet(np.ones(U), K), rng.dirichlet(np.ones(V), K))
    return DirichletParams(a, rng.gamma(2.0, size=(K, U)), rng.gamma(2.0, size=(K, V)))


def one_pass(kind, params=None, prior=PRIOR, corpus=None):
    """Batches, parameters, posteriors, statistics and bound after one E-step."""
    params = random_params(kind) if params is None else params
    batches = Batches(corpus or small_corpus(), MODEL.views)
    return batches, params, *em.e_step(MODEL, batches, params, [None])


# --- Exact evidence --------------------------------------------------------------------------------------------------


def log_evidence_of_images(params, corpus):
    """ln sum_z p(z) p(f | z) p(w | z) of every image, one latent variable enumerated."""
    log_lik = corpus.visual_words @ np.log(params.B).T + corpus.captions @ np.log(params.Phi).T
    return np.array(
        [
            enumerate_posterior(row[None, :], lambda z: np.log(params.a)[z[:, 0]]).log_evidence
            for row in log_lik
        ]
    )


def test_the_bound_of_point_estimates_is_the_exact_evidence():
    corpus = small_corpus()
    _, params, _, _, bound = one_pass("map", corpus=corpus)
    np.testing.assert_allclose(bound, log_evidence_of_images(params, corpus).sum(), rtol=1e-12)


def test_posteriors_are_exact():
    corpus = small_corpus()
    _, params, (q,), _, _ = one_pass("map", corpus=corpus)
    log_joint = (
        np.log(params.a) + corpus.visual_words @ np.log(params.B).T + corpus.captions @ np.log(params.Phi).T
    )
    batches = Batches(corpus, MODEL.views)
    rows = next(iter(batches)).rows
    got = em.unstack(q, len(corpus))
    np.testing.assert_allclose(
        got, np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))[rows], rtol=1e-12
    )


def dirichlet_multinomial(counts, eta):
    """ln of the integral of prod_v beta_v^counts_v under Dir(eta), of every row of counts (..., V)."""
    n, size = counts.sum(axis=-1), counts.shape[-1]
    rise = (gammaln(eta + counts) - gammaln(eta)).sum(axis=-1)
    return rise + gammaln(size * eta) - gammaln(size * eta + n)


def log_evidence_of_corpus(corpus, a, prior):
    """ln p(all images): every assignment of images to topics, the rows of B and Phi integrated out."""
    F, W = corpus.visual_words.toarray(), corpus.captions.toarray()

    def integrated(z):
        member = (z[:, :, None] == np.arange(len(a))).astype(float)  # (C, D, K)
        counts = [np.einsum("cdk,dv->ckv", member, X) for X in (F, W)]
        etas = (prior.eta_b, prior.eta_phi)
        return sum(dirichlet_multinomial(c, eta).sum(axis=1) for c, eta in zip(counts, etas, strict=True))

    def log_p_z(z):
        return np.log(a)[z].sum(axis=1)

    return enumerate_posterior(np.zeros((len(corpus), len(a))), log_p_z, integrated).log_evidence


def test_dirichlet_multinomial_of_the_test_agrees_with_the_helper():
    """The same integral, by tokens: z_t ~ theta with theta integrated out."""
    alpha = np.full(3, 0.4)
    tokens = np.array([[0, 0, 2], [1, 2, 2]])
    counts = np.stack([(tokens == v).sum(axis=1) for v in range(3)], axis=1)
    np.testing.assert_allclose(
        dirichlet_multinomial(counts, 0.4), dirichlet_log_prior(alpha)(tokens), rtol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_dirichlet_posteriors_never_exceeds_the_exact_evidence(seed):
    corpus, prior = small_corpus(5, seed), Prior(0.0, 0.7, 0.4)
    batches = Batches(corpus, MODEL.views)
    params, q = random_params("vb", seed), [None]
    gaps = []
    for _ in range(6):
        q, stats, bound = em.e_step(MODEL, batches, params, q)
        objective = bound + em.log_prior(MODEL, params, prior)
        gaps.append(log_evidence_of_corpus(corpus, np.asarray(params.a), prior) - objective)
        params = em.m_step(MODEL, params, stats, prior)
    assert min(gaps) > 0
    assert gaps[-1] < 3  # it is near, and not merely below


def test_with_one_topic_the_bound_is_the_exact_evidence():
    corpus, prior = small_corpus(5), Prior(0.0, 0.7, 0.4)
    counts = [np.asarray(X.sum(axis=0))[None, :] for X in (corpus.visual_words, corpus.captions)]
    params = DirichletParams(np.ones(1), prior.eta_b + counts[0], prior.eta_phi + counts[1])
    _, _, _, _, bound = one_pass("vb", params, prior, corpus)
    objective = bound + em.log_prior(MODEL, params, prior)
    np.testing.assert_allclose(objective, log_evidence_of_corpus(corpus, np.ones(1), prior), rtol=1e-12)


# --- Stationary points -------------------------------------------------------------------------------------------


def objective_of(params, q, image):
    bounds = jax.vmap(jax.vmap(partial(elbo, expected(params))))(image, q)
    return jnp.sum(image.weight * bounds) + log_prior(params, PRIOR)


gradient_of = jax.jit(jax.grad(objective_of, argnums=(0, 1)))


def gradients(batches, params, q):
    """Of the objective with respect to the parameters and to q, (blocks, block, K)."""
    (chunk,) = batches
    with passes.precision():
        return jax.tree.map(np.asarray, gradient_of(params, q, chunk.image))


def along_simplex(gradient):
    """What remains of a gradient when the rows must keep their sum."""
    return gradient - gradient.mean(axis=-1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_e_step_is_a_stationary_point(kind):
    batches, params, (q,), _, _ = one_pass(kind)
    (chunk,) = batches
    real = np.asarray(chunk.image.weight) > 0
    _, with_respect_to_q = gradients(batches, params, q)
    np.testing.assert_allclose(along_simplex(with_respect_to_q)[real], 0, atol=1e-12)
    _, elsewhere = gradients(batches, params, np.full(q.shape, 1 / K))
    assert np.abs(along_simplex(elsewhere)[real]).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_m_step_is_a_stationary_point(kind):
    batches, params, (q,), stats, _ = one_pass(kind)
    new = em.m_step(MODEL, params, stats, PRIOR)
    gradient, _ = gradients(batches, new, q)
    before, _ = gradients(batches, params, q)
    on_simplex = along_simplex if kind == "map" else np.asarray  # Dirichlet parameters are free
    for name, project in zip(gradient._fields, (along_simplex, on_simplex, on_simplex), strict=True):
        np.testing.assert_allclose(project(getattr(gradient, name)), 0, atol=1e-11, err_msg=name)
        assert np.abs(project(getattr(before, name))).max() > 1e-3, name


# --- Closed forms ------------------------------------------------------------------------------------------------


def test_one_topic_is_counting():
    corpus = small_corpus()
    totals = [np.asarray(X.sum(axis=0)).ravel() for X in (corpus.visual_words, corpus.captions)]
    settings = {"n_topics": 1, "eta_visual": 0.7, "eta_words": 0.4, "n_init": 1}
    point = MixUnigram(smoothing="map", **settings).fit(corpus).params_
    for got, total, eta in zip((point.B, point.Phi), totals, (0.7, 0.4), strict=True):
        np.testing.assert_allclose(got[0], (total + eta) / (total + eta).sum(), rtol=1e-12)
    bayes = MixUnigram(smoothing="vb", **settings).fit(corpus)
    np.testing.assert_allclose(bayes.params_.rB[0], 0.7 + totals[0], rtol=1e-12)
    np.testing.assert_allclose(bayes.params_.rPhi[0], 0.4 + totals[1], rtol=1e-12)
    np.testing.assert_allclose(
        bayes.annotate(corpus)[0], (totals[1] + 0.4) / (totals[1] + 0.4).sum(), rtol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_without_tagged_images_has_the_words_of_the_prior(kind):
    visual = np.kron(np.eye(2), np.full((6, 3), 4))
    captions = np.zeros((12, V))
    captions[:6, 0] = 1
    corpus = Corpus.from_arrays(captions=captions, visual_words=visual)
    model = MixUnigram(2, smoothing=kind, eta_words=0.5, n_init=1).fit(corpus)
    p = model.annotate(corpus)
    assert (p[:6, 0] > 0.7).all()
    np.testing.assert_allclose(p[6:], 1 / V, atol=1e-6)
    assert model.transform(corpus)[[0, -1]].max(axis=1).min() > 0.999


# --- Words that were never seen ------------------------------------------------------------------------------------


def test_unseen_words_and_visual_words():
    corpus = Corpus.from_arrays(
        captions=[[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]],
        visual_words=[[3, 0, 0, 0, 0], [0, 3, 0, 0, 0], [2, 0, 0, 0, 0], [0, 2, 0, 0, 0]],
    )
    new = Corpus.from_arrays(vocabulary=corpus.vocabulary, visual_words=[[0, 0, 5, 0, 0], [1, 0, 0, 9, 0]])
    for settings in (
        {"smoothing": "vb"},
        {"smoothing": "map"},
        {"smoothing": "map", "eta_visual": 0.0, "eta_words": 0.0, "eps_weights": 0.0},
    ):
        model = MixUnigram(2, n_init=1, **settings).fit(corpus)
        assert np.isfinite(model.objective_trace_).all()
        p = model.annotate(new)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
        unsmoothed = settings.get("eta_words") == 0.0
        assert (p[:, 2] == 0).all() if unsmoothed else (p[:, 2] > 0).all()
        assert (model.log_likelihood(new) == -np.inf).all() == unsmoothed


# --- Use -----------------------------------------------------------------------------------------------------------


def test_log_likelihood_and_transform():
    corpus = small_corpus()
    model = MixUnigram(K, smoothing="map", n_init=1, max_iter=3).fit(corpus)
    # An empty image has evidence 1, whose logarithm is 0 up to the rounding of sum a.
    np.testing.assert_allclose(
        model.log_likelihood(corpus), log_evidence_of_images(model.params_, corpus), rtol=1e-12, atol=1e-15
    )
    p = model.transform(corpus)
    assert p.shape == (4, K)
    np.testing.assert_allclose(p @ model.params_.Phi, model.annotate(corpus), rtol=1e-12)
    np.testing.assert_array_equal(p, model.transform(corpus.without_captions()))


@pytest.mark.parametrize(
    "params",
    [
        {"n_topics": 0},
        {"n_topics": 2.5},
        {"n_init": 0},
        {"max_iter": -1},
        {"smoothing": "ml"},
        {"start": "svd"},
        {"eta_visual": 0.0},
        {"eta_words": -1.0},
        {"eta_words": float("nan"), "smoothing": "map"},
        {"eps_weights": -1e-9},
        {"precision": "float16"},
    ],
    ids=str,
)
def test_senseless_settings_are_refused(params):
    with pytest.raises(TopictureError, match=f"mix-unigram: {next(iter(params))} must be") as refused:
        MixUnigram(**params).fit(small_corpus())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("start", ["kmeans", "random"])
def test_starts_are_valid_and_depend_on_the_seed(start):
    corpus = small_corpus(12)
    first, again, other = (
        jax.tree.map(
            np.asarray, init_params(corpus, 3, PRIOR, PointParams, start, np.random.default_rng(seed))
        )
        for seed in (0, 0, 1)
    )
    for name in PointParams._fields:
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        np.testing.assert_allclose(getattr(first, name).sum(axis=-1), 1, rtol=1e-12)
        assert not np.allclose(getattr(first, name), getattr(other, name))


# --- Learning from samples -------------------------------------------------------------------------------------------


def separated_topics():
    """Three topics over 12 visual words and 6 words, each with favourites of its own."""
    B = np.full((3, 12), 0.02)
    Phi = np.full((3, 6), 0.05)
    for k in range(3):
        B[k, 4 * k : 4 * k + 4] = [0.4, 0.3, 0.15, 0.1]
        Phi[k, 2 * k : 2 * k + 2] = [0.6, 0.3]
    return PointParams(
        np.array([0.5, 0.3, 0.2]), B / B.sum(1, keepdims=True), Phi / Phi.sum(1, keepdims=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_parameters_are_recovered(kind, seed):
    """Within five standard errors of the counts that they are estimated from."""
    truth, n_images = separated_topics(), 4000
    corpus = sample(np.random.default_rng(seed), truth, n_images, n_visual=30, n_words=4)
    model = MixUnigram(3, smoothing=kind, eta_visual=1e-2, eta_words=1e-2, tol=1e-9, seed=seed).fit(corpus)
    params = model.params_
    if kind == "vb":
        rows = [r / r.sum(axis=1, keepdims=True) for r in (params.rB, params.rPhi)]
        params = PointParams(params.a, *rows)
    order = match_topics(params.B, truth.B)
    tokens = [n_images * np.ones(3), corpus.visual_words.sum() * truth.a, corpus.captions.sum() * truth.a]
    for name, n in zip(PointParams._fields, tokens, strict=True):
        got, true = getattr(params, name)[order], getattr(truth, name)
        n = n if name == "a" else n[:, None]
        error = np.abs(got - true) / np.sqrt(true * (1 - true) / n)
        assert error.max() < 5, (name, error.max())


def test_untagged_images_help():
    """A few tagged images show a few of each topic's many visual words; untagged ones show which belong together."""
    B = np.kron(np.eye(3), np.full(20, 0.9 / 20)) + 0.1 / 60
    topics = PointParams(np.full(3, 1 / 3), B, separated_topics().Phi)
    corpus = sample(np.random.default_rng(0), topics, 600, n_visual=4, n_words=2)
    train, test, n_tagged = corpus[:300], corpus[300:], 12
    settings = {"n_topics": 3, "n_init": 5, "tol": 1e-4}
    both = MixUnigram(**settings).fit(train.without_captions(np.arange(300) >= n_tagged))
    tagged_only = MixUnigram(**settings).fit(train[:n_tagged])
    with_untagged = metrics.accuracy(both.annotate(test), test.captions)
    without = metrics.accuracy(tagged_only.annotate(test), test.captions)
    assert with_untagged > without + 0.1
