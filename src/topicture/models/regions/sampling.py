"""Made-up images that follow the story of GM-LDA or Corr-LDA, to see whether a fit finds their parameters again."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topicture.corpus import Corpus
from topicture.models.regions.gaussian_lda import PointParams

__all__ = ["sample_images"]

Topics = NDArray[np.int64]


def sample_images(
    rng: np.random.Generator,
    params: PointParams,
    n_images: int,
    n_regions: int,
    n_words: int,
    word_topics: Callable[[NDArray[np.float64], Topics, int], Topics],
) -> Corpus:
    """Images with this many regions and words on average, at least one of each.

    theta ~ Dir(alpha), z_n ~ Cat(theta), r_n ~ N(mu[z_n], s2[z_n]), as both models have it. Where they differ is
    `word_topics`: (theta, z, number of words) -> the topic of each word.
    """
    alpha, mu, s2, beta = (np.asarray(value) for value in params)
    regions, captions = [], np.zeros((n_images, beta.shape[1]))
    for caption in captions:
        theta = rng.dirichlet(alpha)
        z = rng.choice(len(alpha), 1 + rng.poisson(n_regions - 1), p=theta)
        regions.append(rng.normal(mu[z], np.sqrt(s2[z])))
        for k in word_topics(theta, z, 1 + rng.poisson(n_words - 1)):
            caption[rng.choice(len(caption), p=beta[k])] += 1
    return Corpus.from_arrays(captions=captions, regions=regions)
