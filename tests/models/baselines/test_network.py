"""Networks: what they maximise, learning, teaching by untagged images."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax

from topicture.corpus import Corpus
from topicture.models.baselines.network import Draw, Lessons, Net, Network, Plan, log_answers, loss, train
from topicture.models.baselines.training import dense, on_device, take, width, without_some


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


def likelihood(net, x, y, inputs, units):
    """The objective by hand, 0.4 of the inputs and half of the hidden units dropped."""
    z = (x * inputs / 0.6) @ net.hidden + net.hidden_offset
    log_p = log_softmax(np.maximum(z, 0) * units * 2 @ net.words + net.words_offset, axis=1)
    return -(y * log_p).sum() / len(y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_loss_is_the_likelihood_of_the_rows_that_count(form):
    rng = np.random.default_rng(0)
    net = Net(*(rng.normal(size=shape).astype(np.float32) for shape in ((64, 5), (5,), (5, 3), (3,))))
    x = rng.poisson(1.0, (6, 64)) * (np.arange(64) % 32 == rng.integers(0, 32, (6, 1)))
    y = rng.poisson(1.0, (6, 3)).astype(float)
    lessons = Lessons(on_device(form(x)), on_device(form(y)), np.float32(0.4))
    chosen, counts = np.array([4, 1, 5, 0]), np.array([True, True, True, False])
    units = rng.random((4, 5)) < 0.5
    inputs = rng.random((4, width(lessons.rows))) < 0.6
    draw = Draw(chosen, counts, inputs, units)
    kept = np.asarray(dense(without_some(take(lessons.rows, chosen), inputs, 0.0), 64)) / np.maximum(
        x[chosen], 1
    )
    expected = likelihood(net, x[chosen][:3], y[chosen][:3], kept[:3], units[:3])
    assert float(loss(net, lessons, draw)) == pytest.approx(expected, rel=1e-5)


def test_a_network_learns_what_there_is_to_learn():
    corpus, kind = toy(200, 200, np.random.default_rng(1))
    p_w = np.array([0.5, 0.5])
    rngs = [np.random.default_rng(0)]
    nets = train(corpus.visual_words, corpus.captions, p_w, Plan(20, 0.2, 300), rngs)
    answers = log_answers(nets, corpus.visual_words)
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
