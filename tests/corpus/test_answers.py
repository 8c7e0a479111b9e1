"""Single answers in a corpus: known yes, known no, the rest unknown."""

import numpy as np
import pytest
from corpora import make_tiny_corpus

from topicture.corpus import Corpus
from topicture.corpus.digests import corpus_digest, views_digest
from topicture.errors import CorpusError
from topicture.models.empirical import word_frequencies
from topicture.models.folds import folds_of


@pytest.fixture
def answered(rng):
    """Images 8 to 11 have no caption; of 9, 10 and 11 something was asked, and of the captioned image 3."""
    answers = np.zeros((12, 6))
    answers[9, 0], answers[9, 2], answers[10, 0], answers[11, 5], answers[3, 4] = 1, -1, -1, 1, -1
    return make_tiny_corpus(rng).with_answers(answers)


def test_an_answer_is_no_caption(answered):
    assert not answered.tagged[8:].any()
    assert answered.answered.tolist() == [False] * 9 + [True] * 3
    assert (answered.taught == (answered.tagged | answered.answered)).all()
    assert "3 answered" in repr(answered)
    assert answered.n_with_words == answered.tagged.sum() + 2  # of the three, one got a no alone


def test_answers_go_with_their_images(answered):
    rows = [11, 3, 9]
    np.testing.assert_array_equal(answered[rows].answers.toarray(), answered.answers.toarray()[rows])
    assert answered[:3].answers is None  # nobody was asked
    both = Corpus.concat([answered[:3], answered[8:]])
    np.testing.assert_array_equal(both.answers.toarray()[3:], answered.answers.toarray()[8:])
    assert not both.answers.toarray()[:3].any()


def test_what_is_hidden_is_hidden_with_its_answers(answered):
    hidden = np.isin(np.arange(12), [3, 9])
    left = answered.without_captions(hidden)
    assert not left.answers.toarray()[hidden].any()
    np.testing.assert_array_equal(left.answers.toarray()[~hidden], answered.answers.toarray()[~hidden])
    assert answered.without_captions().answers is None
    assert answered.without_captions() == answered.without_answers().without_captions()


def test_answers_are_saved_and_read(answered, tmp_path):
    answered.save(tmp_path / "corpus")
    for mmap in (True, False):
        assert Corpus.load(tmp_path / "corpus", mmap=mmap) == answered
    assert answered != answered.without_answers()


def test_without_answers_nothing_is_written_or_digested(rng, tmp_path):
    plain = make_tiny_corpus(rng)
    plain.save(tmp_path / "corpus")
    assert not list((tmp_path / "corpus").glob("answers*"))
    assert plain.with_answers(np.zeros((12, 6))).answers is None
    assert plain.answers_as_captions() is plain


def test_digests_tell_answers_apart(answered):
    plain = answered.without_answers()
    other = plain.with_answers(-answered.answers)
    assert views_digest(plain) == views_digest(answered)
    assert len({corpus_digest(corpus) for corpus in (plain, answered, other)}) == 3


@pytest.mark.parametrize("wrong", [2.0, 0.5, np.nan])
def test_an_answer_is_yes_or_no(rng, wrong):
    answers = np.zeros((12, 6))
    answers[4, 1] = wrong
    with pytest.raises(CorpusError, match="answers: image 'image000004', 'sea'"):
        make_tiny_corpus(rng).with_answers(answers)


def test_answers_must_fit(rng):
    with pytest.raises(CorpusError, match=r"answers: .* 12 images and 6 words"):
        make_tiny_corpus(rng).with_answers(np.ones((12, 5)))


def test_a_yes_is_a_caption_to_models_that_know_no_answers(answered):
    as_captions = answered.answers_as_captions()
    assert as_captions.answers is None
    captions = as_captions.captions.toarray()
    np.testing.assert_array_equal(captions[:9], answered.captions.toarray()[:9])
    np.testing.assert_array_equal(captions[9:], np.maximum(answered.answers.toarray()[9:], 0))
    np.testing.assert_array_equal(word_frequencies(answered), word_frequencies(as_captions))


def test_answered_images_have_a_fold_and_tagged_ones_keep_theirs(answered):
    plain = answered.without_answers()
    before, after = (folds_of(corpus, 3, groups=np.arange(12)) for corpus in (plain, answered))
    np.testing.assert_array_equal(after[answered.tagged], before[answered.tagged])
    assert (after[answered.answered] >= 0).all()
    assert after[8] == -1  # nobody said anything about it


def test_an_answered_near_copy_is_hidden_with_what_it_is_a_copy_of(answered):
    groups = np.arange(12)
    groups[[9, 11]] = groups[4]
    for seed in range(5):
        fold_of = folds_of(answered, 3, seed=seed, groups=groups)
        assert fold_of[9] == fold_of[11] == fold_of[4]
