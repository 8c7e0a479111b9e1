"""What is told about a blend is what a choice made on other captions is worth."""

import numpy as np
import pytest
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.blends.blend import nats_by_word
from topicture.models.blends.choice import choose_blend, judge_choice, word_frequencies_of_folds


@pytest.fixture
def useless(rng):
    """Ten members that guess: answers (n, V) without any relation to the captions of 60 images."""
    captions = sparse.csr_array(np.eye(6)[rng.integers(0, 6, 60)])
    members = [rng.dirichlet(np.full(6, 0.5), 60) for _ in range(10)]
    return members, np.full((60, 6), 1 / 6), captions, np.arange(60) % 3


def test_members_that_guess_are_not_told_to_help(useless):
    members, p_w, captions, fold_of = useless
    choice = choose_blend(members, p_w, captions, fold_of)
    chance = nats_by_word(p_w, captions)
    by_heart = nats_by_word(choice(members, p_w), captions)
    told = nats_by_word(judge_choice(members, p_w, captions, fold_of).answers, captions)
    assert by_heart < chance  # some of ten always seem to help
    assert told > chance


def test_captions_of_a_fold_take_no_part_in_its_answers(useless, rng):
    """Backgrounds, members and weights for a fold are the same whatever its captions are."""
    members, p_w, captions, fold_of = useless
    changed = captions.toarray()
    changed[fold_of == 1] = np.eye(6)[rng.integers(0, 6, 20)]
    before, after = (
        judge_choice(members, p_w, sparse.csr_array(y), fold_of) for y in (captions.toarray(), changed)
    )
    np.testing.assert_array_equal(before.answers[fold_of == 1], after.answers[fold_of == 1])
    np.testing.assert_array_equal(before.alone[0][fold_of == 1], after.alone[0][fold_of == 1])
    assert (before.answers[fold_of != 1] != after.answers[fold_of != 1]).any()


def test_a_member_that_knows_is_kept(useless):
    members, p_w, captions, fold_of = useless
    knows = 0.5 * captions.toarray() + 0.5 / 6
    choice = choose_blend([members[0], knows], p_w, captions, fold_of)
    assert choice.kept == [1]
    judged = judge_choice([members[0], knows], p_w, captions, fold_of)
    assert nats_by_word(judged.answers, captions) < 0.1
    np.testing.assert_array_equal(judged.answers, judged.alone[1])


def test_frequencies_leave_the_fold_out_but_know_the_vocabulary():
    """A word of the vocabulary is somewhere: a fold without it says no more than that."""
    captions = np.repeat(np.eye(3), [6, 2, 2], axis=0)
    fold_of = np.array([0, 0, 0, 1, 1, -1, 0, 1, 0, 0])
    p_w = word_frequencies_of_folds(Corpus.from_arrays(captions=captions), fold_of)
    np.testing.assert_allclose(p_w[0], np.array([3.5, 1.5, 1.5]) / 6.5)  # counted: 3, 1 and 0
    np.testing.assert_allclose(p_w[1], np.array([4.5, 1.5, 2.5]) / 8.5)  # counted: 4, 1 and 2
