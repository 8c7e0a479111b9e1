"""Whoever wants to understand one EM iteration of Corr-LDA reads at most five files."""

import sys
from pathlib import Path

import numpy as np
from region_models import images

import topicture.models
from topicture.models.em import loop as em
from topicture.models.regions.corr_lda import CorrLDA

MODELS = Path(topicture.models.__file__).parent
READ = {"em/loop.py", "em/passes.py", "em/expfam.py", "regions/corr_lda.py", "regions/gaussian_lda.py"}


def files_run(work):
    """Files of topicture.models with a function that runs, functions that JAX traces included.

    It traces what it has not traced before: the numbers of topics here are used by no other test. (Clearing its caches
    would have all later tests of this process compile everything again.)
    """
    files = set()

    def note(frame, event, argument):
        files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return {str(Path(f).relative_to(MODELS)) for f in files if Path(f).is_relative_to(MODELS)}


def test_one_iteration_of_corr_lda_is_read_in_five_files(rng):
    corpus = images(rng, 8)
    annotator = CorrLDA(7)
    annotator._floor = np.full(corpus.regions.shape[1], 1e-6)
    model, prior, batches = annotator._model(), annotator._prior(), annotator._batches(corpus)
    start = annotator._start(corpus, rng)
    assert files_run(lambda: em.fit(model, batches, start, prior, max_iter=1)) == READ


def test_what_runs_is_noticed(rng):
    assert files_run(lambda: CorrLDA(6, max_iter=1, n_init=1).fit(images(rng, 8))) > READ
