"""What hidden groups teach about words in groups that nobody tagged."""

import numpy as np
import pytest
from scipy import sparse

from topicture.annotations.choice.presence import fit_presence
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.calibration import calibrate
from topicture.annotations.shift.evidence import Evidence
from topicture.annotations.shift.unseen import cross_fitted_unseen, elsewhere, fit_unseen, occurrence
from topicture.annotations.shift.worlds import find_worlds
from topicture.corpus import Corpus
from topicture.errors import CorpusError

N_FOLDERS, N_TAGGED, N_PHOTOS, N_WORDS = 40, 12, 20, 400
CHANCE, ON_PHOTOS = 0.15, 0.5


@pytest.fixture
def folders(rng):
    """Every word is in a folder by the same chance, and then on half of its photos; models know nothing of that."""
    folder = np.repeat(np.arange(N_FOLDERS), N_PHOTOS)
    truth = (rng.random((N_FOLDERS, N_WORDS)) < CHANCE)[folder]
    truth &= rng.random(truth.shape) < ON_PHOTOS
    truth[:, 0] |= ~truth.any(axis=1)  # nobody is without a tag
    p = rng.dirichlet(np.full(N_WORDS, 50.0), len(folder))
    return folder, truth, p


def seen_in(folder, truth, fewest, most):
    """Words that are in so many tagged folders; not the one that stands in for none."""
    n = np.array([truth[folder == one].any(axis=0) for one in range(N_TAGGED)]).sum(axis=0)
    return np.flatnonzero((n >= fewest) & (n <= most) & (np.arange(N_WORDS) > 0))


def test_a_word_seen_in_one_group_is_seen_again_as_often_as_it_should(folders):
    folder, truth, p = folders
    tagged = folder < N_TAGGED
    told = fit_unseen(
        p[tagged], truth[tagged], np.ones_like(truth[tagged]), folder[tagged] % 6, folder[tagged]
    )
    once, often = seen_in(folder, truth, 1, 1), seen_in(folder, truth, 4, N_TAGGED)
    expected = CHANCE * ON_PHOTOS  # whatever was seen by chance before
    assert told(p[~tagged])[:, once].mean() == pytest.approx(expected, abs=0.03)
    assert told(p[~tagged])[:, often].mean() == pytest.approx(expected, abs=0.03)
    # Counted with its own folder, a word of one folder never comes again, and one of many always does.
    counted = elsewhere(truth[tagged], folder[tagged] % 6, np.ones_like(truth[tagged]))
    naive = fit_presence(p[tagged], truth[tagged], counted)(p[~tagged])
    assert naive[:, once].mean() < 0.2 * expected
    assert naive[:, often].mean() > 1.5 * expected


def test_far_photos_are_told_so(folders, rng):
    folder, truth, p = folders
    tagged = folder < N_TAGGED
    rows = 2.0 * rng.standard_normal((N_FOLDERS, 30))[folder] + rng.standard_normal((len(folder), 30))
    captions = truth & tagged[:, None]
    corpus = Corpus.from_arrays(
        sparse.csr_array(captions.astype(float)),
        image_ids=[f"{i:04d}" for i in range(len(folder))],
        descriptor=rows,
    )
    places = [f"folder {one}" for one in folder]
    far = HeldOut(p, np.where(tagged, folder % 6, -1))
    known = np.repeat(tagged[:, None], N_WORDS, axis=1)
    world = find_worlds(corpus, places)
    calibration, *_ = calibrate(Evidence(corpus, captions, known, tagged, far, far, world, places=places))
    told = calibration(p, corpus, places)[~tagged]
    for words in (seen_in(folder, truth, 1, 1), seen_in(folder, truth, 4, N_TAGGED)):
        assert told[:, words].mean() == pytest.approx(CHANCE * ON_PHOTOS, abs=0.03)


def test_honest_presence_knows_nothing_of_its_own_fold(folders):
    folder, truth, p = (part[folders[0] < N_TAGGED] for part in folders)
    known, fold_of = np.ones_like(truth), folder % 6
    flipped = np.where((fold_of == 2)[:, None], ~truth, truth)
    first, second = (cross_fitted_unseen(p, said, known, fold_of, folder) for said in (truth, flipped))
    np.testing.assert_array_equal(first[fold_of == 2], second[fold_of == 2])
    assert not np.array_equal(first[fold_of == 1], second[fold_of == 1])


def test_spread_is_the_number_of_groups_where_all_have_as_many():
    truth = np.zeros((8, 3), bool)
    truth[[0, 2, 4, 6], 0] = True  # one photo of each group
    truth[[0, 1], 1] = True  # both photos of one
    groups = np.repeat([7, 3, 9, 1], 2)
    found = occurrence(truth, np.ones_like(truth), groups)
    np.testing.assert_allclose(found.spread, [4, 1, 0])
    np.testing.assert_allclose(found.frequency, np.array([4.5, 2.5, 0.5]) / 9)
    np.testing.assert_allclose(found.share, np.array([4.5, 2.5, 0.5]) / 7.5)


def test_tags_that_may_have_been_left_out_count_in_part(folders):
    words = seen_in(folders[0], folders[1], 2, N_TAGGED)
    folder, truth, p = (part[folders[0] < N_TAGGED] for part in folders)
    known = np.ones_like(truth)
    whole, nearly = (fit_unseen(p, y, known, folder % 6, folder)(p) for y in (truth, 0.98 * truth + 0.01))
    np.testing.assert_allclose(whole[:, words], nearly[:, words], atol=0.03)


def test_no_slope_is_learned_from_a_few_words_that_are_about_as_frequent(rng):
    """Where a word is rarer elsewhere, the hidden group has more of it: that is arithmetic, not a law."""
    folder = np.repeat(np.arange(8), 40)
    for _ in range(10):
        truth = rng.random((len(folder), 5)) < 0.3
        p = rng.dirichlet(np.full(5, 20.0), len(folder))
        told = fit_unseen(p, truth, np.ones_like(truth), folder % 4, folder)(p)
        assert told.mean() == pytest.approx(0.3, abs=0.06)


def test_groups_without_a_common_word_teach_nothing():
    truth = np.kron(np.eye(4, dtype=bool), np.ones((5, 1), bool))
    p = np.full(truth.shape, 0.25)
    with pytest.raises(CorpusError, match="too few judged tags"):
        fit_unseen(p, truth, np.ones_like(truth), np.repeat(np.arange(4), 5), np.repeat(np.arange(4), 5))
