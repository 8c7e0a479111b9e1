"""Sampling from the story that DBA and EMM share, given each image's proportions."""

import numpy as np

from topicture.corpus import Corpus

__all__ = ["sample_corpus"]


def sample_corpus(
    rng: np.random.Generator,
    thetas: np.ndarray,
    mu: np.ndarray,
    w: np.ndarray,
    n_regions: int,
    n_visual: int,
) -> Corpus:
    """Regions, visual words and labels of images with proportions `thetas` (D, C), which need not be normalised.

    Every image has at least one region; beta_c is the mean of Dir(mu_c), and y_c ~ Bernoulli(sigma(w_c zbar_c)).
    """
    beta = mu / mu.sum(axis=1, keepdims=True)
    C = len(w)
    bags, labels = [], np.zeros(thetas.shape)
    for d, theta in enumerate(thetas):
        z = rng.choice(C, 1 + rng.poisson(n_regions - 1), p=theta / theta.sum())
        bags.append(np.stack([rng.multinomial(1 + rng.poisson(n_visual - 1), beta[c]) for c in z]))
        zbar = np.bincount(z, minlength=C) / len(z)
        labels[d] = rng.random(C) < 1 / (1 + np.exp(-w * zbar))
    return Corpus.from_arrays(captions=labels, region_words=[bag.astype(float) for bag in bags])
