"""A fit that begins with stochastic steps: progress of both parts, and interrupts that keep what was learned."""

import math

import numpy as np
import pytest

from topicture.errors import FitWarning
from topicture.models.counts import link_lda
from topicture.models.counts.link_lda import LinkLDA
from topicture.models.em import loop as em
from topicture.models.em import passes, stochastic

SETTINGS = {"n_init": 2, "n_epochs": 3, "max_iter": 4, "tol": 0.0, "batch_size": 16}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    B, Phi = rng.dirichlet(np.full(12, 0.2), 3), rng.dirichlet(np.full(6, 0.3), 3)
    return link_lda.sample(rng, np.full(3, 0.2), B, Phi, 40, 20, 3)


def interrupting(n_calls):
    """A callback that presses Ctrl-C at its n-th call, and what it was told."""
    told = []

    def callback(progress):
        told.append(progress)
        if len(told) == n_calls:
            raise KeyboardInterrupt

    return callback, told


def test_a_callback_hears_of_epochs_and_passes_as_one_count(corpus):
    told = []
    LinkLDA(3, **SETTINGS).fit(corpus, callback=told.append)
    first = [p for p in told if p.restart == 0]
    assert [p.iteration for p in first] == list(range(3 + 5))  # the objective is known before the first pass
    assert {(p.max_iter, p.n_restarts) for p in told} == {(7, 2)}
    assert [math.isnan(p.objective) for p in first] == [True] * 3 + [False] * 5
    assert {p.restart for p in told} == {0, 1}


def test_whole_epochs_are_the_same_as_steps_in_one_go(corpus):
    model = LinkLDA(3, **{**SETTINGS, "n_init": 1, "max_iter": 0}).fit(corpus)
    (seed,) = np.random.SeedSequence(0).spawn(1)
    rng = np.random.default_rng(seed)
    at_once = em.fit_stochastic(
        model._first_model(),
        model._minibatches(model_order(corpus)),
        model._start(model_order(corpus), rng),
        None,
        n_epochs=3,
        rng=rng,
        tau0=model.tau0,
        kappa=model.kappa,
    )
    np.testing.assert_allclose(model.params_.rB, at_once.rB, rtol=1e-9)


def model_order(corpus):
    """Models see images sorted by id."""
    return corpus[np.argsort(corpus.image_ids)]


def test_an_interrupt_between_steps_keeps_the_whole_epochs(corpus):
    callback, _ = interrupting(3)
    with pytest.warns(FitWarning, match="after 3 epochs: interrupted"):
        stopped = LinkLDA(3, **SETTINGS).fit(corpus, callback=callback)
    assert stopped.result_ == em.Results.interrupted.value
    assert (len(stopped.restarts_), stopped.n_iter_) == (1, 0)
    assert np.isfinite(stopped.objective_trace_).all()
    np.testing.assert_allclose(stopped.annotate(corpus).sum(axis=1), 1)


def test_an_interrupt_in_a_later_restart_keeps_the_best(corpus):
    callback, told = interrupting(9)
    with pytest.warns(FitWarning, match="after 1 epochs"):
        stopped = LinkLDA(3, **SETTINGS).fit(corpus, callback=callback)
    assert told[-1].restart == 1
    assert stopped.result_ == em.Results.interrupted.value
    assert stopped.objective_trace_[-1] == stopped.restarts_.max()
    assert stopped.n_iter_ == 4  # the first restart, which was whole


def test_an_interrupt_before_anything_is_learned_is_passed_on(corpus, monkeypatch):
    def pressed(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(em, "fit_stochastic", pressed)
    with pytest.raises(KeyboardInterrupt):
        LinkLDA(3, **SETTINGS).fit(corpus)


def test_steps_alone_over_few_images_end_where_a_fit_that_compiles_more_does(corpus, monkeypatch):
    """The pass that tells the objective may share the chunks and the code of the steps; nothing else changes."""
    settings = {**SETTINGS, "max_iter": 0}
    told: dict[str, list] = {"shared": [], "apart": []}
    shared = LinkLDA(3, **settings).fit(corpus, callback=told["shared"].append)
    monkeypatch.setattr(stochastic, "_FEW_IMAGES", 2 * 3 * len(corpus) - 1)
    apart = LinkLDA(3, **settings).fit(corpus, callback=told["apart"].append)
    for name, a, b in zip(shared.params_._fields, shared.params_, apart.params_, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
    np.testing.assert_allclose(shared.objective_trace_, apart.objective_trace_, rtol=1e-12)
    np.testing.assert_allclose(shared.restarts_, apart.restarts_, rtol=1e-12)
    assert [p[:4] for p in told["shared"]] == [p[:4] for p in told["apart"]]


@pytest.mark.parametrize(("n_images", "n_passes"), [(240, 1), (239, 2)], ids=["few images", "more"])
def test_only_over_few_images_do_steps_alone_share_the_pass_with_their_bounds(
    corpus, monkeypatch, n_images, n_passes
):
    """2 restarts of 3 epochs over 40 images; counted by the models whose passes run."""
    models = set()
    run_pass = passes.run_pass
    monkeypatch.setattr(stochastic, "_FEW_IMAGES", n_images)
    monkeypatch.setattr(
        passes, "run_pass", lambda model, *rest: (models.add(model), run_pass(model, *rest))[1]
    )
    LinkLDA(3, **{**SETTINGS, "max_iter": 0}).fit(corpus)
    assert len(models) == n_passes
