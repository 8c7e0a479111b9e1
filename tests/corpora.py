"""Small corpora that many tests share."""

import numpy as np

from topicture.corpus import Corpus

WORDS = ("sky", "sea", "sun", "tree", "grass", "house", "boat", "road")


def make_tiny_corpus(rng, n_images=12, n_words=6, n_visual=9, n_features=3, n_columns=4):
    """Images with every view: ragged regions, bags, a descriptor; two thirds tagged; oddities included.

    Texts of the words, too, but not of the last of several.
    Image 0 has no regions, image 1 has no visual words, image 2 has neither; images from the ninth on have no caption.
    """
    n_regions = rng.integers(1, 5, n_images)
    n_regions[[0, 2]] = 0
    region_words = [rng.poisson(0.8, (n, n_visual)).astype(float) for n in n_regions]
    for bag in region_words:
        bag[: len(bag), 0] += 1
    region_words[1][:] = 0
    captions = rng.poisson(0.5, (n_images, n_words)).astype(float)
    captions[:, 1 % n_words] += 1
    captions[8:] = 0
    word_vectors = np.random.default_rng(1).normal(size=(n_words, n_columns))
    word_vectors[1:][-1:] = 0
    return Corpus.from_arrays(
        captions=captions,
        vocabulary=WORDS[:n_words],
        regions=[rng.normal(size=(n, n_features)) for n in n_regions],
        region_words=region_words,
        descriptor=rng.random((n_images, n_columns)),
        word_vectors=word_vectors,
    )
