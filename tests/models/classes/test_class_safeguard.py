"""The safeguard of max-margin training: bounds may only decide what the loss itself would."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_class_topics import C, images_of, make_corpus, make_params

from topicture.corpus.batches import Batches
from topicture.models.classes import class_topics, emm
from topicture.models.classes.safeguard import safeguarded
from topicture.models.classes.terms import mean_hinge, region_log_lik
from topicture.models.classes.values import Posterior, Settings
from topicture.models.em import loop as em
from topicture.models.em import passes

PRICES = (1.0, 100.0)


@pytest.mark.parametrize("norm", ["jensen", "equal"])
def test_the_largest_step_that_does_not_raise_the_loss(norm):
    corpus, theta = make_corpus(4), emm.THETA[norm]
    params = make_params(emm.Params, 4)
    if norm == "equal":
        params = params._replace(lam=np.ones(C))
    tables = em.tables(emm.make_model(Settings(), norm), params)
    images = images_of(corpus, Batches(corpus, class_topics.VIEWS))
    rng = np.random.default_rng(0)
    steps = []
    for price in PRICES:
        settings = Settings(label="printed", kappa=0.0, margin=True, safeguard=price)
        with passes.precision():
            here = jax.tree.map(jnp.asarray, tables)
            search, loss = (jax.jit(fn) for fn in functions(theta, settings, here))
            for image in images.values():
                for _ in range(12):
                    # Peaked and flat ends, so that both short and long steps are found.
                    old, new = (ends(rng, image, spread) for spread in (1.0, 4.0))
                    found = np.asarray(search(image, old, new))
                    t, expected = by_trial(loss, image, old, new)
                    np.testing.assert_allclose(found, expected, atol=1e-12)
                    steps.append(t)
    assert len(set(steps)) >= 4  # not the same answer every time


def functions(theta, settings, tables):
    def search(image, old, new):
        log_lik = region_log_lik(tables, image, None)
        ends = (Posterior(phi, None, np.zeros(C)) for phi in (old, new))
        return safeguarded(theta, settings, tables, image, log_lik, *ends).phi

    def loss(image, phi):
        bound = class_topics.elbo(theta, settings, tables, image, Posterior(phi, None, None))
        return settings.safeguard * mean_hinge(tables, image, phi.sum(0), None) - bound

    return search, loss


def ends(rng, image, spread):
    phi = np.exp(spread * rng.normal(size=(len(image.region_mask), C)))
    return image.region_mask[:, None] * phi / phi.sum(axis=1, keepdims=True)


def by_trial(loss, image, old, new):
    """One step after the other, each with its loss."""
    limit = loss(image, old)
    for t in (*(2.0**-k for k in range(11)), 0.0):
        phi = (1 - t) * old + t * new
        if t == 0 or loss(image, phi) <= limit:
            return t, phi
    raise AssertionError
