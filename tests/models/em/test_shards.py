"""The seam: whoever runs the shards, and in whatever order they are ready, a fit gives the same bits."""

import jax.numpy as jnp
import numpy as np
import pytest
import toy_em
from corpora import make_tiny_corpus
from hypothesis import given
from hypothesis import strategies as st

from topicture.corpus.batches import Batches
from topicture.errors import FitWarning
from topicture.models.counts.mix_unigram import EXACT, MixUnigram
from topicture.models.em import loop as em
from topicture.models.em.passes import TreeSum, precision


def summed(parts):
    total = TreeSum()
    for part in parts:
        total.add(part)
    return total.total()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_tree_sum_is_pairs_of_pairs(values):
    level = [np.float64(x) for x in values]
    while len(level) > 1:
        paired = [a + b for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[2 * len(paired) :]
    assert summed(np.float64(x) for x in values) == level[0]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_whole_branches_may_be_added_elsewhere(size, rng):
    """A worker that holds shards 2^j i to 2^j (i + 1) sends one sum."""
    parts = [{"a": rng.normal(size=3), "b": np.float64(rng.normal())} for _ in range(21)]
    branches = [summed(parts[i : i + size]) for i in range(0, len(parts), size)]
    found, expected = summed(branches), summed(parts)
    np.testing.assert_array_equal(found["a"], expected["a"])
    assert found["b"] == expected["b"]


def test_sums_on_a_device_are_those_of_numpy(rng):
    parts = [rng.normal(size=5) for _ in range(7)]
    with precision():
        on_device = [jnp.asarray(part) for part in parts]
    found = summed(on_device)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, summed(parts))


class Workers(em.Shards):
    """Shards of one chunk each on so many pretended workers, which finish in any order and may be lost."""

    def __init__(self, corpus, model, n_workers, rng):
        self.corpus, self.rng, self.dtype = corpus, rng, np.dtype(np.float64)
        self.shards = [
            em.LocalShards(Batches(corpus[start : start + 7], model.views))
            for start in range(0, len(corpus), 7)
        ]
        self.owner = np.arange(len(self.shards)) % n_workers

    def start(self):
        for shard in self.shards:
            shard.start()

    def run(self, model, tables):
        parts = {}
        for worker in self.rng.permutation(self.owner.max() + 1):
            for i in np.flatnonzero(self.owner == worker):
                self.shards[i].run(model, tables)  # lost with its worker, so done again
                self.shards[i].roll_back()
                parts[i] = self.shards[i].run(model, tables)
        return summed(parts[i] for i in range(len(self.shards)))

    def keep(self):
        for shard in self.shards:
            shard.keep()

    def roll_back(self):
        for shard in self.shards:
            shard.roll_back()


def fit_mixture(shards_of):
    corpus = make_tiny_corpus(np.random.default_rng(3), n_images=40)
    annotator = MixUnigram(3, smoothing="ml")
    start = annotator._start(corpus, np.random.default_rng(1))
    return em.fit(EXACT, shards_of(corpus), start, annotator._prior(), max_iter=6, tol=0.0)


def test_any_number_of_workers_gives_the_same_bits():
    results = [
        fit_mixture(lambda corpus, n=n: Workers(corpus, EXACT, n, np.random.default_rng(n)))
        for n in (1, 2, 4)
    ]
    plain = fit_mixture(lambda corpus: Batches(corpus, EXACT.views))
    for result in results:
        np.testing.assert_array_equal(result.trace, results[0].trace)
        for x, y in zip(result.params, results[0].params, strict=True):
            np.testing.assert_array_equal(x, y)
        assert result.posteriors == []
    np.testing.assert_allclose(results[0].trace, plain.trace, rtol=1e-12)


def test_a_step_that_fell_is_rolled_back():
    """Posteriors count the passes they have been through: the one of the fall is not among them."""
    batches = Batches(toy_em.make_corpus(), toy_em.MODEL.views)
    shards = em.LocalShards(batches)
    with pytest.warns(FitWarning):
        result = em.fit(toy_em.MODEL, shards, toy_em.Params(1.0), toy_em.Prior(shift=3.0), max_iter=20, tol=0)
    assert result.reason is em.Results.objective_fell
    (q,) = shards.posteriors()
    assert em.unstack(q, 1)[0] == len(result.trace)


def test_replaced_posteriors_last_until_kept_or_rolled_back():
    batches = Batches(toy_em.make_corpus(), toy_em.MODEL.views)
    shards = em.LocalShards(batches)
    shards.run(toy_em.MODEL, 1.0)
    shards.keep()
    kept = np.asarray(shards.posteriors()[0])
    shards.replace([kept + 10])
    shards.run(toy_em.MODEL, 1.0)
    shards.roll_back()
    np.testing.assert_array_equal(shards.posteriors()[0], kept)
    shards.replace([kept + 10])
    shards.run(toy_em.MODEL, 1.0)
    shards.keep()
    np.testing.assert_array_equal(shards.posteriors()[0], kept + 11)


def test_elsewhere_posteriors_cannot_be_replaced(rng):
    workers = Workers(make_tiny_corpus(rng, n_images=8), EXACT, 1, rng)
    with pytest.raises(NotImplementedError, match="Workers"):
        workers.replace([])
