"""GM-Mixture: exact evidence, stationary updates, the independent reference, recovery."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import match_topics
from region_cases import one_chunk
from region_models import F, K, dirichlet_params, images, in_double, point_params, separate_params
from scipy.special import logsumexp
from scipy.stats import norm

from topicture.models.em import loop as em
from topicture.models.regions import gm_mixture
from topicture.models.regions.gaussian_lda import word_means
from topicture.models.regions.gm_mixture import DirichletParams, GMMixture, PointParams, Prior, make_model
from topicture.models.regions.start import variance_floor

PRIOR = Prior(0.1, 1e-3, np.full(F, 1e-3))


def mixture_params(rng, kind):
    if kind is PointParams:
        return PointParams(rng.dirichlet(np.ones(K)), *point_params(rng)[1:])
    return DirichletParams(rng.dirichlet(np.ones(K)), *dirichlet_params(rng)[1:])


def regions_of(corpus, i):
    return corpus.regions[corpus.region_offsets[i] : corpus.region_offsets[i + 1]]


def log_joint(params, corpus, i):
    """ln p(z, regions, caption) of image i, (K,), written out with SciPy."""
    densities = norm.logpdf(regions_of(corpus, i)[:, None, :], params.mu, np.sqrt(params.s2)).sum(axis=(0, 2))
    return np.log(params.pi) + densities + np.log(params.beta) @ corpus.captions[[i]].toarray()[0]


def test_evidence_is_exact(rng):
    corpus, params = images(rng), mixture_params(rng, PointParams)
    tables = em.tables(make_model(), params), params.beta
    ((rows, values),) = em.map_images(gm_mixture.log_evidence, tables, one_chunk(corpus))
    expected = [logsumexp(log_joint(params, corpus, i)) for i in rows]
    np.testing.assert_allclose(values, expected)


def test_caption_distribution_is_exact(rng):
    corpus, params = images(rng).without_captions(), mixture_params(rng, PointParams)
    tables = em.tables(make_model(), params), params.beta
    ((rows, values),) = em.map_images(gm_mixture.annotate, tables, one_chunk(corpus))
    for i, p_w in zip(rows, values, strict=True):
        a = log_joint(params, corpus, i)
        np.testing.assert_allclose(p_w, np.exp(a - logsumexp(a)) @ params.beta)


@pytest.mark.parametrize("kind", [PointParams, DirichletParams])
def test_updates_are_stationary_points(kind, rng):
    """q, then every parameter, against the gradient of the objective (rho at the old eta)."""
    start, model, batches = mixture_params(rng, kind), make_model(), one_chunk(images(rng))
    ((_, image),) = batches
    posteriors, stats, _ = em.e_step(model, batches, start, [None])
    new = em.m_step(model, start, stats, PRIOR)
    positive = {"s2", "rho", "eta"}

    def objective(free, logits):
        params = kind(
            **{
                name: jnp.exp(x) if name in positive else x if name == "mu" else jax.nn.softmax(x)
                for name, x in free.items()
            }
        )
        tables, q = model.expected(params), jax.nn.softmax(logits)
        bounds = jax.vmap(jax.vmap(lambda image, q: gm_mixture.elbo(tables, image, q)))(image, q)
        return jnp.sum(jnp.where(image.weight > 0, bounds, 0)) + model.log_prior(params, PRIOR)

    slopes = in_double(jax.grad(objective, argnums=(0, 1)))

    def free(params):
        values = {name: np.asarray(x, np.float64) for name, x in params._asdict().items()}
        return {name: x if name == "mu" else np.log(x) for name, x in values.items()}

    logits = np.log(np.asarray(posteriors[0]))
    np.testing.assert_allclose(slopes(free(start), logits)[1], 0, atol=1e-10)
    if kind is DirichletParams:
        np.testing.assert_allclose(slopes(free(new), logits)[0]["eta"], 0, atol=1e-7)
        new = new._replace(eta=start.eta)
    for name, slope in slopes(free(new), logits)[0].items():
        if name != "eta":
            np.testing.assert_allclose(slope, 0, atol=1e-8, err_msg=name)


def test_one_topic_is_one_gaussian_and_one_multinomial(tiny_corpus):
    model = GMMixture.independent().fit(tiny_corpus)
    np.testing.assert_allclose(model.params_.mu[0], tiny_corpus.regions.mean(axis=0))
    np.testing.assert_allclose(model.params_.s2[0], tiny_corpus.regions.var(axis=0))
    words = np.asarray(tiny_corpus.captions.sum(axis=0)).ravel()
    np.testing.assert_allclose(model.annotate(tiny_corpus)[4], words / words.sum(), rtol=1e-7)
    spread = np.sqrt(tiny_corpus.regions.var(axis=0))
    expected = norm.logpdf(regions_of(tiny_corpus, 4), tiny_corpus.regions.mean(axis=0), spread).sum()
    caption = tiny_corpus.captions[[4]].toarray()[0]
    expected += (caption * np.log(words / words.sum())).sum()
    np.testing.assert_allclose(model.log_likelihood(tiny_corpus)[4], expected, rtol=1e-7)


def test_variances_keep_their_floor(rng):
    """Regions that coincide in a cluster give the floor of 2.3, relative to the features' variance."""
    corpus = images(rng, 8)
    regions = np.where(np.arange(len(corpus.regions))[:, None] % 2, [1.0, 100.0], [2.0, 500.0])
    repeated = type(corpus).from_arrays(
        captions=corpus.captions, regions=regions, region_offsets=np.linspace(0, len(regions), 9).astype(int)
    )
    model = GMMixture(6, n_init=1).fit(repeated)
    floor = np.asarray(variance_floor(regions.var(axis=0)))
    assert (model.params_.s2 >= floor * (1 - 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", ["ml", "eb"])
def test_sampled_parameters_are_found_again(smoothing):
    _, mu, s2, beta = separate_params()
    truth = PointParams(np.array([0.5, 0.3, 0.2]), mu, s2, beta)
    corpus = gm_mixture.sample(np.random.default_rng(5), truth, 600)
    model = GMMixture(3, smoothing=smoothing, n_init=2, seed=1).fit(corpus)
    order = match_topics(model.params_.mu, truth.mu)
    n_regions, n_words = corpus.n_regions.sum() * 0.2, corpus.captions.sum() * 0.2
    assert np.abs(model.params_.pi[order] - truth.pi).max() < 5 * np.sqrt(0.25 / 600)
    assert np.abs(model.params_.mu[order] - truth.mu).max() < 5 * np.sqrt(0.8 / n_regions)
    assert np.abs(model.params_.s2[order] / truth.s2 - 1).max() < 5 * np.sqrt(2 / n_regions)
    beta = word_means(model.params_)[order]
    assert (np.abs(beta - truth.beta) < 5 * np.sqrt(truth.beta / n_words) + 0.01).all()
