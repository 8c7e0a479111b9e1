"""Whole groups of hidden tags: what was answered then is taken over as long as the same groups are hidden."""

import numpy as np
import pytest

from topicture.annotations.choice.presence import JudgedPairs, fit_presence
from topicture.annotations.shift.answered import Answered
from topicture.annotations.shift.calibration import Calibration
from topicture.annotations.shift.denials import Denials
from topicture.app.learning.calibrating import Trusted, without_promises
from topicture.app.learning.choosing import choose_and_fit
from topicture.corpus import Corpus
from topicture.models.blends import auto
from topicture.models.blends.again import Again
from topicture.models.blends.members import FormerRow, members_for

N, N_TAGGED = 120, 80


@pytest.fixture
def everything(monkeypatch):
    monkeypatch.setattr(auto, "members_for", lambda corpus, _: members_for(corpus, ["knn", "naive-bayes"]))
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 4, N)
    return Corpus.from_arrays(
        captions=np.eye(5)[kind] + (rng.random((N, 5)) < 0.1),
        vocabulary=list("abcde"),
        visual_words=rng.poisson(0.3 + 1.0 * (kind[:, None] == np.arange(12) // 3)),
        descriptor=np.eye(4)[kind] + 0.6 * rng.normal(size=(N, 4)),
        image_ids=[f"{i:03d}" for i in range(N)],
    )


def chosen(everything, n, far_groups, former=None, again=None):
    """What is learned from the first n photos, and whether groups were hidden for it."""
    stages = []
    found = choose_and_fit(
        everything.without_captions(np.arange(N) >= n),
        "auto",
        np.zeros(N, bool),
        groups=np.arange(N),
        far_groups=far_groups,
        budget_seconds=1e6,
        seed=0,
        report=lambda stage, done, total: stages.append(stage),
        former=former,
        again=again,
    )
    return found, "Hiding whole groups of tags" in stages


@pytest.fixture
def first(everything):
    found, hidden = chosen(everything, N_TAGGED, np.arange(N) // 4)
    assert hidden
    rows = [FormerRow(r.member, r.settings, r.weight, r.note) for r in found.annotator.report_]
    return found, rows, Again(found.annotator.used(), found.known)


def test_answers_with_groups_hidden_are_taken_over(everything, first):
    before, rows, again = first
    groups = np.arange(N) // 4
    groups[81] = groups[0]  # of a group that was learned from
    found, hidden = chosen(everything, 88, groups, rows, again)
    assert found.annotator.went_on_
    assert not hidden
    fold_of, then = (np.full(N, -1) for _ in range(2))
    fold_of[found.far_scores.rows] = found.far_scores.fold_of
    then[before.far_scores.rows] = before.far_scores.fold_of
    np.testing.assert_array_equal(fold_of[:N_TAGGED], then[:N_TAGGED])
    assert fold_of[81] == -1
    assert (fold_of[[80, 82, 83, 84, 85, 86, 87]] >= 0).all()
    assert len(set(fold_of[[80, 82, 83]])) == len(set(fold_of[84:88])) == 1
    inside = found.far_scores.fold_of >= 0
    np.testing.assert_allclose(found.far_scores.p[inside].sum(axis=1), 1)


def test_other_groups_are_hidden_anew(everything, first):
    _, rows, again = first
    found, hidden = chosen(everything, 88, np.arange(N) % 9, rows, again)
    assert found.annotator.went_on_
    assert hidden
    assert found.known.far is not None


def test_words_that_nobody_was_asked_about_promise_little():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.3), 200)
    p[:, 3] = 0.02  # said of all photos, and truer than the others at that
    truth = rng.random((200, 4)) < np.minimum(p * [1, 1, 1, 10], 1)
    presence = fit_presence(p, truth, np.ones_like(truth))
    assert presence.offsets[3] > 0
    blank = Denials(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0))
    calibration = Calibration(presence, presence, None, np.zeros(0), blank, Answered.nothing(4))
    pairs = JudgedPairs.of(presence(p), truth, np.ones_like(truth))
    found = without_promises(Trusted(calibration, pairs, pairs, None), np.array([3]))
    for one in (found.calibration.near, found.calibration.far):
        assert one.offsets[3] == 0
        np.testing.assert_array_equal(one.offsets[:3], presence.offsets[:3])
    assert set(found.pairs.word) == {0, 1, 2}
    assert set(found.judged.word) == {0, 1, 2, 3}
