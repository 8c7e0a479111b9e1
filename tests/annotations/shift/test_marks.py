"""Tags that mark a few photos each: scores as if untagged, and photos that have none."""

import numpy as np
import pytest
from scipy import sparse

from topicture.annotations.shift import marks as shift_marks
from topicture.annotations.shift.marks import are_marks, fit_marks, fit_marks_apart
from topicture.annotations.shift.ranks import TOP, presence_by_rank
from topicture.models.neighbours import unit_rows


def looks(rng, n_tags=4, n_each=120, n_others=1500, n_columns=12):
    """Photos around a centre per tag, and others anywhere; which of them have which tag."""
    centres = rng.normal(0, 1, (n_tags, n_columns))
    kind = np.repeat(np.arange(n_tags), n_each)
    rows = np.vstack(
        [centres[kind] + rng.normal(0, 0.45, (len(kind), n_columns)), rng.normal(0, 1, (n_others, n_columns))]
    )
    truth = np.zeros((len(rows), n_tags), bool)
    truth[np.arange(len(kind)), kind] = True
    given = np.zeros_like(truth)
    for tag in range(n_tags):
        given[rng.permutation(np.flatnonzero(truth[:, tag]))[:40], tag] = True
    return unit_rows(rows - rows.mean(axis=0)), truth, given


def test_a_tagged_photo_is_scored_as_if_it_were_untagged(rng, monkeypatch):
    """Its rank among the others is that of exactly what the regression says once its tag is taken away."""
    rows, _, given = looks(rng, n_tags=2, n_each=60, n_others=100, n_columns=40)
    monkeypatch.setattr(shift_marks, "RIDGES", (2.0,))
    by_rank = []

    def noted(ranks, n, n_tagged):
        assert n_tagged.tolist() == [len(own) for own in ranks]
        by_rank.extend((np.sort(own), n) for own in ranks)
        return presence_by_rank(ranks, n, n_tagged)

    monkeypatch.setattr(shift_marks, "presence_by_rank", noted)
    unlabelled = ~given.any(axis=1)
    marks = fit_marks(rows, given, unlabelled)
    x, y, offset = rows - rows.mean(axis=0), given.astype(float), given.mean(axis=0)
    hat = x @ np.linalg.inv(x.T @ x + 2.0 * np.eye(40)) @ x.T
    fitted = hat @ (y - offset) + offset
    told = (rows - marks.middle) @ marks.axes @ marks.weights + marks.offset
    np.testing.assert_allclose(told, fitted, atol=1e-6)
    for word in range(2):
        ranks = []
        for photo in np.flatnonzero(given[:, word]):
            without = y[:, word].copy()
            without[photo] = 0
            score = hat[photo] @ (without - offset[word]) + offset[word]
            ranks.append((fitted[unlabelled, word] > score).sum())
        found, n = by_rank[word]
        assert n == unlabelled.sum()
        np.testing.assert_array_equal(found, np.sort(ranks))


def test_accepted_photos_are_no_random_sample_where_captions_are(rng, monkeypatch):
    """They rank among those without a caption, and add to how many are known; of two captions, they are the sample."""
    rows, _, given = looks(rng, n_tags=2, n_each=60, n_others=100, n_columns=40)
    captioned = given & (np.arange(len(rows)) % 2 == 0)[:, None]
    captioned[np.flatnonzero(captioned[:, 1])[2:], 1] = False
    seen = []

    def noted(ranks, n, n_tagged):
        seen.extend((len(own), n, tagged) for own, tagged in zip(ranks, n_tagged, strict=True))
        return presence_by_rank(ranks, n, n_tagged)

    monkeypatch.setattr(shift_marks, "presence_by_rank", noted)
    fit_marks(rows, given, ~captioned.any(axis=1))
    n = len(rows) - captioned.sum()
    assert seen == [(captioned[:, 0].sum(), n, 40), (40, n, 40)]


def test_answered_photos_are_told_what_they_would_be_without_the_words_of_their_group(rng, monkeypatch):
    """Exactly what the regression says once these are taken away, by fitting it again; other groups stay."""
    rows, _, given = looks(rng, n_tags=2, n_each=60, n_others=100, n_columns=40)
    monkeypatch.setattr(shift_marks, "RIDGES", (2.0,))
    answered = np.sort(rng.permutation(len(rows))[:90])
    groups = rng.integers(0, 30, 90)
    marks, told = fit_marks_apart(rows, given, ~given.any(axis=1), answered, groups)
    x, y, offset = rows - rows.mean(axis=0), given.astype(float), given.mean(axis=0)
    hat = x @ np.linalg.inv(x.T @ x + 2.0 * np.eye(40)) @ x.T
    for place, photo in enumerate(answered):
        without = y.copy()
        without[answered[groups == groups[place]]] = 0
        score = hat[photo] @ (without - offset) + offset
        np.testing.assert_allclose(told[place], marks.of_scores(score[None])[0], atol=1e-6)
    assert given[answered].sum() > 20


def test_photos_without_any_tag_are_told_so(rng):
    """A third of the photos that look like a tag have it; three quarters of all have none."""
    rows, truth, given = looks(rng)
    unlabelled = ~given.any(axis=1)
    told = fit_marks(rows, given, unlabelled)(rows)[unlabelled]
    true = truth[unlabelled]
    assert told.sum() == pytest.approx(true.sum(), rel=0.35)
    sure = told >= 0.7
    assert sure.sum() > 50
    assert abs(told[sure].mean() - true[sure].mean()) < 0.12
    assert told[~true.any(axis=1)].max(axis=1).mean() < 0.15


def test_words_that_hardly_ever_occur_together_are_marks():
    assert are_marks(np.array([[1], [0]]))
    assert are_marks(sparse.csr_array(np.array([[1.0, 0], [0, 1], [0, 0]])))
    assert are_marks(np.eye(3))
    assert not are_marks(np.array([[1, 1], [0, 1]]))
    given = np.eye(3)[np.arange(110) % 3] * (np.arange(110) < 100)[:, None]  # ten photos have no word
    given[:5] = 1
    assert are_marks(given)  # one tagged photo in twenty may show two things
    given[5] = 1
    assert not are_marks(given)


def test_two_words_that_people_accepted_for_one_photo_change_nothing():
    """Owners' captions decide; and a photo in a hundred that shows both things does not make the others complete."""
    given = np.zeros((120, 3))
    given[np.arange(100), np.arange(100) % 3] = 1
    given[100:, :2] = 1
    captioned = np.arange(120) < 100
    assert not are_marks(given)
    assert are_marks(given, captioned)
    given[0] = 1
    assert are_marks(given, captioned)
    given[:10] = 1
    assert not are_marks(given, captioned)
    assert not are_marks(
        given, np.zeros(120, bool)
    )  # nobody gave a caption: what was accepted is all there is


def test_a_word_of_no_photo_changes_nothing_for_the_others(rng):
    rows, _, given = looks(rng, n_others=300)
    unlabelled = ~given.any(axis=1)
    told = fit_marks(rows, np.column_stack([given, np.zeros(len(rows), bool)]), unlabelled)(rows)
    np.testing.assert_allclose(told[:, :-1], fit_marks(rows, given, unlabelled)(rows), atol=1e-6)
    assert (told[:, -1] > 0).all()
    assert told[:, -1].max() <= TOP


def test_a_photo_is_told_the_same_by_itself(rng):
    rows, _, given = looks(rng)
    marks = fit_marks(rows, given, ~given.any(axis=1))
    np.testing.assert_allclose(marks(rows[:1]), marks(rows)[:1], rtol=1e-9)
