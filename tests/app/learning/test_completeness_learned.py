"""Answers about left-out words tell how complete tags are where models were asked about the photo as well."""

import numpy as np
import pytest

from topicture.annotations.choice.trials import HeldOut
from topicture.app.learning.calibrating import FEWEST_QUESTIONS, trust
from topicture.app.learning.training_tags import TrainingTags
from topicture.corpus import Corpus

N, V = 120, 4


@pytest.mark.parametrize(("n_scored", "is_told"), [(N, True), (N - 40, False)])
def test_questions_count_where_models_were_asked(rng, n_scored, is_told):
    """The last 40 photos have the answers; of a large collection they may be outside what models were tried on."""
    kind = rng.integers(0, V, N)
    given = np.eye(V, dtype=bool)[kind] | (rng.random((N, V)) < 0.1)
    corpus = Corpus.from_arrays(given.astype(float), list("abcd"), descriptor=np.eye(V)[kind])
    asked = ~given & (np.arange(N) >= N - 40)[:, None]
    assert asked.sum() >= FEWEST_QUESTIONS
    every, none = np.ones((N, V), bool), np.zeros((N, V), bool)
    tags = TrainingTags(
        [], corpus.vocabulary, [], given, every, none, every[:, 0], given, asked, too_rare=(), taken_back=0
    )
    p = np.where(np.arange(N)[:, None] < n_scored, 0.1 + 0.6 * np.eye(V)[kind], 0.0)
    found = trust(corpus, tags, np.arange(N), HeldOut(p, np.arange(N) % 3), None, None)
    assert (found.completeness is not None) == is_told
