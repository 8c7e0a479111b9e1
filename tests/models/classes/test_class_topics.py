"""DBA and EMM: bounds against enumeration, updates as stationary points, their relation, candidates, use."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corpora import make_tiny_corpus
from helpers import assert_never_falls, dirichlet_log_prior, enumerate_posterior
from scipy.special import expit, gammaln, logsumexp

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError, TopictureError
from topicture.models.classes import class_topics, dba, emm
from topicture.models.classes.values import ClassPrior, Posterior, Settings
from topicture.models.em import loop as em

C, U = 3, 5


def make_corpus(seed, n_images=8, n_regions=3):
    """Images of two or three regions, labelled by turns; the last has no caption."""
    rng = np.random.default_rng(seed)
    captions = (rng.random((n_images, C)) < 0.5).astype(float)
    captions[:, 0] = np.maximum(captions[:, 0], captions.sum(axis=1) == 0)
    captions[-1] = 0
    bags = [rng.poisson(1.0, (rng.integers(2, n_regions + 1), U)).astype(float) for _ in range(n_images)]
    return Corpus.from_arrays(captions=captions, region_words=bags)


def make_params(kind, seed):
    rng = np.random.default_rng(seed)
    mu = rng.gamma(2, 1, (C, U)) + 0.1
    return kind(mu, np.float64(0.5), rng.gamma(2, 0.6, C) + 0.1, rng.gamma(2, 1, C))


MODELS = {
    "dba": (dba, partial(dba.make_model), dba.THETA),
    "emm": (emm, partial(emm.make_model, norm="jensen"), emm.THETA["jensen"]),
}


@pytest.fixture(params=MODELS)
def model_kind(request):
    return MODELS[request.param]


def images_of(corpus, batches):
    (chunk,) = batches
    flat = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), chunk.image)
    return {int(d): jax.tree.map(lambda a, i=i: a[i], flat) for i, d in enumerate(chunk.rows)}


# --- Bounds ------------------------------------------------------------------------------------------------------


def sequence_prior(name, prior):
    """ln p(z) of configurations with theta integrated out, from 200,000 draws for unequal rates."""
    if name == "dba":
        return dirichlet_log_prior(prior)
    theta = np.random.default_rng(0).exponential(1 / prior, (200_000, C))
    log_theta = np.log(theta / theta.sum(axis=1, keepdims=True))
    return lambda z: np.array(
        [logsumexp(log_theta[:, list(row)].sum(axis=1)) - np.log(len(theta)) for row in z]
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_bound_is_below_the_exact_evidence(name, seed):
    """With beta at exp(Elog mu), a sub-distribution, all else exact: z by enumeration, labels by their Bernoulli."""
    module, make_model, _ = MODELS[name]
    corpus, params = make_corpus(seed), make_params(module.Params, seed)
    model, batches = make_model(Settings(n_sweeps=20)), Batches(corpus, class_topics.VIEWS)
    tables = em.tables(model, params)
    bound = np.concatenate([values for _, values in em.map_images(_elbo_of(model), tables, batches)])
    assert np.isfinite(bound).all()
    log_prior = sequence_prior(name, tables.prior)
    for rows, _ in batches:
        for value, d in zip(bound, rows, strict=True):
            bags = corpus.region_words[corpus.region_offsets[d] : corpus.region_offsets[d + 1]].toarray()
            y = corpus.captions[[d]].toarray()[0] > 0

            def labels(z, y=y, tagged=corpus.tagged[d]):
                zbar = np.stack([(z == c).mean(axis=1) for c in range(C)], axis=1)
                p = expit(tables.w * zbar)
                return np.log(np.where(y, p, 1 - p)).sum(axis=1) if tagged else np.zeros(len(z))

            exact = enumerate_posterior(bags @ tables.log_mu, log_prior, labels).log_evidence
            assert value <= exact + (1e-9 if name == "dba" else 2e-2)
            assert value >= exact - 6


@cache
def _elbo_of(model):
    theta, settings = model.elbo.args

    def elbo(tables, image):
        q = class_topics.infer(theta, settings, 20, tables, image)
        return class_topics.elbo(theta, settings, tables, image, q)

    return elbo


def test_dropped_normaliser_is_no_bound():
    """The paper's bound changes with the scale of the rates, and so exceeds any evidence; the repaired one does not."""
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        s, M = jnp.asarray(rng.dirichlet(np.ones(C)) * 4), 4.0
        values = {
            (norm, scale): float(_theta_part(emm.THETA[norm], scale * jnp.ones(C), s, M))
            for norm in ("jensen", "dropped")
            for scale in (1.0, 1e-3)
        }
    assert values["jensen", 1.0] == pytest.approx(values["jensen", 1e-3], rel=1e-9)
    assert values["dropped", 1e-3] - values["dropped", 1.0] == pytest.approx(4 * np.log(1e3), rel=1e-9)
    # ln p(z) of any sequence is below 0, and this is meant to bound it on average.
    assert values["dropped", 1e-3] > 0 > values["jensen", 1e-3]


def _theta_part(theta, prior, s, M):
    q = theta.fit(prior, s, M, None)
    return theta.bound(prior, q, M, None) + jnp.sum(s * theta.expected_log(prior, q, None))


# --- Updates -----------------------------------------------------------------------------------------------------


def test_theta_is_the_best_for_its_phi(model_kind):
    _, _, theta = model_kind
    with jax.enable_x64(True):
        s, prior, M = jnp.asarray([0.2, 1.5, 2.3]), jnp.asarray([0.6, 1.0, 2.5]), 4.0
        best = theta.fit(prior, s, M, None)

        def part(q):
            return theta.bound(prior, q, M, None) + jnp.sum(s * theta.expected_log(prior, q, None))

        for leaf in jax.tree.leaves(jax.grad(part)(best)):
            np.testing.assert_allclose(leaf, 0, atol=1e-9)


@pytest.mark.parametrize("label", ["chord", "printed"])
def test_converged_phi_is_a_stationary_point_of_the_bound(model_kind, label):
    module, make_model, theta = model_kind
    corpus, params = make_corpus(4), make_params(module.Params, 4)
    settings = Settings(label=label, n_sweeps=300)
    model, batches = make_model(settings), Batches(corpus, class_topics.VIEWS)
    posteriors, _, _ = em.e_step(model, batches, params, [None])
    images = images_of(corpus, batches)
    phis = em.unstack(posteriors[0].phi, len(corpus))
    with jax.enable_x64(True):
        tables = jax.tree.map(jnp.asarray, em.tables(model, params))

        @jax.jit
        @jax.grad
        def gradient(logits, image):
            q = Posterior(image.region_mask[:, None] * jax.nn.softmax(logits), None, None)
            # q(theta) is at its best, so its change with phi does not count (and has no derivative: a loop finds it).
            return _fixed_theta_elbo(theta, model, tables, tables, image, q)

        for i, d in enumerate(next(iter(batches)).rows):
            logits = np.log(np.maximum(phis[i], 1e-300))
            slope = gradient(logits, images[int(d)])[: corpus.n_regions[d]]
            np.testing.assert_allclose(slope, 0, atol=1e-6)


@pytest.mark.parametrize("label", ["chord", "printed"])
def test_m_step_is_a_stationary_point_of_the_objective(model_kind, label):
    """In mu, the prior's parameter and w; eta, the last of its block, given mu."""
    module, make_model, theta = model_kind
    corpus, params, prior = make_corpus(5), make_params(module.Params, 5), ClassPrior(w_min=-50.0)
    model, batches = make_model(Settings(label=label, learn_eta=False)), Batches(corpus, class_topics.VIEWS)
    posteriors, stats, _ = em.e_step(model, batches, params, [None])
    new = em.m_step(model, params, stats, prior)
    (chunk,) = batches

    def objective(values):
        point = module.Params(**{**new._asdict(), **values})
        tables = model.expected(point)
        bound = jax.vmap(jax.vmap(partial(_fixed_theta_elbo, theta, model, tables, old)))
        return jnp.sum(
            jnp.where(chunk.image.weight > 0, bound(chunk.image, posteriors[0]), 0)
        ) + model.log_prior(point, prior)

    with jax.enable_x64(True):
        old = jax.tree.map(jnp.asarray, em.tables(model, params))
        names = ["mu", "alpha" if module is dba else "lam"] + (["w"] if label == "chord" else [])
        gradient = jax.jit(jax.grad(objective))({name: jnp.asarray(getattr(new, name)) for name in names})
        for name, value in gradient.items():
            np.testing.assert_allclose(value, 0, atol=2e-8, err_msg=name)


def _fixed_theta_elbo(theta, model, tables, old, image, q):
    """The bound with q(theta) as the E-step left it: what the M-step maximises."""
    s, M = jax.lax.stop_gradient(jnp.sum(q.phi, 0)), jnp.sum(image.region_mask)
    fitted = theta.fit(old.prior, s, M, None)
    frozen = theta._replace(fit=lambda *_: fitted)
    return class_topics.elbo(frozen, model.elbo.args[1], tables, image, q)


# --- Relations ---------------------------------------------------------------------------------------------------


def test_equal_rates_are_dba_with_alpha_one():
    corpus = make_corpus(6, n_images=10)
    params = make_params(emm.Params, 6)
    settings = Settings(learn_prior=False)
    batches = Batches(corpus, class_topics.VIEWS)
    emm_q, _, emm_bound = em.e_step(
        emm.make_model(settings), batches, params._replace(lam=np.full(C, 2.5)), [None]
    )
    dba_q, _, dba_bound = em.e_step(
        dba.make_model(settings), batches, dba.Params(params.mu, params.eta, np.ones(C), params.w), [None]
    )
    np.testing.assert_allclose(emm_q[0].phi, dba_q[0].phi, atol=1e-12)
    assert emm_bound < dba_bound  # the same likelihood; the Dirichlet's bound is tighter


@pytest.mark.parametrize("n_candidates", [0, 2])
def test_equal_rates_need_no_search_for_the_normaliser(n_candidates):
    """norm "equal" is "jensen" in closed form, for all classes and for candidates."""
    corpus = make_corpus(5)
    params = make_params(emm.Params, 5)._replace(lam=np.full(C, 0.7))
    batches = Batches(corpus, class_topics.VIEWS)
    settings = Settings(label="chord", n_candidates=n_candidates, learn_prior=False)
    searched, closed = (
        em.e_step(emm.make_model(settings, norm), batches, params, [None]) for norm in ("jensen", "equal")
    )
    assert closed[2] == pytest.approx(searched[2], rel=1e-12)
    np.testing.assert_allclose(closed[0][0].phi, searched[0][0].phi, atol=1e-12)
    np.testing.assert_allclose(closed[1].visual, searched[1].visual, atol=1e-10)


def test_a_dirichlet_below_one_is_the_sparser_prior():
    corpus, params = make_corpus(7, n_images=20), make_params(dba.Params, 7)

    def entropy(alpha):
        model = dba.make_model(Settings(n_sweeps=50))
        q, _, _ = em.e_step(
            model, Batches(corpus, class_topics.VIEWS), params._replace(alpha=np.full(C, alpha)), [None]
        )
        s = em.unstack(q[0].phi, len(corpus)).sum(axis=1)
        zbar = s / s.sum(axis=1, keepdims=True)
        return -(zbar * np.log(np.maximum(zbar, 1e-300))).sum(axis=1).mean()

    assert entropy(0.1) < entropy(1.0)


# --- Candidates --------------------------------------------------------------------------------------------------


def test_candidates_without_the_hopeless_classes_change_nothing(model_kind):
    """Two classes that explain no region: leaving them out of play gives the same phi, bound and statistics."""
    module, make_model, _ = model_kind
    corpus = make_corpus(8)
    params = make_params(module.Params, 8)
    hopeless = np.full((2, U), 1e-2)
    hopeless[:, 0] = 1e6
    wide = Corpus.from_arrays(
        captions=np.hstack([corpus.captions.toarray(), np.zeros((8, 2))]),
        region_words=(corpus.region_words.toarray() + (np.arange(U) == 1)) * (np.arange(U) > 0) * 40,
        region_offsets=corpus.region_offsets,
    )
    params = module.Params(
        np.vstack([params.mu, hopeless]),
        params.eta,
        np.append(params[2], [0.7, 1.3]),
        np.append(params.w, [1, 1]),
    )
    batches = Batches(wide, class_topics.VIEWS)
    dense = em.e_step(make_model(Settings()), batches, params, [None])
    few = em.e_step(make_model(Settings(n_candidates=C)), batches, params, [None])
    np.testing.assert_array_equal(em.unstack(few[0][0].classes, 8), np.tile([0, 1, 2], (8, 1)))
    assert few[2] == pytest.approx(dense[2], rel=1e-9)
    for a, b in zip(jax.tree.leaves(few[1]), jax.tree.leaves(dense[1]), strict=True):
        np.testing.assert_allclose(np.reshape(a, np.shape(b)), b, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        em.m_step(make_model(Settings(n_candidates=C)), params, few[1], ClassPrior())[2],
        em.m_step(make_model(Settings()), params, dense[1], ClassPrior())[2],
        rtol=1e-7,
    )


@pytest.mark.parametrize("name", ["dba", "emm-ml"])
def test_candidates_hold_the_images_own_words(name, tiny_corpus):
    model = tp.make_annotator(name, n_candidates=5, max_iter=5, n_sweeps_use=10).fit(tiny_corpus)
    assert_never_falls(model.objective_trace_)
    captioned = model.label_regions(tiny_corpus, use_captions=True)
    for p in captioned:
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert ((p > 0).sum(axis=1) <= 5).all()
    p = model.annotate(tiny_corpus)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_too_few_candidates_are_refused(tiny_corpus):
    with pytest.raises(CorpusError, match="n_candidates=2"):
        tp.make_annotator("emm-ml", n_candidates=2).fit(tiny_corpus)


# --- Use ---------------------------------------------------------------------------------------------------------


def test_captions_draw_regions_to_their_words():
    """Words that always come together can be told apart in neither form; with the caption, other words lose."""
    rng = np.random.default_rng(0)
    captions = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 8, float)
    beta = np.full((3, 9), 0.05)
    for c in range(3):
        beta[c, 3 * c : 3 * c + 3] = 0.3
    beta /= beta.sum(axis=1, keepdims=True)
    bags = [rng.multinomial(6, beta[c.argmax()], size=2).astype(float) for c in captions]
    corpus = Corpus.from_arrays(captions=captions, region_words=bags)
    model = tp.make_annotator("emm-ml", max_iter=20).fit(corpus)
    plain = np.concatenate(model.label_regions(corpus))
    told = np.concatenate(model.label_regions(corpus, use_captions=True))
    truth = np.repeat(captions.argmax(axis=1), 2)
    own = np.arange(len(truth)), truth
    assert told[own].mean() > plain[own].mean()
    assert (plain.argmax(axis=1) == truth).mean() > 0.9


@pytest.mark.parametrize("name", ["dba", "emm-ml"])
def test_map_proportions_have_exact_zeros(name):
    corpus = make_tiny_corpus(np.random.default_rng(3), n_images=30)
    prior = {"alpha": 0.3, "learn_alpha": False} if name == "dba" else {}
    fitted = tp.make_annotator(name, max_iter=5, n_sweeps_use=10, **prior).fit(corpus)
    theta = fitted.transform(corpus)
    sparse_theta = fitted.set_params(score="map").transform(corpus)
    some = corpus.n_regions > 0
    assert (theta[some] > 0).all()
    assert (sparse_theta[some] == 0).any()
    np.testing.assert_allclose(sparse_theta[some].sum(axis=1), 1)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("dba", {"label": "none"}),
        ("dba", {"alpha": 0.0}),
        ("dba", {"score": "w"}),
        ("emm-ml", {"norm": "none"}),
        ("emm-ml", {"chi2": 0.0}),
        ("emm-ml", {"n_candidates": -1}),
        ("emm-margin", {"nu1": 0.0}),
        ("emm-margin", {"nu2_per_image": -1.0}),
        ("emm-ml", {"n_sweeps": 0}),
    ],
)
def test_settings_that_cannot_work_are_refused(name, params, tiny_corpus):
    with pytest.raises(TopictureError, match=next(iter(params))):
        tp.make_annotator(name, **params).fit(tiny_corpus)


# --- Recovery ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dba", "emm-ml"])
def test_recovers_what_was_sampled(name):
    """Visual distributions of the classes within four standard errors of a multinomial estimate from as many words."""
    rng = np.random.default_rng(1)
    n_classes, n_visual = 5, 12
    module = dba if name == "dba" else emm
    mu = rng.dirichlet(np.full(n_visual, 0.3), n_classes) * 1e6 + 1
    # Large weights: a class with regions is nearly always labelled; one without, half of the time.
    truth = module.Params(
        mu, 0.5, np.full(n_classes, 0.4 if name == "dba" else 1.0), np.full(n_classes, 12.0)
    )
    corpus = module.sample(rng, truth, 3000, n_regions=4, n_visual=25)
    # Everything that was sampled is learned; the defaults, made for annotating, hold weights and priors fixed.
    learned = {"label": "chord", "label_weight": 1.0, "eta": 0.5, "learn_eta": True}
    learned["learn_alpha" if name == "dba" else "learn_lam"] = True
    model = tp.make_annotator(name, max_iter=100, **learned).fit(corpus)
    assert_never_falls(model.objective_trace_)
    beta, found = (np.asarray(m) / np.asarray(m).sum(axis=1, keepdims=True) for m in (mu, model.params_.mu))
    n_tokens = model.params_.mu.sum(axis=1, keepdims=True)
    error = np.abs(found - beta) / np.sqrt(beta * (1 - beta) / n_tokens + 1 / n_tokens**2)
    assert (error < 4).mean() > 0.95
    if name == "dba":
        np.testing.assert_allclose(model.params_.alpha, 0.4, rtol=0.25)


def test_log_prior_of_theta_matches_the_dirichlet_multinomial():
    """K = all regions in one class: the exact ln p(z) is below zero and above the EMM bound."""
    with jax.enable_x64(True):
        part = float(_theta_part(emm.THETA["jensen"], jnp.ones(C), jnp.asarray([4.0, 0, 0]), 4.0))
    exact = gammaln(C) - gammaln(C + 4) + gammaln(5)
    assert part <= exact < 0


@pytest.mark.parametrize("estimator", [dba.DBA, emm.EMM])
def test_a_large_label_weight_keeps_regions_to_their_images_tags(estimator):
    corpus = make_corpus(4)
    settings = {"label": "printed", "n_sweeps_use": 20, "max_iter": 3}
    shares = []
    for weight in (1.0, 1000.0):
        found = (
            estimator(label_weight=weight, **settings).fit(corpus).label_regions(corpus, use_captions=True)
        )
        own = [rows[:, tags > 0].sum() for rows, tags in zip(found, corpus.captions.toarray(), strict=True)]
        shares.append(sum(own) / int(corpus.n_regions[:-1].sum()))  # the last image has no tags
    assert shares[0] < 0.99
    assert shares[1] == pytest.approx(1)


def test_label_weight_must_be_positive():
    with pytest.raises(TopictureError, match="label_weight"):
        emm.EMM(label_weight=0.0).fit(make_corpus(0))
