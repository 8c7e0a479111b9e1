"""Small problems for the models with real-valued regions: parameters, images, one image's evidence."""

import jax
import numpy as np

from topicture.corpus import Corpus
from topicture.models.regions.gaussian_lda import DirichletParams, PointParams, Prior, Seen

K, F, V = 2, 2, 3
PRIOR = Prior(1e-3, np.full(F, 1e-3))


def point_params(rng):
    return PointParams(
        alpha=rng.uniform(0.5, 2, K),
        mu=rng.normal(size=(K, F)),
        s2=rng.uniform(0.5, 1.5, (K, F)),
        beta=rng.dirichlet(np.ones(V), K),
    )


def dirichlet_params(rng):
    alpha, mu, s2, _ = point_params(rng)
    return DirichletParams(alpha, mu, s2, rho=rng.uniform(0.5, 3, (K, V)), eta=np.array(0.4))


def separate_params(n_words=9):
    """Three topics far apart, each with three words of its own: what a fit should find again."""
    mu = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    beta = np.full((3, n_words), 0.01)
    for k in range(3):
        beta[k, 3 * k : 3 * k + 3] = [0.5, 0.3, 0.14]
    return PointParams(np.full(3, 0.7), mu, np.full((3, 2), 0.8), beta / beta.sum(axis=1, keepdims=True))


def images(rng, n_images=6):
    """Ragged regions and captions; the first image has no caption, the second one region."""
    sizes = rng.integers(1, 4, n_images)
    sizes[1] = 1
    captions = rng.poisson(0.7, (n_images, V))
    captions[0] = 0
    captions[1:, 0] += 1
    return Corpus.from_arrays(captions=captions, regions=[rng.normal(size=(n, F)) for n in sizes])


def evidence(rng, n_regions=3, n_words=2, n_topics=K):
    """One image as the sweeps see it, without padding; the last word occurs twice."""
    c = np.ones(n_words)
    c[-1:] = 2
    return Seen(
        alpha=rng.uniform(0.5, 2, n_topics),
        G=rng.normal(-3, 1.5, (n_regions, n_topics)),
        mask=np.ones(n_regions),
        l=np.log(rng.dirichlet(np.ones(V), n_topics).T[:n_words]),
        c=c,
    )


def in_double(fn):
    """`fn` compiled, with 64-bit types."""
    compiled = jax.jit(fn)

    def call(*args):
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, compiled(*args))

    return call
