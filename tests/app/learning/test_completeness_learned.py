"""Answers about left-out words tell how complete tags are where models were asked about the photo as well."""

import numpy as np
import pytest

from topicture.annotations.choice.trials import HeldOut
from topicture.app.learning.calibrating import FEWEST_QUESTIONS, trust, with_omissions
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


@pytest.mark.parametrize("view", ["descriptor", "visual_words"])
@pytest.mark.parametrize(("n_asked", "is_told"), [(80, True), (FEWEST_QUESTIONS - 1, False)])
def test_models_hear_how_complete_captions_are_once_enough_was_answered(rng, view, n_asked, is_told):
    """Half of the words were left out; what was said no to is not thought left out."""
    kind = np.arange(300) % V
    true = np.eye(V, dtype=bool)[kind] | (rng.random((300, V)) < 0.3)
    given = true & (rng.random(true.shape) < 0.5)
    looks = np.eye(V)[kind] + rng.uniform(0, 0.3, (300, V))
    corpus = Corpus.from_arrays(given.astype(float), list("abcd"), **{view: looks})
    captioned = given.any(axis=1)
    pairs = np.argwhere(~given & captioned[:, None])
    asked = np.zeros_like(given)
    asked[tuple(rng.permutation(pairs)[:n_asked].T)] = True
    rejected = asked & ~true
    tags = TrainingTags(
        [],
        corpus.vocabulary,
        [],
        given | (asked & true),
        given | captioned[:, None],
        rejected,
        captioned,
        given,
        asked,
        (),
    )
    places = [f"shoot {number % 7}" for number in range(300)]
    found = with_omissions(corpus, tags, np.arange(300), places, np.arange(300), 0)
    assert (found.corpus.completeness is not None) == is_told
    if not is_told:
        assert found.corpus is corpus
        assert found.told is None
        return
    share = given.sum() / true[captioned].sum()
    assert found.corpus.completeness.mean() == pytest.approx(share, abs=0.15)
    np.testing.assert_array_equal(found.corpus.answers.toarray() < 0, rejected)
    assert len(set(found.corpus.places)) == 7
    assert found.told.p.shape == given.shape


def test_photos_whose_words_are_all_rare_are_compared_by_what_both_models_tell(rng):
    """They have a caption and no word of the vocabulary: models are asked about them as about untagged photos."""
    kind = np.arange(200) % V
    given = np.eye(V, dtype=bool)[kind]
    given[-20:] = False
    corpus = Corpus.from_arrays(given.astype(float), list("abcd"), descriptor=np.eye(V)[kind])
    asked = np.zeros_like(given)
    asked[:60, 0] = ~given[:60, 0]
    every = np.ones(given.shape, bool)
    tags = TrainingTags(
        [], corpus.vocabulary, [], given, every, asked, every[:, 0], given, asked, too_rare=()
    )
    found = with_omissions(corpus, tags, np.arange(200), ["one"] * 200, np.arange(200), 0)
    np.testing.assert_allclose(found.told.p.sum(axis=1), 1.0)
    # Nor do rejections on such photos make answered ones of them.
    every_no = TrainingTags(
        [], corpus.vocabulary, [], given, every, ~given, every[:, 0], given, asked, too_rare=()
    )
    assert not every_no.denying(corpus, np.arange(200)).answered.any()


def test_what_was_rejected_where_accepted_words_are_captions_is_not_left_out(rng):
    given = rng.random((40, V)) < 0.5
    corpus = Corpus.from_arrays(given.astype(float), list("abcd"))
    none = np.zeros_like(given)
    tags = TrainingTags([], corpus.vocabulary, [], given, ~none, ~given, none[:, 0], none, none, too_rare=())
    answers = tags.denying(corpus, np.arange(40)).answers.toarray()
    np.testing.assert_array_equal(answers < 0, ~given & corpus.tagged[:, None])
