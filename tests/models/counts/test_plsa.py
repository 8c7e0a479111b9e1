"""pLSA and pLSA-Words: EM by its definition on dense arrays, fold-in, tempering, recovery."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_never_falls, match_topics

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError, TopictureError
from topicture.models.counts import plsa
from topicture.models.counts.plsa import Params, Prior, Settings
from topicture.models.em import loop as em

K, V, U = 3, 5, 7


def small_corpus(seed=0, n=10):
    rng = np.random.default_rng(seed)
    words, visual = rng.poisson(1.0, (n, V)), rng.poisson(1.5, (n, U))
    visual[0] = 0
    return Corpus.from_arrays(captions=words, visual_words=visual)


def start(seed=1):
    rng = np.random.default_rng(seed)
    return Params(np.full(K, 1 / K), rng.dirichlet(np.ones(V), K), rng.dirichlet(np.ones(U), K))


def dense_em(n, theta, phi, power, eps, steps):
    """Responsibilities p(z | d, x) as a (D, X, K) array, which the library never builds."""
    for _ in range(steps):
        r = (theta[:, None, :] * phi.T[None]) ** power
        r = np.divide(r, r.sum(axis=2, keepdims=True), out=np.zeros_like(r), where=r > 0)
        weighted = n[:, :, None] * r
        new = weighted.sum(axis=1)
        total = new.sum(axis=1, keepdims=True)
        theta = np.where(total > 0, new / np.where(total > 0, total, 1), theta)
        phi = weighted.sum(axis=0).T + eps
        phi = phi / phi.sum(axis=1, keepdims=True)
    return theta, phi


@pytest.mark.parametrize("power", [1.0, 0.7])
def test_concat_is_em_on_one_vocabulary(power):
    corpus, params = small_corpus(), start()
    model = plsa.model(Settings("concat", power=power))
    joint = Params(params.p_z, params.phiW / 2, params.phiF / 2)
    batches = Batches(corpus, model.views)
    theta = np.random.default_rng(2).dirichlet(np.ones(K), 10)
    result = em.fit(
        model, batches, joint, Prior(0.1), max_iter=4, tol=0.0, posteriors=plsa.posteriors(batches, theta)
    )
    n = np.hstack([corpus.captions.toarray(), corpus.visual_words.toarray()])
    expected = dense_em(n, theta, np.hstack([joint.phiW, joint.phiF]), power, 0.1, 4)
    np.testing.assert_allclose(plsa.thetas(batches, result.posteriors), expected[0], rtol=1e-9)
    np.testing.assert_allclose(np.hstack([result.params.phiW, result.params.phiF]), expected[1], rtol=1e-9)
    assert_never_falls(result.trace)
    weights = n.sum(axis=1) @ expected[0]
    np.testing.assert_allclose(result.params.p_z, weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", ["plsa", "plsa-words"])
@pytest.mark.parametrize("power", [1.0, 0.6])
def test_objective_never_falls_when_tempered(name, power):
    model = tp.make_annotator(name, n_topics=K, power=power, n_init=1, max_iter=40, tol=0.0)
    model.fit(small_corpus())
    assert_never_falls(model.objective_trace_)
    if name == "plsa-words":
        assert_never_falls(model.visual_trace_)


def test_fold_in_ends_at_a_stationary_point():
    """Concave in theta: at the end the gradient is flat over the topics that are used, and not above elsewhere."""
    corpus, params = small_corpus(), start()
    batches = Batches(corpus, ("visual_words",))
    tables = em.tables(plsa.model(Settings()), params), params.p_z, params.phiW
    ((rows, theta),) = em.map_images(plsa.fold_in(3000), tables, batches)
    F = corpus.visual_words.toarray()[rows]
    with jax.enable_x64(True):
        for n, t in zip(F, theta, strict=True):
            if n.sum() == 0:
                np.testing.assert_allclose(t, params.p_z)
                continue
            gradient = np.asarray(
                jax.grad(lambda t, n=n: jnp.sum(n * jnp.log(t @ params.phiF)))(jnp.asarray(t))
            )
            np.testing.assert_allclose(gradient[t > 1e-3], n.sum(), rtol=1e-3)
            assert (gradient <= n.sum() * (1 + 1e-3)).all()


def test_visual_words_that_no_topic_knows_are_ignored():
    params = start()
    phiF = params.phiF.copy()
    phiF[:, 0] = 0
    tables = em.tables(plsa.model(Settings()), params._replace(phiF=phiF)), params.p_z, params.phiW
    visual = np.array([[5, 0, 0, 0, 0, 0, 0], [5, 2, 1, 0, 0, 0, 0], [0, 2, 1, 0, 0, 0, 0]])
    corpus = Corpus.from_arrays(captions=np.ones((3, V)), visual_words=visual)
    ((rows, theta),) = em.map_images(plsa.fold_in(20), tables, Batches(corpus, ("visual_words",)))
    theta = theta[np.argsort(rows)]
    np.testing.assert_allclose(theta[0], params.p_z)
    np.testing.assert_allclose(theta[1], theta[2])


def test_untagged_images_take_no_part():
    corpus = small_corpus()
    hidden = corpus.without_captions(np.arange(10) >= 6)
    for name in ("plsa", "plsa-words"):
        model = tp.make_annotator(name, n_topics=2, n_init=1, max_iter=5)
        everything = model.fit(hidden).annotate(corpus)
        np.testing.assert_array_equal(model.fit(hidden[hidden.tagged]).annotate(corpus), everything)
        with pytest.raises(CorpusError, match="tagged"):
            model.fit(corpus.without_captions())


@pytest.mark.parametrize(
    "params", [{"variant": "both"}, {"eps": -1}, {"power": 0}, {"power": 1.5}, {"fold_steps": 0}]
)
def test_bad_settings_are_refused(params):
    with pytest.raises(TopictureError, match=next(iter(params))):
        tp.make_annotator("plsa", **params).fit(small_corpus())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plsa", "plsa-words"])
def test_topics_are_recovered(name):
    rng = np.random.default_rng(3)
    truth = Params(np.full(3, 0.15), rng.dirichlet(np.full(12, 0.15), 3), rng.dirichlet(np.full(30, 0.15), 3))
    corpus = plsa.sample(rng, truth, 600, n_visual=60, n_words=30)
    model = tp.make_annotator(name, n_topics=3, eps=1e-3, tol=1e-8, max_iter=500).fit(corpus)
    order = match_topics(model.params_.phiW, truth.phiW)
    for found, true, tokens in (
        (model.params_.phiW, truth.phiW, 600 * 30 / 3),
        (model.params_.phiF, truth.phiF, 600 * 60 / 3),
    ):
        # Six standard errors of a proportion from that many tokens, doubled for tokens of mixed topics.
        error = np.sqrt(true * (1 - true) / tokens)
        assert (np.abs(found[order] - true) < 12 * error + 0.01).all()
