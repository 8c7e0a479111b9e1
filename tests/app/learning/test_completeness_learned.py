"""Answers about left-out words tell how complete tags are where models were asked about the photo as well."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from topicture.annotations.choice.presence import cross_fitted
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.completeness import ENOUGH, Completeness, left_out
from topicture.annotations.shift.how_complete import fit_completeness
from topicture.app.learning import calibrating
from topicture.app.learning.calibrating import EM_STEPS, FEWEST_QUESTIONS, _completed, trust, with_omissions
from topicture.app.learning.training_tags import TrainingTags
from topicture.corpus import Corpus, Vocabulary

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


def test_where_captions_have_hardly_a_word_answers_still_teach(rng):
    """All that was given is hidden together, so nothing tells the rest of it: captions are not completed."""
    kind = np.arange(120) % V
    captioned, given = np.arange(120) < 40, np.zeros((120, V), bool)
    given[:2, 0] = True
    asked = captioned[:, None] & ~given
    truth = given | np.eye(V, dtype=bool)[kind]
    known = np.ones_like(given)
    tags = TrainingTags(
        [], Vocabulary(list("abcd")), [], truth, known, known & ~truth, captioned, given, asked, ()
    )
    corpus = Corpus.from_arrays(truth.astype(float), list("abcd"), descriptor=np.eye(V)[kind])
    groups = np.where(given.any(axis=1), 0, np.arange(120))
    found = with_omissions(corpus, tags, np.arange(120), ["one"] * 120, groups, 0)
    assert found.corpus is corpus
    p = 0.1 + 0.6 * np.eye(V)[kind]
    fold_of = np.where(given.any(axis=1), 0, np.arange(120) % 3)
    assert trust(corpus, tags, np.arange(120), HeldOut(p, fold_of), None, None).completeness is None


# --- Completed targets ----------------------------------------------------------------------------------------------


def half_left_out(rng, n_answers=200, **others):
    """Tags of 400 photos of which half were left out, the first 30 of them without a caption, and answers."""
    p = rng.dirichlet(np.full(V, 0.5), 400)
    true = rng.random(p.shape) < np.clip(1.5 * p, 0, 0.95)
    captioned = np.arange(400) >= 30
    given = true & (rng.random(p.shape) < 0.5) & captioned[:, None]
    asked = np.zeros_like(given)
    asked[tuple(rng.permutation(np.argwhere(~given & captioned[:, None]))[:n_answers].T)] = True
    corpus = Corpus.from_arrays(given.astype(float), list("abcd"), descriptor=p)
    known = np.repeat(captioned[:, None], V, axis=1)
    said = given | (asked & true)
    tags = TrainingTags(
        [], corpus.vocabulary, [], said, known, asked & ~true, captioned, given, asked, (), **others
    )
    return tags, HeldOut(p, np.arange(400) % 3), true


def test_answers_are_compared_with_what_both_models_told_and_count_by_what_they_stand_for(rng, monkeypatch):
    lots = sparse.csr_array(rng.uniform(1, 9, (400, V)))
    tags, near, _ = half_left_out(rng, lots=lots)
    first = HeldOut(rng.dirichlet(np.ones(V), 400), near.fold_of)
    told = []

    def noted(m, given, asked):
        told.append((m, asked))
        return fit_completeness(m, given, asked)

    monkeypatch.setattr(calibrating, "fit_completeness", noted)
    _completed(tags, np.arange(400), near, first, 0)
    ((m, asked),) = told
    own, every = tags.captioned, np.ones((370, V), bool)
    both = cross_fitted((near.p + first.p)[own] / 2, tags.given[own], every, near.fold_of[own])
    np.testing.assert_allclose(m, np.clip(both, 1e-6, 1 - 1e-6))
    row, word = np.nonzero(tags.asked)
    np.testing.assert_array_equal(asked.row + 30, row)
    np.testing.assert_array_equal(asked.yes, tags.truth[row, word])
    np.testing.assert_allclose(asked.weight, lots.toarray()[row, word])


def test_what_was_left_out_is_found_by_turns_and_answers_stay_what_they_are(rng, monkeypatch):
    """Presence is fitted to what is thought true, that by presence; words that were taken back make others doubtful."""
    tags, near, true = half_left_out(rng, taken_back=20)
    fitted, shares = [], []

    def noted(p, targets, *others, **more):
        fitted.append(targets)
        return cross_fitted(p, targets, *others, **more)

    def noted_share(p, c, e):
        shares.append(c)
        return left_out(p, c, e)

    monkeypatch.setattr(calibrating, "cross_fitted", noted)
    monkeypatch.setattr(calibrating, "left_out", noted_share)
    found, soft = _completed(tags, np.arange(400), near, None, 0)
    own, answered = tags.captioned, (tags.asked | tags.rejected)
    assert len(fitted) == 1 + EM_STEPS  # the first to what was given
    for targets in (*fitted[1:], soft[own]):
        np.testing.assert_array_equal(targets[answered[own]], true[answered])
    for c in shares:
        np.testing.assert_allclose(c, found.of_photos(tags.given[own].sum(axis=1)))
    open_ = own[:, None] & ~tags.given & ~answered
    assert soft[open_].sum() == pytest.approx(true[open_].sum(), rel=0.25)
    sure = _completed(replace(tags, taken_back=0), np.arange(400), near, None, 0)[1]
    assert 0.5 < soft[tags.given].mean() < sure[tags.given].mean() - 0.003
    np.testing.assert_array_equal(soft[~own], tags.truth[~own])


def test_what_answers_have_found_is_in_captions_as_well(rng):
    """c is 1 / (1 + kappa) of what was given, and more with the words that were found."""
    tags, near, _ = half_left_out(rng)
    corpus = Corpus.from_arrays(tags.truth.astype(float), list("abcd"), descriptor=near.p)
    every, groups = np.arange(400), np.arange(400)
    shares = with_omissions(corpus, tags, every, ["one"] * 400, groups, 0).corpus.completeness
    told = with_omissions(corpus, tags, every, ["one"] * 400, groups, 0).told
    odds = _completed(tags, every, told, None, 0)[0].odds
    n_given, n_found = tags.given.sum(axis=0), (tags.truth & ~tags.given).sum(axis=0)
    np.testing.assert_allclose(shares, (n_given + n_found + 0.5) / (n_given + 0.5) / (1 + odds))
    assert n_found.min() > 3


@pytest.mark.parametrize("n_answers", [30, 200])
def test_few_answers_vouch_for_less_than_they_tell(rng, monkeypatch, n_answers):
    """What is accepted unseen is read from bounds; promises, and what judges them, stay as they are."""
    tags, near, _ = half_left_out(rng, n_answers)
    corpus = Corpus.from_arrays(tags.given.astype(float), list("abcd"), descriptor=near.p)
    found = trust(corpus, tags, np.arange(400), near, None, None)
    monkeypatch.setattr(Completeness, "counted_on", lambda self, rho: rho)
    told = trust(corpus, tags, np.arange(400), near, None, None)
    np.testing.assert_array_equal(found.judged.truth, told.judged.truth)
    np.testing.assert_array_equal(found.pairs.presence, told.pairs.presence)
    sure = (told.pairs.truth == 0) | (told.pairs.truth == 1)
    np.testing.assert_array_equal(found.pairs.truth[sure], told.pairs.truth[sure])
    less = found.pairs.truth[~sure] < told.pairs.truth[~sure] - 1e-9
    assert sure.sum() > n_answers / 2
    assert less.all() if n_answers < ENOUGH else not less.any()
    assert found.completeness.log_deviation > 0
