"""Networks: gradients, learning, teaching by untagged images."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax

from topicture.corpus import Corpus
from topicture.models.baselines.network import Net, Network, Plan, _gradient, log_answers, train


def toy(n_images, n_tagged, rng):
    """Two kinds of images with visual words and a word each; half of the visual words occur on few images."""
    kind = np.arange(n_images) % 2
    bags = rng.poisson(0.05, (n_images, 20)).astype(float)
    bags[np.arange(n_images), 10 * kind + rng.integers(0, 10, n_images)] += 1
    bags[np.arange(n_images), 10 * kind + rng.integers(0, 10, n_images)] += 1
    captions = np.eye(2)[kind]
    captions[n_tagged:] = 0
    corpus = Corpus.from_arrays(captions=captions, vocabulary=["even", "odd"], visual_words=bags)
    return corpus, kind


def loss(net, x, y, seed):
    """The objective whose gradient is asked for, hidden units dropped by the same draws."""
    rng = np.random.default_rng(seed)
    z = x @ net.hidden + net.hidden_offset
    kept = (rng.random(z.shape, np.float32) >= 0.5) * 2.0
    log_p = log_softmax(np.maximum(z, 0) * kept @ net.words + net.words_offset, axis=1)
    return -(y * log_p).sum() / len(y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_gradient_is_that_of_the_likelihood(form):
    rng = np.random.default_rng(0)
    net = Net(*(rng.normal(size=shape) for shape in ((4, 5), (5,), (5, 3), (3,))))
    x, y = rng.poisson(1.0, (6, 4)).astype(float), rng.poisson(1.0, (6, 3)).astype(float)
    gradient = _gradient(net, form(x), y, np.random.default_rng(7))
    for part, slope in zip(Net._fields, gradient, strict=True):
        for place in np.ndindex(slope.shape):
            step = np.zeros(slope.shape)
            step[place] = 1e-6
            up, down = (loss(net._replace(**{part: getattr(net, part) + s}), x, y, 7) for s in (step, -step))
            assert slope[place] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_a_network_learns_what_there_is_to_learn():
    corpus, kind = toy(200, 200, np.random.default_rng(1))
    p_w = np.array([0.5, 0.5])
    net = train(corpus.visual_words, corpus.captions, p_w, Plan(20, 0.2, 300), np.random.default_rng(0))
    answers = log_answers([net], corpus.visual_words)
    assert (answers.argmax(axis=1) == kind).mean() > 0.95


def test_untagged_images_teach():
    right = {0.0: [], 3.0: []}
    for seed in range(4):
        corpus, kind = toy(400, 10, np.random.default_rng(seed))
        for teach in right:
            annotator = Network(20, n_networks=2, teach=teach, n_updates=300, view="visual_words", seed=seed)
            p = annotator.fit(corpus).annotate(corpus[10:])
            right[teach].append((p.argmax(axis=1) == kind[10:]).mean())
    assert np.mean(right[3.0]) > np.mean(right[0.0]) + 0.02
