"""The EM loop: when it stops and what it keeps, sums over images, chunks, devices, precision, compilations."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toy_em
from corpora import make_tiny_corpus
from helpers import assert_never_falls
from toy_em import Params, Prior

from topicture.corpus.batches import Batches
from topicture.errors import FitWarning
from topicture.models.counts import mix_unigram
from topicture.models.counts.mix_unigram import DirichletParams
from topicture.models.em import loop as em
from topicture.models.em import mapping, passes
from topicture.models.em.loop import Results

CORPUS = toy_em.make_corpus()
BEST = toy_em.best_mu(CORPUS)
START = BEST - 2.6


def fit(prior=None, mu=START, model=toy_em.MODEL, corpus=CORPUS, **settings):
    batches = Batches(corpus, model.views)
    return em.fit(model, batches, Params(mu), prior or Prior(), **settings)


def interrupt_at(iteration, restart=0):
    def callback(progress):
        if (progress.restart, progress.iteration) == (restart, iteration):
            raise KeyboardInterrupt

    return callback


# --- Trace and stopping ----------------------------------------------------------------------------------------


def test_trace_is_bound_plus_log_prior_at_every_step():
    result = fit(max_iter=4, tol=0)
    mus = [BEST + (START - BEST) * 0.5**i for i in range(5)]
    np.testing.assert_allclose(result.trace, [toy_em.objective(CORPUS, mu) for mu in mus], rtol=1e-12)
    np.testing.assert_allclose(result.params.mu, mus[-1], rtol=1e-12)
    assert result.reason is Results.max_iter
    assert result.n_iter == 4
    assert result.objective == result.trace[-1]
    assert_never_falls(result.trace)


def test_the_prior_counts():
    strong = fit(Prior(precision=1e3, rate=1.0))
    np.testing.assert_allclose(strong.params.mu, toy_em.best_mu(CORPUS, 1e3), rtol=1e-12)
    np.testing.assert_allclose(
        strong.trace[-1], toy_em.objective(CORPUS, toy_em.best_mu(CORPUS, 1e3), 1e3), rtol=1e-12
    )


def test_converged_when_the_objective_changes_by_less_than_the_tolerance():
    result = fit(tol=1e-3, max_iter=100)
    assert result.reason is Results.converged
    change = np.abs(np.diff(result.trace)) / np.abs(result.trace[:-1])
    assert change[-1] <= 1e-3
    assert (change[:-1] > 1e-3).all()
    assert result.n_iter == len(result.trace) - 1 < 100


def test_no_iteration_keeps_the_start():
    result = fit(max_iter=0)
    assert result.params.mu == START
    assert result.reason is Results.max_iter
    assert result.n_iter == 0
    np.testing.assert_allclose(result.trace, [toy_em.objective(CORPUS, START)], rtol=1e-12)


def test_posteriors_are_carried_from_step_to_step():
    """Each E-step adds one to the posterior; the last M-step is followed by an E-step."""
    result = fit(max_iter=4, tol=0)
    (q,) = result.posteriors
    np.testing.assert_array_equal(np.ravel(q)[: len(CORPUS)], 5)


def test_given_posteriors_are_where_it_starts():
    (q,) = fit(max_iter=0).posteriors
    result = fit(max_iter=0, posteriors=[np.asarray(q) + 10])
    np.testing.assert_array_equal(np.ravel(result.posteriors[0])[: len(CORPUS)], 12)


def test_the_callback_hears_of_every_step():
    heard = []
    result = fit(max_iter=3, tol=0, callback=heard.append, restart=(1, 2))
    assert [p.iteration for p in heard] == [0, 1, 2, 3]
    assert [p.objective for p in heard] == result.trace.tolist()
    assert {(p.restart, p.n_restarts, p.max_iter) for p in heard} == {(1, 2, 3)}


def test_other_exceptions_of_a_callback_are_not_swallowed():
    def broken(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(callback=broken)


# --- Failures ----------------------------------------------------------------------------------------------------


def test_a_falling_objective_ends_the_fit():
    """Steps of +1 from 2.6 below the best: three rise, the fourth falls; what the third gave is kept."""
    with pytest.warns(FitWarning, match="after 4 iterations: the objective fell"):
        result = fit(Prior(rate=0.0, shift=1.0), max_iter=50, tol=0)
    assert result.reason is Results.objective_fell
    np.testing.assert_allclose(result.params.mu, BEST + 0.4, rtol=1e-12)
    np.testing.assert_allclose(result.trace[-1], toy_em.objective(CORPUS, BEST + 0.4), rtol=1e-12)
    np.testing.assert_allclose(result.rejected, toy_em.objective(CORPUS, BEST + 1.4), rtol=1e-12)
    assert result.n_iter == 3
    assert_never_falls(result.trace)
    (q,) = result.posteriors
    np.testing.assert_array_equal(np.ravel(q)[: len(CORPUS)], 4)  # not those of the step that fell


def test_an_algorithm_that_may_fall_keeps_its_best_step_without_a_warning():
    result = fit(Prior(rate=0.0, shift=1.0), max_iter=50, tol=0, may_fall=True)
    assert result.reason is Results.fell_as_allowed
    np.testing.assert_allclose(result.params.mu, BEST + 0.4, rtol=1e-12)


def test_a_small_fall_is_not_taken_for_convergence():
    with pytest.warns(FitWarning, match="fell"):
        result = fit(Prior(rate=0.0, shift=1e-3), mu=BEST - 1e-4, max_iter=50, tol=1.0)
    assert result.reason is Results.objective_fell
    assert result.params.mu == BEST - 1e-4


def test_not_a_number_ends_the_fit():
    with pytest.warns(FitWarning, match="after 2 iterations: the objective was not a finite number"):
        result = fit(Prior(rate=0.0, shift=1.0, nan_above=BEST - 1), max_iter=50, tol=0)
    assert result.reason is Results.not_finite
    np.testing.assert_allclose(result.params.mu, BEST - 1.6, rtol=1e-12)
    assert np.isfinite(result.trace).all()


@pytest.mark.parametrize("mu", [np.nan, np.inf])
def test_a_senseless_start_gives_no_trace(mu):
    with pytest.warns(FitWarning, match="not a finite number"):
        result = fit(mu=mu)
    assert result.reason is Results.not_finite
    assert len(result.trace) == result.n_iter == 0
    assert result.objective == -np.inf


# --- Interrupts ----------------------------------------------------------------------------------------------------


def test_an_interrupt_keeps_the_best_so_far():
    with pytest.warns(FitWarning, match="interrupted"):
        result = fit(max_iter=50, tol=0, callback=interrupt_at(3))
    assert result.reason is Results.interrupted
    assert result.n_iter == 3
    np.testing.assert_allclose(result.params.mu, BEST - 2.6 / 8, rtol=1e-12)
    np.testing.assert_allclose(result.trace[-1], toy_em.objective(CORPUS, BEST - 2.6 / 8), rtol=1e-12)


def test_an_interrupt_before_anything_is_raised(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(em.LocalShards, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit()


def test_jax_settings_are_restored_after_an_interrupt():
    before = dict(jax.config.values)
    with pytest.warns(FitWarning):
        fit(callback=interrupt_at(1))
    assert dict(jax.config.values) == before
    assert jnp.ones(1).dtype == jnp.float32


# --- Restarts ------------------------------------------------------------------------------------------------------


def restarts(mus, **settings):
    settings = {"max_iter": 2, "tol": 0, **settings}
    starts = [lambda mu=mu: Params(mu) for mu in mus]
    return em.fit_restarts(toy_em.MODEL, Batches(CORPUS, toy_em.MODEL.views), starts, Prior(), **settings)


def test_the_best_restart_is_kept():
    best, tried = restarts([BEST + 9, BEST - 1, BEST + 4])
    np.testing.assert_allclose(best.params.mu, BEST - 1 / 4, rtol=1e-12)
    objectives = [result.objective for result in tried]
    assert best.objective == max(objectives) == objectives[1]
    assert len(set(objectives)) == 3
    assert [result.posteriors for result in tried] == [[]] * 3
    assert best.posteriors


def test_a_restart_that_fails_does_not_win():
    with pytest.warns(FitWarning, match="not a finite number"):
        best, tried = restarts([np.nan, BEST + 5])
    assert len(tried) == 2
    np.testing.assert_allclose(best.params.mu, BEST + 5 / 4, rtol=1e-12)


def test_an_interrupt_during_a_later_restart_keeps_the_best_and_says_so():
    with pytest.warns(FitWarning, match="interrupted"):
        best, tried = restarts([BEST + 1, BEST + 9, BEST], callback=interrupt_at(1, restart=1))
    assert len(tried) == 2
    np.testing.assert_allclose(best.params.mu, BEST + 1 / 4, rtol=1e-12)
    assert best.reason is Results.interrupted


def test_an_interrupt_between_restarts():
    def interrupted():
        raise KeyboardInterrupt

    batches = Batches(CORPUS, toy_em.MODEL.views)
    with pytest.warns(FitWarning, match="after 1 restarts: interrupted"):
        best, tried = em.fit_restarts(
            toy_em.MODEL, batches, [lambda: Params(START), interrupted, interrupted], Prior()
        )
    assert best.reason is Results.interrupted
    assert len(tried) == 1
    with pytest.raises(KeyboardInterrupt):
        em.fit_restarts(toy_em.MODEL, batches, [interrupted], Prior())


def test_no_start_is_refused():
    with pytest.raises(ValueError, match="no start"):
        restarts([])


# --- Sums over images ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"chunk_images": 3, "keep_bytes": 0}])
def test_statistics_equal_dense_sums(settings):
    batches = Batches(CORPUS, toy_em.MODEL.views, **settings)
    _, stats, bound = em.e_step(toy_em.MODEL, batches, Params(1.5), [None] * len(batches))
    counts, x = CORPUS.visual_words.toarray(), toy_em.values(CORPUS)
    rows = np.stack([np.ones_like(x), x], axis=1)
    np.testing.assert_allclose(stats.n, len(CORPUS))
    np.testing.assert_allclose(stats.x, x.sum(), rtol=1e-13)
    np.testing.assert_allclose(stats.scattered, counts.T @ rows, rtol=1e-13)
    np.testing.assert_allclose(stats.outer, counts.T @ (counts.sum(1, keepdims=True) * rows), rtol=1e-13)
    np.testing.assert_allclose(bound, -0.5 * ((x - 1.5) ** 2).sum(), rtol=1e-13)


def test_segment_sums_agree_with_sparse_products():
    """What accelerators use in place of SciPy."""
    rng = np.random.default_rng(0)
    with passes.precision():
        ids, weights = rng.integers(0, 7, (2, 3, 4)), rng.random((2, 3, 4))
        outer = em.Outer(jnp.asarray(ids), jnp.asarray(weights), jnp.asarray(rng.random((2, 3, 5))), 7)
        expected = np.zeros((7, 5))
        for place in np.ndindex(2, 3, 4):
            expected[ids[place]] += weights[place] * np.asarray(outer.row)[place[:2]]
        np.testing.assert_allclose(passes.segment_sum_outer(outer), expected, rtol=1e-13)
        np.testing.assert_allclose(passes.sum_outer(outer), expected, rtol=1e-13)


def test_objective_of_given_posteriors():
    batches = Batches(CORPUS, toy_em.MODEL.views)
    result = fit(max_iter=2, tol=0)
    value = em.objective(toy_em.MODEL, batches, result.params, Prior(), result.posteriors)
    np.testing.assert_allclose(value, result.trace[-1], rtol=1e-13)


def test_values_of_images_come_in_the_order_of_rows():
    batches = Batches(CORPUS, toy_em.MODEL.views, chunk_images=4)
    got = np.full(len(CORPUS), np.nan)
    for rows, values in em.map_images(value_plus, np.float64(3), batches):
        got[rows] = values
    np.testing.assert_allclose(got, toy_em.values(CORPUS) + 3, rtol=1e-13)


def value_plus(table, image):
    return toy_em.value_of(image) + table


def test_unstack_keeps_empty_axes():
    assert em.unstack(np.zeros((2, 3, 0, 4)), 5).shape == (5, 0, 4)


# --- Chunks, precision, devices ------------------------------------------------------------------------------------


def fit_mixture(corpus, max_iter=12, **settings):
    prior = mix_unigram.Prior(0.1, 0.5, 0.5)
    start = mix_unigram.init_params(corpus, 3, prior, DirichletParams, "kmeans", np.random.default_rng(1))
    batches = Batches(corpus, mix_unigram.MODEL.views, **settings)
    return em.fit(mix_unigram.MODEL, batches, start, prior, max_iter=max_iter, tol=0)


def same_fit(a, b, rtol):
    np.testing.assert_allclose(a.trace, b.trace, rtol=rtol)
    for x, y in zip(a.params, b.params, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol * 10, atol=rtol)


@pytest.fixture(scope="module")
def forty():
    return make_tiny_corpus(np.random.default_rng(3), n_images=40)


@pytest.fixture(scope="module")
def whole(forty):
    return fit_mixture(forty)


def test_chunks_change_nothing(forty, whole):
    """Seven images at a time, padded anew in every pass."""
    chunked = fit_mixture(forty, chunk_images=7, keep_bytes=0)
    assert len(chunked.posteriors) == 6
    assert len(whole.posteriors) == 1
    assert all(isinstance(q, np.ndarray) for q in chunked.posteriors)  # off the device between passes
    same_fit(chunked, whole, rtol=1e-11)


def test_deterministic(forty, whole):
    again = fit_mixture(forty)
    np.testing.assert_array_equal(again.trace, whole.trace)
    for x, y in zip(again.params, whole.params, strict=True):
        np.testing.assert_array_equal(x, y)


def test_single_precision_agrees(forty, whole):
    single = fit_mixture(forty, dtype=np.float32)
    assert single.posteriors[0].dtype == np.float32
    assert {np.asarray(x).dtype for x in single.params} == {np.dtype(np.float64)}
    np.testing.assert_allclose(single.trace, whole.trace, rtol=1e-4)
    np.testing.assert_allclose(single.params.a, whole.params.a, atol=1e-3)


TWO_DEVICES = """
import sys
import jax
import numpy as np
from corpora import make_tiny_corpus
import toy_em
from test_em import EIGHT_LANES, fit_mixture
from topicture.corpus.batches import Batches
from topicture.models.em import loop as em

from topicture.models.em import accelerators, passes

assert jax.local_device_count() == 2
corpus = make_tiny_corpus(np.random.default_rng(3), n_images=40)
mixture = fit_mixture(corpus, max_iter=4, **dict(EIGHT_LANES))
assert passes.run_pass._cache_size() == 1, "posteriors of the pass's own compile it once more"
assert len(mixture.posteriors[0].sharding.device_set) == 2
batches = Batches(toy_em.make_corpus(), toy_em.MODEL.views, **EIGHT_LANES)
_, stats, bound = em.e_step(toy_em.MODEL, batches, toy_em.Params(1.5), [None])

# The same devices as if they were accelerators: chunks in turn, kept there or sent every time.
bits = []
passes.on_cpu = em.on_cpu = lambda: False
for accelerators.free_bytes in (lambda device: 1 << 40, lambda device: 12_000, lambda device: 0):
    result = fit_mixture(corpus, max_iter=4, chunk_images=8)
    assert len(result.posteriors) == 5
    stay = [isinstance(q, jax.Array) for q in result.posteriors]
    bits.append((stay.count(True), result.trace.tobytes()))
    assert all(q.devices() == {jax.devices()[i % 2]} for i, q in enumerate(result.posteriors) if stay[i])
np.testing.assert_allclose(result.trace, mixture.trace, rtol=1e-12)
assert len({trace for _, trace in bits}) == 1
assert [n for n, _ in bits][::2] == [5, 0] and 0 < bits[1][0] < 5, bits
np.savez(sys.argv[1], trace=mixture.trace, bound=bound, **mixture.params._asdict(), **stats._asdict())
"""
EIGHT_LANES = {"block_images": lambda sizes: 2, "multiple": passes.LANES}


def test_two_devices_give_the_same_bits_and_compile_once(forty, tmp_path):
    here = Path(__file__).parent
    environment = {
        **os.environ,
        # What is compiled otherwise differs in the last bit.
        "XLA_FLAGS": os.environ["XLA_FLAGS"] + " --xla_force_host_platform_device_count=2",
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES, str(tmp_path / "two.npz")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    two = np.load(tmp_path / "two.npz")
    one = fit_mixture(forty, max_iter=4, **EIGHT_LANES)
    batches = Batches(toy_em.make_corpus(), toy_em.MODEL.views, **EIGHT_LANES)
    _, stats, bound = em.e_step(toy_em.MODEL, batches, Params(1.5), [None])
    expected = {"trace": one.trace, "bound": bound, **one.params._asdict(), **stats._asdict()}
    assert set(expected) == set(two.files)
    for name, value in expected.items():
        np.testing.assert_array_equal(two[name], value, err_msg=name)


# --- Compilations ----------------------------------------------------------------------------------------------------

COMPILED = (
    passes.tables,
    passes.init_posterior,
    passes.run_pass,
    passes.m_step,
    passes.log_prior,
    mapping._map,
)


def n_compiled():
    return np.array([fn._cache_size() for fn in COMPILED])


def test_a_second_fit_of_the_same_shapes_compiles_nothing(forty):
    fit_mixture(forty, max_iter=2)
    before = n_compiled()
    other = make_tiny_corpus(np.random.default_rng(8), n_images=38)
    fit_mixture(other, max_iter=3)
    np.testing.assert_array_equal(n_compiled(), before)


def test_folds_share_their_compilations():
    """Each lacks other images, of other sizes, and the last ones are a few more."""
    corpus = make_tiny_corpus(np.random.default_rng(4), n_images=203)
    fold_of = np.random.default_rng(5).permutation(np.arange(203) % 5)
    counts = []
    for fold in range(5):
        fit_mixture(corpus[fold_of != fold], max_iter=1, multiple=passes.LANES)
        counts.append(n_compiled())
    np.testing.assert_array_equal(counts[-1], counts[0])


def test_restarts_and_iterations_share_one_compilation():
    corpus = toy_em.make_corpus(17)
    before = n_compiled()
    fit(corpus=corpus, max_iter=3)
    first = n_compiled() - before
    fit(Prior(precision=7.0, rate=0.1), mu=3.0, corpus=corpus, max_iter=9)
    np.testing.assert_array_equal(n_compiled() - before, first)
    assert (first <= 1).all()


def test_thirty_corpora_compile_a_few_times():
    rng = np.random.default_rng(0)
    before = n_compiled()
    for seed in range(30):
        fit(corpus=toy_em.make_corpus(int(rng.integers(1, 250)), seed), max_iter=1)
    compiled = n_compiled() - before
    assert compiled[COMPILED.index(passes.run_pass)] <= 12
    assert compiled[COMPILED.index(passes.m_step)] <= 1


def test_warnings_only_where_something_went_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(max_iter=3)
        fit(max_iter=100)
