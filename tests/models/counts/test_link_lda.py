"""Link-LDA: bounds against enumeration, stationary updates, a plain twin of the E-step, stochastic steps, recovery."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_never_falls, dirichlet_log_prior, enumerate_posterior, match_topics
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma, gammaln, logsumexp

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import TopictureError
from topicture.models.counts import link_lda
from topicture.models.counts.link_lda import LinkLDA, Params, Posterior, Settings
from topicture.models.em import loop as em
from topicture.models.em.expfam import dirichlet_expected_log, log_beta_fn

K, U, V = 2, 4, 3
SWEEPS = Settings(n_sweeps=3)


def small_corpus():
    """Images of few tokens: image 1 has no caption, image 2 no visual word, image 3 neither."""
    F = [[1, 0, 2, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    W = [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    return Corpus.from_arrays(captions=np.array(W, float), visual_words=np.array(F, float))


def random_params(seed=0, **changes):
    rng = np.random.default_rng(seed)
    params = Params(
        rng.gamma(2.0, 0.4, K), rng.gamma(2.0, size=(K, U)), rng.gamma(2.0, size=(K, V)), 0.7, 0.4
    )
    return params._replace(**changes)


def one_pass(params, model=None, corpus=None, dtype=np.float64):
    """Batches, posteriors, statistics and bound after one E-step from a cold start; all images in one block."""
    model = model or link_lda.model(SWEEPS)
    batches = Batches(corpus or small_corpus(), model.views, dtype=dtype)
    assert len(batches) == 1
    return batches, *em.e_step(model, batches, params, [None])


def elog(r):
    return digamma(r) - digamma(np.sum(r, axis=-1, keepdims=True))


def tokens_of(corpus, d):
    """Kind and id of every token of image d, repeated by its count."""
    F, W = corpus.visual_words.toarray().astype(int), corpus.captions.toarray().astype(int)
    return [(0, u) for u in np.repeat(np.arange(U), F[d])] + [(1, v) for v in np.repeat(np.arange(V), W[d])]


# --- Exact evidence --------------------------------------------------------------------------------------------


def test_the_bound_of_an_image_stays_below_its_exact_evidence():
    params, corpus = random_params(), small_corpus()
    log_tables = elog(params.rB), elog(params.rPhi)
    _, _, _, bound = one_pass(params, link_lda.model(Settings(60)))
    exact = 0.0
    for d in range(len(corpus)):
        tokens = tokens_of(corpus, d)
        if tokens:  # an image without tokens has evidence 1
            log_lik = np.array([log_tables[kind][:, i] for kind, i in tokens])
            exact += enumerate_posterior(log_lik, dirichlet_log_prior(params.alpha)).log_evidence
    assert bound <= exact
    assert bound >= exact - 8 * 0.2  # independent tokens lose about a tenth of a nat each; there are eight


def test_the_objective_stays_below_the_evidence_with_all_topics_integrated_out():
    params, corpus = random_params(), small_corpus()
    result = em.fit(
        link_lda.model(Settings(5, learn_alpha=False)),
        Batches(corpus, link_lda.model(SWEEPS).views),
        params,
        None,
    )
    assert result.objective <= log_evidence(corpus, params)
    assert result.objective >= log_evidence(corpus, params) - 6


def log_evidence(corpus, params):
    """ln p(corpus | alpha, eta_b, eta_phi) by summing over the topics of all tokens of all images together."""
    tokens = [(d, *token) for d in range(len(corpus)) for token in tokens_of(corpus, d)]
    z = np.indices((K,) * len(tokens)).reshape(len(tokens), -1).T
    total = np.zeros(len(z))
    for d in range(len(corpus)):
        mine = [t for t, token in enumerate(tokens) if token[0] == d]
        if mine:
            total += dirichlet_log_prior(params.alpha)(z[:, mine])
    for kind, size, eta in ((0, U, params.eta_b), (1, V, params.eta_phi)):
        for k in range(K):
            counts = np.zeros((len(z), size))
            for t, (_, token_kind, i) in enumerate(tokens):
                if token_kind == kind:
                    counts[:, i] += z[:, t] == k
            total += gammaln(size * eta) - gammaln(size * eta + counts.sum(axis=1))
            total += (gammaln(eta + counts) - gammaln(eta)).sum(axis=1)
    return logsumexp(total)


# --- Updates ---------------------------------------------------------------------------------------------------


def twin(params, F, W, n_sweeps):
    """The E-step of one image in logarithms, responsibilities spelled out: gamma, counts and bound."""
    log_tables = np.concatenate([elog(params.rB), elog(params.rPhi)], axis=1).T  # (U + V, K)
    c = np.concatenate([F, W])
    gamma = params.alpha + c.sum() / K
    for _ in range(n_sweeps):
        log_phi = log_tables + elog(gamma)
        log_phi = log_phi - logsumexp(log_phi, axis=1, keepdims=True)
        counts = c[:, None] * np.exp(log_phi)
        gamma = params.alpha + counts.sum(axis=0)
    e = elog(gamma)
    bound = np.sum(counts * (e + log_tables - log_phi)) + np.sum((params.alpha - gamma) * e)
    bound += gammaln(params.alpha.sum()) - gammaln(params.alpha).sum()
    bound -= gammaln(gamma.sum()) - gammaln(gamma).sum()
    return gamma, counts, bound


@settings(max_examples=25, deadline=None)
@given(
    F=st.lists(st.integers(0, 4), min_size=U, max_size=U),
    W=st.lists(st.integers(0, 2), min_size=V, max_size=V),
    seed=st.integers(0, 1000),
    alpha=st.sampled_from([0.02, 0.5, 8.0]),
)
def test_the_factored_e_step_equals_its_twin_in_logarithms(F, W, seed, alpha):
    params = random_params(seed, alpha=np.array([alpha, 0.3]))
    # The same padded shape for every example: full images beside the one in question.
    full = np.ones(U), np.ones(V)
    corpus = Corpus.from_arrays(captions=np.array([W, full[1]]), visual_words=np.array([F, full[0]]))
    _, (q,), stats, bound = one_pass(params, corpus=corpus)
    mine, other = twin(params, np.array(F), np.array(W), 3), twin(params, *full, 3)
    counts = np.asarray(stats.tokens) * em.tables(link_lda.model(SWEEPS), params).T
    np.testing.assert_allclose(bound, mine[2] + other[2], rtol=1e-9)
    np.testing.assert_allclose(counts, mine[1] + other[1], rtol=1e-9, atol=1e-12)
    rows = em.unstack(q.gamma, 2)
    assert min(abs(rows - mine[0]).max(axis=1)) < 1e-9


def test_each_update_is_a_stationary_point_of_the_bound():
    params = random_params()
    batches, (q,), _, _ = one_pass(params)
    with jax.enable_x64(True):
        tables = jax.tree.map(jnp.asarray, em.tables(link_lda.model(SWEEPS), params))
        image = jax.tree.map(lambda x: jnp.asarray(x[0, 3]), next(iter(batches)).image)  # the largest image
        gamma, h = q.gamma[0, 3], q.h[0, 3]
        assert image.visual.counts.sum() == 3
        # gamma is best for the phi that it came from (h); phi is best at h = Elog(gamma).
        slope = jax.jit(jax.grad(lambda q: link_lda.elbo(tables, image, q)))
        by_gamma = slope(Posterior(gamma, h)).gamma
        best_h = dirichlet_expected_log(gamma)
        by_h = slope(Posterior(gamma, best_h)).h
        away = slope(Posterior(gamma, best_h + jnp.array([0.5, 0]))).h
    np.testing.assert_allclose(by_gamma, 0, atol=1e-10)
    np.testing.assert_allclose(by_h, 0, atol=1e-10)
    assert np.abs(away).max() > 1e-2


def test_the_m_step_maximises_the_expected_log_joint():
    settings = Settings(3, 0.0, True, True)
    model, params = link_lda.model(settings), random_params()
    _, _, stats, _ = one_pass(params, model)
    counts = (np.asarray(stats.tokens) * em.tables(model, params).T).T
    new = em.m_step(model, params, stats, None)

    def value(params):
        topics = jnp.sum(counts[:, :U] * dirichlet_expected_log(params.rB))
        topics += jnp.sum(counts[:, U:] * dirichlet_expected_log(params.rPhi))
        proportions = jnp.sum((params.alpha - 1) * stats.log_theta) - stats.n_images * log_beta_fn(
            params.alpha
        )
        return topics + proportions + link_lda.log_prior(params, None)

    with jax.enable_x64(True):
        cast = jax.tree.map(jnp.asarray, new)
        # The topics come first, under the old eta; eta and alpha follow.
        slopes = jax.jit(jax.grad(value))
        of_topics = slopes(cast._replace(eta_b=jnp.asarray(0.7), eta_phi=jnp.asarray(0.4)))
        of_rest = slopes(cast)
    for slope in (of_topics.rB, of_topics.rPhi, of_rest.eta_b, of_rest.eta_phi, of_rest.alpha):
        np.testing.assert_allclose(slope, 0, atol=1e-8)
    assert float(new.eta_b) != 0.7
    assert not np.allclose(new.alpha, params.alpha)


def test_more_sweeps_never_lower_the_bound():
    bounds = [one_pass(random_params(), link_lda.model(Settings(n)))[3] for n in (1, 3, 60)]
    assert_never_falls(bounds)
    assert bounds[-1] > bounds[0]


def test_an_image_that_rests_is_left_alone():
    """Ending early costs no more than the share of tokens that it tolerates."""
    params = random_params()
    all_sweeps = one_pass(params, link_lda.model(Settings(60)))[1][0].gamma
    early = one_pass(params, link_lda.model(Settings(60, 1e-8)))[1][0].gamma
    np.testing.assert_allclose(early, all_sweeps, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_hyper_parameters_underflow_nowhere(dtype):
    """Topics far apart, and proportions that exclude all but one of them."""
    rB = np.array([[50, 1e-4, 1e-4, 1e-4], [1e-4, 50, 50, 50]])
    params = random_params(alpha=np.full(K, 1e-4), rB=rB, rPhi=np.full((K, V), 1e-4))
    _, (q,), stats, bound = one_pass(params, dtype=dtype)
    assert np.isfinite(bound)
    assert np.isfinite(np.asarray(stats.tokens)).all()
    tokens = small_corpus().visual_words.sum() + small_corpus().captions.sum()
    assert np.asarray(q.gamma)[0, :4].sum() == pytest.approx(tokens + 4 * K * 1e-4, rel=1e-5)


def test_no_array_of_the_size_of_the_topics_is_made_for_an_image():
    n_visual, n_topics = 5000, 10
    counts = np.zeros((1, n_visual))
    counts[0, [3, 4999]] = 1, 2
    corpus = Corpus.from_arrays(captions=np.ones((1, V)), visual_words=counts)
    model = link_lda.model(SWEEPS)
    params = Params(np.ones(n_topics), np.ones((n_topics, n_visual)), np.ones((n_topics, V)), 1.0, 1.0)
    tables = em.tables(model, params)
    image = jax.tree.map(lambda x: x[0, 0], next(iter(Batches(corpus, model.views))).image)
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(lambda *args: model.e_step(*args, model.init_posterior(*args)))(
            jax.tree.map(jnp.asarray, tables), image
        )
    sizes = [np.prod(out.aval.shape) for out in every_result(jaxpr.jaxpr)]
    assert len(sizes) > 50
    assert max(sizes) <= 8 * n_topics  # two kinds of tokens, padded to four each


def every_result(jaxpr):
    """The variables that a program computes, those inside its loops and functions included."""
    for equation in jaxpr.eqns:
        yield from equation.outvars
        for inner in equation.params.values():
            if hasattr(inner, "jaxpr"):
                yield from every_result(inner.jaxpr)


# --- Stochastic steps --------------------------------------------------------------------------------------------


def test_a_stochastic_step_goes_part_of_the_way_to_the_m_step():
    model, params, corpus = link_lda.model(SWEEPS), random_params(), small_corpus()
    batches, _, stats, _ = one_pass(params, model)
    full = em.m_step(model, params, stats, None)
    rng = np.random.default_rng(0)
    got = em.fit_stochastic(model, batches, params, None, n_epochs=1, rng=rng, tau0=4.0, kappa=0.5)
    assert len(corpus) == 4  # one chunk: its statistics are not scaled
    for name, old, new, value in zip(Params._fields, params, full, got, strict=True):
        np.testing.assert_allclose(
            value, 0.5 * np.asarray(old) + 0.5 * np.asarray(new), rtol=1e-12, err_msg=name
        )


def test_a_minibatch_stands_for_the_whole_corpus():
    """Alike images: a step from any of the chunks is the step from all of them."""
    model, params = link_lda.model(Settings(3, learn_alpha=False)), random_params()
    one = small_corpus()[:1]
    corpus = Corpus.from_arrays(
        captions=np.tile(one.captions.toarray(), (12, 1)),
        visual_words=np.tile(one.visual_words.toarray(), (12, 1)),
    )
    together, in_chunks = (
        em.fit_stochastic(
            model,
            Batches(corpus, model.views, block_images=lambda sizes: 4, chunk_images=n),
            params,
            None,
            n_epochs=epochs,
            rng=np.random.default_rng(0),
        )
        for n, epochs in ((12, 3), (4, 1))
    )
    np.testing.assert_allclose(in_chunks.rB, together.rB, rtol=1e-10)


def test_stochastic_learning_reaches_the_objective_of_batch_learning():
    corpus = sampled(np.random.default_rng(3), n_images=60)[0]
    stochastic, batch = (
        LinkLDA(3, learning=learning, n_init=1, max_iter=40, batch_size=16).fit(corpus)
        for learning in ("stochastic", "batch")
    )
    assert_never_falls(stochastic.objective_trace_)
    assert stochastic.objective_trace_[0] > batch.objective_trace_[0]
    assert stochastic.objective_trace_[-1] > batch.objective_trace_[-1] - 0.01 * abs(
        batch.objective_trace_[-1]
    )


# --- The estimator -----------------------------------------------------------------------------------------------


def sampled(rng, n_images, alpha=0.2, n_visual=40, n_words=4):
    B, Phi = rng.dirichlet(np.full(12, 0.2), 3), rng.dirichlet(np.full(6, 0.3), 3)
    corpus = link_lda.sample(rng, np.full(3, alpha), B, Phi, n_images, n_visual, n_words)
    return corpus, B, Phi


@pytest.mark.parametrize("start", ["random", "kmeans"])
def test_learned_hyper_parameters_never_lower_the_objective(start):
    corpus = sampled(np.random.default_rng(4), n_images=60)[0]
    model = LinkLDA(3, learn_eta=True, start=start, learning="batch", n_init=1, max_iter=25).fit(corpus)
    assert_never_falls(model.objective_trace_)
    assert float(model.params_.eta_b) != model.eta_visual


def test_untagged_images_teach_the_visual_topics_and_captions_sharpen_the_proportions():
    corpus = sampled(np.random.default_rng(5), n_images=60)[0].without_captions(np.arange(60) >= 30)
    model = LinkLDA(3, n_init=1, max_iter=5).fit(corpus)
    np.testing.assert_allclose(
        model.params_.rB.sum(), corpus.visual_words.sum() + 3 * 12 * model.eta_visual, rtol=1e-9
    )
    blind, seeing = model.transform(corpus), model.transform(corpus, use_captions=True)
    np.testing.assert_allclose(blind.sum(axis=1), 1)
    np.testing.assert_array_equal(blind[30:], seeing[30:])
    assert np.abs(blind[:30] - seeing[:30]).max() > 1e-3
    np.testing.assert_allclose(model.annotate(corpus), blind @ link_lda.word_means(model.params_), rtol=1e-9)
    assert np.isfinite(model.log_likelihood(corpus)).all()
    assert (model.log_likelihood(corpus)[:30] < model.log_likelihood(corpus.without_captions())[:30]).all()


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"learning": "online"}, "learning"),
        ({"start": "pca"}, "start"),
        ({"n_sweeps": 0}, "n_sweeps"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"n_epochs": 0}, "n_epochs"),
        ({"alpha": 0.0}, "alpha"),
        ({"eta_words": -1.0}, "eta_words"),
        ({"tau0": 0.0}, "tau0"),
        ({"kappa": 0.5}, "kappa"),
    ],
)
def test_senseless_settings_are_refused(params, word):
    with pytest.raises(TopictureError, match=word):
        tp.make_annotator("link-lda", **params).fit(small_corpus())


@pytest.mark.slow
def test_topics_are_recovered_from_sampled_images():
    """Topics with words of their own: where topics overlap much, independent tokens bias them beyond any error bar."""
    rng = np.random.default_rng(6)
    B, Phi = topics_with_own_words(rng, 4), topics_with_own_words(rng, 2)
    corpus = link_lda.sample(rng, np.ones(3), B, Phi, n_images=2000, n_visual=100, n_words=4)
    params = LinkLDA(3, n_init=2, tol=1e-6).fit(corpus).params_
    means = [r / r.sum(axis=1, keepdims=True) for r in (params.rB, params.rPhi)]
    order = match_topics(means[0], B)
    for found, true, counts in zip(means, (B, Phi), (corpus.visual_words, corpus.captions), strict=True):
        # The standard error if the topics of the tokens had been seen.
        error = np.sqrt(true * (1 - true) / (counts.sum() / 3)) + 5e-4
        assert (np.abs(found[order] - true) / error).max() < 6
    np.testing.assert_allclose(params.alpha, 1, rtol=0.2)


def topics_with_own_words(rng, n_own):
    """Three topics over 3 n_own words; each puts 0.97 on words of its own."""
    own = np.kron(np.eye(3), np.ones(n_own)) * np.tile(rng.dirichlet(np.full(n_own, 3.0), 3), 3)
    return 0.97 * own + 0.03 / (3 * n_own)
