"""Ctrl-C while something is tried: the trial ends, nothing is told of a model that was half learned."""

import numpy as np
import pytest
from topicture_experiments.shared.running import spread

from topicture.annotations import teaching
from topicture.annotations.choice import quality_curves
from topicture.annotations.choice.choose import choose
from topicture.annotations.choice.refitting import LikeBlend
from topicture.annotations.choice.trials import held_out
from topicture.annotations.measures.protocols import random_splits, run_experiment
from topicture.app.learning.choosing import fit as fit_for_learn
from topicture.app.progress import silent
from topicture.corpus import Corpus
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.em import loop as em

SMALL = {"n_topics": 3, "n_init": 1, "max_iter": 4}


def make():
    return MixUnigram(**SMALL)


def corpus_of(n_images=30):
    rng = np.random.default_rng(0)
    return Corpus.from_arrays(
        captions=np.eye(4)[rng.integers(0, 4, n_images)],
        vocabulary=list("abcd"),
        visual_words=rng.poisson(0.8, (n_images, 9)),
    )


CALLERS = {
    "choose": lambda corpus: choose("mix-unigram", corpus, {"eta_words": [0.1]}, **SMALL),
    "held out": lambda corpus: held_out(make, corpus),
    "blend": lambda corpus: LikeBlend([make()], seed=0).fit(corpus),
    "quality": lambda corpus: quality_curves.learning_curve(make, corpus, n_draws=1),
    "teaching": lambda corpus: teaching.learning_curve(
        make, corpus, corpus, "random", start=5, step=5, stop=10, seed=0
    ),
    "experiment": lambda corpus: run_experiment(make, random_splits(corpus, 0.5)),
    "report": lambda corpus: list(spread(lambda task: make().fit(corpus).n_iter_, [0], 1)),
    "learn": lambda corpus: fit_for_learn("mix-unigram", corpus, "Learning", silent),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("at", [2, 3])
def test_an_interrupt_ends_the_caller(caller, at, monkeypatch):
    run, n_passes = em.LocalShards.run, 0

    def interrupted(*args):
        nonlocal n_passes
        n_passes += 1
        if n_passes == at:
            raise KeyboardInterrupt
        return run(*args)

    monkeypatch.setattr(em.LocalShards, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CALLERS[caller](corpus_of())
    assert n_passes == at
