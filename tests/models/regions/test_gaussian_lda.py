"""GM-LDA and Corr-LDA: what their common part promises for both."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corpora import make_tiny_corpus
from helpers import assert_never_falls, match_topics
from region_cases import one_chunk
from region_models import PRIOR, dirichlet_params, evidence, images, in_double, point_params, separate_params

from topicture.errors import TopictureError
from topicture.models.em import loop as em
from topicture.models.regions import corr_lda, gm_lda
from topicture.models.regions.corr_lda import CorrLDA
from topicture.models.regions.gaussian_lda import improve, make_model, observe, word_means
from topicture.models.regions.gm_lda import GMLDA

both_stories = pytest.mark.parametrize("story", [gm_lda.STORY, corr_lda.STORY], ids=["gm-lda", "corr-lda"])
both_annotators = pytest.mark.parametrize("annotator", [GMLDA, CorrLDA])


# --- Learn -----------------------------------------------------------------------------------------------------


@both_stories
def test_m_step_of_point_estimates_is_a_stationary_point(story, rng):
    model = make_model(story, 3, 0.0, keep_phi=True)
    slope, _ = objective_slopes(model, point_params(rng), images(rng))
    for name in ("mu", "s2", "alpha", "beta"):
        np.testing.assert_allclose(slope[name], 0, atol=1e-7, err_msg=name)


def test_m_step_of_dirichlet_posteriors_is_a_stationary_point(rng):
    """rho at the old eta, then eta at the new rho."""
    start, model = dirichlet_params(rng), make_model(corr_lda.STORY, 3, 0.0, keep_phi=True)
    at_old_eta, at_new_eta = objective_slopes(model, start, images(rng), eta=start.eta)
    np.testing.assert_allclose(at_old_eta["rho"], 0, atol=1e-7)
    np.testing.assert_allclose(at_new_eta["eta"], 0, atol=1e-6)


def em_step(model, params, corpus):
    batches = one_chunk(corpus)
    posteriors, stats, _ = em.e_step(model, batches, params, [None])
    return em.m_step(model, params, stats, PRIOR), batches, posteriors


def objective_slopes(model, params, corpus, eta=None):
    """Gradients of the objective in the parameters after one EM step: (with `eta` put back, as they are)."""
    new, batches, posteriors = em_step(model, params, corpus)
    ((_, image),) = batches
    positive = {"s2", "alpha", "rho", "eta"}

    def rebuilt(free):
        """Parameters from unconstrained ones: logs of the positive, logits of distributions."""
        values = {
            name: jnp.exp(x) if name in positive else jax.nn.softmax(x) if name == "beta" else x
            for name, x in free.items()
        }
        return type(new)(**values)

    def objective(free):
        candidate = rebuilt(free)
        tables = model.expected(candidate)
        bounds = jax.vmap(jax.vmap(lambda image, q: model.elbo(tables, image, q)))(image, posteriors[0])
        return jnp.sum(jnp.where(image.weight > 0, bounds, 0)) + model.log_prior(candidate, PRIOR)

    slope = in_double(jax.grad(objective))

    def free(candidate):
        fields = {name: np.asarray(x, np.float64) for name, x in candidate._asdict().items()}
        return {name: np.log(x) if name in positive | {"beta"} else x for name, x in fields.items()}

    return slope(free(new if eta is None else new._replace(eta=eta))), slope(free(new))


def test_posteriors_without_phi_give_the_same_fit(rng):
    batches, start = one_chunk(images(rng)), dirichlet_params(rng)
    traces = [
        em.fit(
            make_model(corr_lda.STORY, 3, 0.0, keep_phi=keep), batches, start, PRIOR, max_iter=4, tol=0.0
        ).trace
        for keep in (True, False)
    ]
    np.testing.assert_allclose(traces[1], traces[0], rtol=1e-13)
    assert_never_falls(traces[0])


@both_stories
def test_an_image_stops_when_its_bound_has_settled(story, rng):
    """The tolerance decides, not the largest number of sweeps."""

    def bound_after(n_sweeps, tol):
        return in_double(lambda seen: improve(story, seen, story.init_posterior(seen), n_sweeps, tol)[1])

    seen = evidence(rng)
    bounds = [bound_after(1, 0.0)(seen), *(bound_after(400, tol)(seen) for tol in (1e-3, 1e-12))]
    assert bounds[0] < bounds[1] < bounds[2]
    np.testing.assert_allclose(bounds[2], bound_after(400, 0.0)(seen), rtol=1e-9)


def test_observed_rows_are_those_of_the_words(rng):
    corpus, params = images(rng), point_params(rng)
    model = make_model(corr_lda.STORY, 1, 0.0)
    ((rows, seen),) = em.map_images(observe, em.tables(model, params), one_chunk(corpus))
    for row, l, c in zip(rows, seen.l, seen.c, strict=True):
        expected = corpus.captions[[row]].toarray()[0] @ np.log(params.beta).T
        np.testing.assert_allclose(c @ l, expected)


# --- Use -------------------------------------------------------------------------------------------------------


@cache
def fitted(annotator):
    """One fit for the tests that only look at it."""
    return annotator(3, n_init=1, max_iter=5).fit(make_tiny_corpus(np.random.default_rng(20261115)))


@both_annotators
def test_captions_inform_regions_only_when_asked(annotator, tiny_corpus):
    plain = fitted(annotator).label_regions(tiny_corpus)
    informed = fitted(annotator).label_regions(tiny_corpus, use_captions=True)
    for i, rows in enumerate(plain):
        same = np.allclose(rows, informed[i], rtol=1e-12)
        assert same == (not tiny_corpus.tagged[i] or len(rows) == 0)


@both_annotators
def test_transform_gives_proportions(annotator, tiny_corpus):
    theta, alpha = fitted(annotator).transform(tiny_corpus), fitted(annotator).params_.alpha
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    np.testing.assert_allclose(theta[0], alpha / alpha.sum())  # no regions


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("smoothing", "map"),
        ("eta_update", "newton"),
        ("start", "zeros"),
        ("alpha", 0.0),
        ("eta", -1.0),
        ("eps_words", 0.0),
        ("max_sweeps", 0),
        ("sweep_tol", -1e-6),
    ],
)
def test_settings_that_cannot_work_are_refused(setting, value, tiny_corpus):
    with pytest.raises(TopictureError, match=setting):
        CorrLDA(2, **{setting: value}).fit(tiny_corpus)


# --- Recovery --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("module", "annotator"), [(gm_lda, GMLDA), (corr_lda, CorrLDA)])
@pytest.mark.parametrize("smoothing", ["ml", "eb"])
def test_sampled_parameters_are_found_again(module, annotator, smoothing):
    """Means, variances and words within five standard errors (plus the words' smoothing) of the truth."""
    truth, n_images = separate_params(), 600
    corpus = module.sample(np.random.default_rng(5), truth, n_images)
    model = annotator(3, smoothing=smoothing, n_init=2, seed=1, tol=1e-7).fit(corpus)
    order = match_topics(model.params_.mu, truth.mu)
    n_regions, n_words = corpus.n_regions.sum() / 3, corpus.captions.sum() / 3
    error = np.sqrt(truth.s2 / n_regions)
    assert np.abs(model.params_.mu[order] - truth.mu).max() < 5 * error.max()
    assert np.abs(model.params_.s2[order] / truth.s2 - 1).max() < 5 * np.sqrt(2 / n_regions)
    beta = word_means(model.params_)[order]
    assert (np.abs(beta - truth.beta) < 5 * np.sqrt(truth.beta / n_words) + 0.01).all()
    assert 0.35 < model.params_.alpha.mean() < 1.4
