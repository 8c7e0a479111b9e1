"""Ctrl-C: a fit that a person started keeps what it has found, one that serves another ends everything."""

import numpy as np
import pytest

from topicture.corpus import Corpus
from topicture.errors import FitWarning
from topicture.models.blends.auto import Auto
from topicture.models.counts.folded_topics import PLSA
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.counts.plsa_words import PLSAWords
from topicture.models.em import loop as em
from topicture.models.em.loop import Results
from topicture.models.graphs.lap_mix_unigram import LapMixUnigram
from topicture.models.interrupts import all_or_nothing, may_be_kept
from topicture.models.registry import make_annotator
from topicture.models.spaces.iwe import IWE

SMALL = {"n_topics": 3, "n_init": 1, "max_iter": 12, "tol": 0.0}


@pytest.fixture
def passes(monkeypatch):
    """`passes(n)` interrupts the n-th pass from now on, and counts them."""
    counted = {"at": 0, "done": 0}
    run = em.LocalShards.run

    def counting(*args):
        counted["done"] += 1
        if counted["done"] == counted["at"]:
            raise KeyboardInterrupt
        return run(*args)

    def interrupt(at):
        counted.update(at=at, done=0)
        return counted

    monkeypatch.setattr(em.LocalShards, "run", counting)
    return interrupt


# --- What a person started -----------------------------------------------------------------------------------------


def test_a_fit_of_ones_own_keeps_what_it_has(passes, tiny_corpus):
    passes(4)
    with pytest.warns(FitWarning, match="interrupted"):
        model = MixUnigram(**SMALL).fit(tiny_corpus)
    assert model.result_ == Results.interrupted.value
    assert model.n_iter_ == 2


@pytest.mark.parametrize("at", [2, 6])
def test_annealing_ends_at_once_and_tells_the_objective_that_was_asked_for(passes, tiny_corpus, at):
    """Hot stages only prepare: after an interrupt in one there is one pass at the last temperature, no more."""
    settings = {**SMALL, "max_iter": 3, "annealing": 16.0, "temperature": 1.0}
    counted = passes(at)
    with pytest.warns(FitWarning, match="interrupted"):
        model = LapMixUnigram(**settings).fit(tiny_corpus)
    assert counted["done"] == at + 1
    assert model.result_ == Results.interrupted.value
    np.testing.assert_allclose(model.annotate(tiny_corpus).sum(axis=1), 1)
    whole = LapMixUnigram(**{**settings, "max_iter": 0, "annealing": 1.0}).fit(tiny_corpus)
    # Entropy counts for more where it is hot, so an objective from there would be larger than any at the end.
    assert abs(model.objective_trace_[-1] - whole.objective_trace_[0]) < 0.5 * abs(whole.objective_trace_[0])


def test_an_interrupted_start_does_not_beat_a_finished_one_by_its_temperature(passes, tiny_corpus):
    settings = {**SMALL, "max_iter": 3, "annealing": 1e6, "temperature": 1.0}
    finished = LapMixUnigram(**settings).fit(tiny_corpus)
    counted = passes(0)
    LapMixUnigram(**settings).fit(tiny_corpus)
    passes(counted["done"] + 3)
    with pytest.warns(FitWarning, match="interrupted"):
        model = LapMixUnigram(**{**settings, "n_init": 2}).fit(tiny_corpus)
    assert model.result_ == Results.interrupted.value
    np.testing.assert_array_equal(model.restarts_[0], finished.restarts_[0])
    assert model.objective_trace_[-1] < 0.9 * model.annealing


@pytest.mark.parametrize("stage", ["words", "visual words"])
def test_plsa_words_says_so_whichever_stage_was_interrupted(passes, tiny_corpus, stage):
    counted = passes(3 if stage == "words" else SMALL["max_iter"] + 4)
    with pytest.warns(FitWarning, match="interrupted"):
        model = PLSAWords(**SMALL).fit(tiny_corpus)
    assert model.result_ == Results.interrupted.value
    assert counted["done"] == counted["at"] + (2 if stage == "words" else 0)
    np.testing.assert_allclose(model.annotate(tiny_corpus).sum(axis=1), 1)


# --- What serves another ---------------------------------------------------------------------------------------------


NESTED = {
    "early stopping of plsa": lambda: PLSA(**SMALL, fold_steps="held-out"),
    "early stopping of plsa-words": lambda: PLSAWords(**SMALL, fold_steps="held-out"),
    "base of iwe": lambda: IWE(MixUnigram(**SMALL), n_init=1, max_iter=2),
    "validation of iwe": lambda: IWE(MixUnigram(**SMALL), n_dims="auto", n_init=1, max_iter=2),
    "mix-unigram in auto": lambda: Auto(["naive-bayes", "mix-unigram"]),
    "lap-var1 in auto": lambda: Auto(["lap-var1"]),
}


@pytest.mark.parametrize("nested", NESTED)
def test_nested_fits_end_everything(passes, nested):
    rng = np.random.default_rng(0)
    corpus = Corpus.from_arrays(
        captions=np.eye(4)[rng.integers(0, 4, 40)],
        vocabulary=list("abcd"),
        visual_words=rng.poisson(0.8, (40, 9)),
    )
    model = NESTED[nested]()
    counted = passes(3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(corpus)
    assert counted["done"] == 3
    assert not hasattr(model, "vocabulary_")  # it is not fitted, so nothing can be saved


@pytest.mark.parametrize("name", ["mix-unigram", "link-lda", "lap-em", "emm-margin", "plsa-words"])
def test_inside_all_or_nothing_no_model_keeps_half_a_fit(name, tiny_corpus):
    calls = 0

    def interrupt(progress):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt

    model = make_annotator(name, max_iter=5)
    with all_or_nothing(), pytest.raises(KeyboardInterrupt):
        model.fit(tiny_corpus, callback=interrupt)
    assert not hasattr(model, "vocabulary_")
    assert may_be_kept()


def test_all_or_nothing_nests():
    with all_or_nothing():
        with all_or_nothing():
            assert not may_be_kept()
        assert not may_be_kept()
    assert may_be_kept()
