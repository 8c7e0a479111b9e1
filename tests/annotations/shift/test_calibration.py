"""Calibration in two worlds, corrected by answers; thresholds that do not vouch for what is left."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit, logit

from topicture.annotations.choice.presence import JudgedPairs, thresholds
from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift import calibration, denials
from topicture.annotations.shift.answered import (
    SPREADS,
    Answered,
    Sample,
    Spread,
    corrected_by_others,
    fit_answered,
    fit_posterior,
    fit_spread,
    together_as_one,
)
from topicture.annotations.shift.calibration import (
    calibrate,
    no_better_than_answers,
)
from topicture.annotations.shift.calibration_files import calibration_arrays, calibration_of, misfits
from topicture.annotations.shift.denials import fit_denials, without_own_answers
from topicture.annotations.shift.evidence import Evidence, Untagged
from topicture.annotations.shift.marks import fit_marks_apart
from topicture.annotations.shift.pooling import grouped, pooled
from topicture.annotations.shift.worlds import TAGS, find_worlds, look_rows
from topicture.corpus import Corpus


def test_without_answers_nothing_moves():
    p = np.linspace(0, 1, 12).reshape(3, 4)
    np.testing.assert_array_equal(Answered.nothing(4)(p), p)
    assert fit_answered(Sample(np.zeros(0), np.zeros(0, int), np.zeros(0)), 4)(p) is p


def test_answers_move_promises_where_they_were_given(rng):
    presence, word = np.full(200, 0.5), np.zeros(200, int)
    yes = rng.random(200) < 0.1
    answered = fit_answered(Sample(presence, word, yes), 3)
    told = answered(np.array([[0.5, 0.5, 0.01]]))[0]
    assert told[0] < 0.2
    # Another word moves, too, but less. At logit 0 answers show only the sum m of bumps and word, of prior variance
    # s sum_k B_k(0)^2 + t, and the most probable ones share m as they share that variance: bumps get 15% of it.
    bumps = Spread().shared * np.exp(-(np.arange(-1.0, 6.0) ** 2)).sum()
    variance = bumps + Spread().words
    m = brentq(lambda m: 200 * expit(m) - yes.sum() + m / variance, -20, 20)
    assert told[1] == pytest.approx(expit(m * bumps / variance), abs=1e-3)  # about 0.4
    assert told[2] == pytest.approx(0.01, rel=0.5)  # nobody was asked down there
    assert (np.diff(answered.at(np.linspace(0.01, 0.99, 99), 1)) >= -1e-12).all()


def off(rng, n, n_words, variance, p=None):
    """Promised presence, word and truth of pairs, where every word is off by an amount of its own."""
    p, word = rng.uniform(0.1, 0.99, n) if p is None else p, rng.integers(0, n_words, n)
    mistake = rng.normal(0, np.sqrt(variance), n_words)
    return Sample(p, word, (rng.random(n) < expit(np.log(p / (1 - p)) + mistake[word])).astype(float))


def test_hidden_groups_show_how_far_promises_may_be_off(rng):
    little, much = ([off(rng, 800, 20, variance) for _ in range(5)] for variance in (0.05, 3.0))
    assert fit_spread(little, 20).words <= 0.3
    assert fit_spread(much, 20).words >= 1.0
    assert fit_spread([], 20) == Spread()


def test_what_may_be_counted_on_holds_for_most_words(rng):
    p, word, yes, _ = off(rng, 300, 40, 1.0)
    posterior = fit_posterior(Sample(p, word, yes), 40, Spread(0.1, 1.0))
    told, bound = posterior.answered.at(p, word), posterior.lower(p, word, 1.28)
    assert (bound < told).all()
    more = fit_posterior(Sample(np.tile(p, 20), np.tile(word, 20), np.tile(yes, 20)), 40, Spread(0.1, 1.0))
    gap = np.abs(more.answered.at(p, word) - more.lower(p, word, 1.28))
    assert gap.mean() < 0.5 * (told - bound).mean()  # answers make sure
    nothing = fit_posterior(Sample(p[:0], word[:0], yes[:0]), 40, SPREADS[-1])
    assert nothing.lower(np.array([0.9]), np.array([3]), 1.28)[0] < 0.6
    np.testing.assert_allclose(nothing.answered.at(p, word), p)


def test_its_uncertainty_is_that_of_one_logistic_offset():
    """One word, asked about in one place: what a page of algebra gives."""
    p, word, yes = np.full(50, 0.5), np.zeros(50, int), (np.arange(50) < 20).astype(float)
    posterior = fit_posterior(Sample(p, word, yes), 1, Spread(1e-3, 1.0))  # hardly any bumps
    v = posterior.answered.words[0]
    q = expit(v)
    assert posterior.covariance[-1, -1] == pytest.approx(1 / (50 * q * (1 - q) + 1), rel=0.02)
    assert 20 - 50 * q == pytest.approx(v, abs=0.05)  # the slope of the likelihood is that of the prior


def test_what_may_be_counted_on_has_the_variance_of_bumps_and_words_together(rng):
    """By the whole quadratic form; a word that nobody was asked about has the variance that words have."""
    sample = off(rng, 60, 3, 1.0)
    posterior = fit_posterior(sample, 4, Spread(0.3, 0.7))
    x, word = np.linspace(-3, 4, 28), np.arange(28) % 4
    bumps, ramp = np.exp(-((x[:, None] - np.arange(-1, 6)) ** 2) / 2), np.clip((x + 2) / 2, 0, 1)
    slope = np.concatenate([bumps, ramp[:, None] * (word[:, None] == [0, 1, 2])], axis=1)
    variance = (slope @ posterior.covariance * slope).sum(axis=1) + (word == 3) * ramp**2 * 0.7
    told = logit(posterior.answered.at(expit(x), word)) - logit(posterior.lower(expit(x), word, 2.0))
    np.testing.assert_allclose(told, 2 * np.sqrt(variance), rtol=1e-5)


def test_promises_rise_with_presence_for_every_word():
    answered = Answered(np.zeros(161), np.array([-4.0, 4.0]))
    told = answered(np.repeat(np.linspace(0.001, 0.999, 200)[:, None], 2, axis=1))
    assert (np.diff(told, axis=0) >= -1e-12).all()
    assert told[100, 0] < 0.15


def test_answers_never_make_pairs_truer_than_a_sample_showed():
    """A true pair stands for so much less where less comes true than was promised, and for no more than itself."""
    answered = Answered(np.zeros(161), np.array([-2.0, 2.0]))
    presence, word, truth = np.full(4, 0.5), np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 0.0])
    told = answered.truth_of(presence, word, truth)
    np.testing.assert_allclose(told, [expit(-2) / 0.5, 0, 1, 0], rtol=1e-9)


def test_both_worlds_have_the_share_of_untagged_photos_that_live_there():
    near = JudgedPairs(np.array([0, 1, 1]), np.array([0.2, 0.4, 0.6]), np.array([False, True, True]))
    far = JudgedPairs(np.array([1, 0]), np.array([0.3, 0.5]), np.array([True, False]))
    far = far._replace(weight=np.array([1.0, 0.5]), group=np.array([4, 2]))
    found = pooled(near, far, 0.9)
    assert found.weight.tolist() == pytest.approx([0.1, 0.1, 0.1, 0.9, 0.45])
    assert found.presence.tolist() == [0.2, 0.4, 0.6, 0.3, 0.5]
    assert len(np.unique(found.group)) == 5  # a near pair stands alone
    assert found.group[3:].tolist() == [4, 2]


def test_suggestions_of_a_word_in_one_group_count_as_two():
    presence = np.array([[0.9], [0.3], [0.8], [0.5], [0.29], [0.9]])
    pairs = grouped(presence, presence > 0.5, np.ones((6, 1), bool), np.array([7, 7, 7, 7, 7, 2]))
    np.testing.assert_array_equal(pairs.weight, [0.5, 0.5, 0.5, 0.5, 1, 1])
    np.testing.assert_array_equal(pairs.group, [1, 1, 1, 1, 1, 0])


def test_rejections_teach_what_a_word_does_not_look_like(rng):
    rows = np.vstack([rng.normal(2, 1, (40, 5)), rng.normal(-2, 1, (100, 5)), rng.normal(0, 2, (50, 5))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    present, rejected = np.zeros((190, 1), bool), np.zeros((190, 1), bool)
    present[:40], rejected[40:140] = True, True
    denials = fit_denials(rows, present, rejected)
    told = denials(np.full((190, 1), 0.5), rows)[:, 0]
    assert told[:40].mean() > told[40:140].mean() + 0.4
    assert not len(
        fit_denials(rows, present, rejected & (np.arange(190) < 45)[:, None]).words
    )  # too few rejections
    extreme = logit(denials(np.full((380, 1), 0.5), np.vstack([20 * rows, -20 * rows]))[:, 0])
    assert (extreme.min(), extreme.max()) == pytest.approx(
        (-6.0, 1.0)
    )  # it is asked what speaks against a word


def test_how_many_were_rejected_teaches_no_term(rng):
    """Looks that tell nothing: four in five no, and on average nothing moves."""
    rows, present = rng.standard_normal((1000, 3)), (np.arange(1000) < 200)[:, None]
    told = fit_denials(rows, present, ~present)(np.full((1000, 1), 0.5), rows)
    assert logit(told).mean() == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize("looks_tell", [False, True])
def test_only_terms_of_looks_that_other_answers_bear_out_are_kept(rng, looks_tell):
    """What is told is right, or misses a half of what looks would tell; then the likeliest suggestions are answered."""
    looks = rng.standard_normal((2000, 40))
    scores = rng.normal(-1, 2, (2000, 4))
    truth = rng.random(scores.shape) < expit(scores + 4 * looks_tell * looks[:, :4])
    captioned = np.arange(2000) < 400
    given = truth & captioned[:, None]
    corpus = Corpus.from_arrays(
        sparse.csr_array(given.astype(float)), image_ids=[f"{i:04d}" for i in range(2000)], descriptor=looks
    )
    near = HeldOut(expit(scores), np.where(captioned, np.arange(2000) % 3, -1))
    open_ = np.where(captioned[:, None], -np.inf, scores)
    asked = open_ >= np.sort(open_, axis=0)[-400]  # of every word
    known = asked | captioned[:, None]
    rejected = asked & ~truth
    assert (rejected.sum(axis=0) >= 20).all()
    made, *_ = calibrate(Evidence(corpus, truth & known, known, captioned, near, rejected=rejected))
    assert len(made.denials.words) == 4 if looks_tell else len(made.denials.words) <= 1
    told, left = made(near.p, corpus), ~known
    if not looks_tell:
        assert told[left].sum() == pytest.approx(truth[left].sum(), rel=0.15)


@pytest.fixture
def shoots(rng):
    """Eight tagged and twelve untagged folders. What a model says of a hidden folder is worth half of what it says."""
    folder = np.repeat(np.arange(20), 40)
    rows = 2.0 * rng.standard_normal((20, 40))[folder] + rng.standard_normal((800, 40))
    score = rng.normal(0, 1.5, (800, 5))
    honest = expit(score - 1.2)
    truth = rng.random(honest.shape) < honest
    tagged = folder < 8
    captions = truth * tagged[:, None]
    captions[tagged, 0] |= ~captions[tagged].any(axis=1)  # nobody is without a tag
    corpus = Corpus.from_arrays(
        sparse.csr_array(captions.astype(float)), image_ids=[f"{i:04d}" for i in range(800)], descriptor=rows
    )
    places = [f"folder {number}" for number in folder]
    fold_of = np.where(tagged, folder % 4, -1)
    far = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    by_heart = np.where(captions, 3.0, score)  # photos of the same folder give it away
    near = np.exp(by_heart) / np.exp(by_heart).sum(axis=1, keepdims=True)
    near[~tagged] = far[~tagged]
    known = np.repeat(tagged[:, None], 5, axis=1)
    return corpus, places, truth, captions, known, HeldOut(near, fold_of), HeldOut(far, fold_of)


def errors(told, truth, rows):
    bins = np.minimum((10 * told[rows]).astype(int), 9)
    gaps = [
        abs(told[rows][bins == b].mean() - truth[rows][bins == b].mean()) * (bins == b).sum()
        for b in np.unique(bins)
    ]
    return sum(gaps) / bins.size


def test_far_photos_get_the_promises_of_hidden_folders(shoots):
    corpus, places, truth, captions, known, near, far = shoots
    tagged, world = corpus.tagged, find_worlds(corpus, places)
    one, *_ = calibrate(Evidence(corpus, captions, known, tagged, near))
    two, pairs, _ = calibrate(Evidence(corpus, captions, known, tagged, near, far, world, places=places))
    before, now = one(near.p, corpus, places), two(near.p, corpus, places)
    assert errors(before, truth, ~tagged) > 2 * errors(now, truth, ~tagged)
    assert errors(now, truth, ~tagged) < 0.08
    assert pairs.weight is not None
    alone = two(near.p[[700]], corpus[[700]], places[700:701])
    np.testing.assert_allclose(alone[0], now[700])  # photo by photo


def test_where_shoots_differ_less_is_accepted_than_hidden_tags_would_allow(shoots):
    corpus, places, truth, captions, known, near, far = shoots
    world, rows = find_worlds(corpus, places), np.flatnonzero(~corpus.tagged)
    untagged = Untagged(corpus[rows], near.p[rows], [places[row] for row in rows])
    evidence = Evidence(corpus, captions, known, corpus.tagged, near, far, world, None, places, untagged)
    made, judged, promises = calibrate(evidence)
    told = made(near.p, corpus, places)
    few, many = (
        (told >= thresholds(pairs, 5, 0.8))[rows] for pairs in (promises, judged._replace(group=None))
    )
    assert few.sum() < many.sum()
    few[:, 0] = (
        False  # every tagged photo without another tag has this one: no hidden shoot can show what others lack
    )
    assert few.any()
    assert truth[rows][few].mean() > truth[rows][many].mean()
    assert truth[rows][few].mean() > 0.7  # of 21, in a library of 5 words
    assert (promises.truth <= promises.presence).all()


def test_answers_lessen_what_hidden_tags_vouch_for_and_stand_beside_them(shoots, monkeypatch):
    """Mostly no, about photos of three folders, of which those of one are no sample: nobody had been asked there."""
    corpus, places, truth, captions, known, near, far = shoots
    world, rows = find_worlds(corpus, places), np.flatnonzero(~corpus.tagged)
    folder = np.arange(800) // 40
    about = np.isin(folder, [8, 9, 10])[:, None] & np.ones((1, 5), bool)
    said = captions.astype(bool) | (about & truth & (np.arange(800) % 3 == 0)[:, None])
    untagged = Untagged(corpus[rows], near.p[rows], [places[row] for row in rows])
    evidence = Evidence(corpus, captions, known, corpus.tagged, near, far, world, None, places, untagged)
    _, before, _ = calibrate(evidence)
    spreads, chosen = [], calibration.fit_spread

    def noted(samples, *others):
        spreads.append(samples)
        return chosen(samples, *others)

    monkeypatch.setattr(calibration, "fit_spread", noted)
    sampled = about & (folder != 10)[:, None]
    made, judged, promises = calibrate(evidence._replace(truth=said, known=known | about, answered=sampled))
    n = len(before.word)
    assert len(judged.word) == n + 400  # what was never asked about judges nothing
    assert (judged.truth[:n] <= before.truth + 1e-12).all()
    assert judged.truth[:n].sum() < 0.9 * before.truth.sum()
    assert not np.isin(judged.group[n:], judged.group[:n]).any()
    assert [len(samples) for samples in spreads] == [
        1,
        4 + 1,
    ]  # of the answers; of the hidden folds and these
    told = made(near.p, corpus, places)[rows]
    assert np.isin(promises.presence.round(9), told.round(9)).all()


def test_answers_as_sure_as_a_bound_count_for_it():
    answers = Sample(np.array([0.7, 0.7]), np.zeros(2, int), np.zeros(2))
    found = no_better_than_answers(np.full(2, 0.8), np.array([0.7, 0.71]), np.zeros(2, int), answers)
    np.testing.assert_allclose(found, [5 * 0.8 / 7, 0.8])


def test_a_burst_with_one_answer_counts_as_one_photo(rng):
    """As often as it is repeated: maps, their uncertainty and bounds stay what they are."""
    one = off(rng, 60, 10, 1.0)
    times = rng.integers(1, 6, 60)
    burst = np.repeat(np.arange(60), times)
    repeated = one.at(burst)._replace(weight=together_as_one(burst, one.word[burst]))
    assert repeated.counted.sum() == pytest.approx(60)
    few, many = (fit_posterior(sample, 10, Spread()) for sample in (one, repeated))
    p, word = np.full(10, 0.8), np.arange(10)
    np.testing.assert_allclose(many.lower(p, word, 1.28), few.lower(p, word, 1.28), atol=1e-4)
    bounds = [no_better_than_answers(np.full(10, 0.9), p, word, sample) for sample in (one, repeated)]
    np.testing.assert_allclose(bounds[1], bounds[0], atol=1e-9)
    other_words = together_as_one(np.zeros(4, int), np.array([0, 0, 1, 2]))
    assert other_words.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_no_burst_vouches_for_itself(rng):
    """Whatever all photos of some bursts were said to be, what they are told stays the same."""
    sample, burst = off(rng, 90, 4, 1.0), np.repeat(np.arange(30), 3)
    told = corrected_by_others(sample, burst, 4, Spread())
    for part in range(3):
        own = burst % 3 == part
        turned = sample._replace(truth=np.where(own, 1 - sample.truth, sample.truth))
        again = corrected_by_others(turned, burst, 4, Spread())
        np.testing.assert_array_equal(again[own], told[own])
        assert (again[~own] != told[~own]).all()


def test_answers_do_not_vouch_for_themselves_where_photos_are_a_random_sample(rng, monkeypatch):
    """What `evaluate` and thresholds are read from has no answer with a say in what is told of its photo."""
    monkeypatch.setattr(calibration, "TOLD_SPREADS", (Spread(),))  # that one number all answers choose
    monkeypatch.setattr(calibration, "FEWEST_REJECTIONS", 1000)  # terms of looks have parts of their own
    truth = rng.random((300, 3)) < 0.4
    looks = truth @ rng.standard_normal((3, 20)) + rng.standard_normal((300, 20))
    captioned, answered = np.arange(300) < 200, np.arange(300) >= 240
    p = np.clip(0.25 * truth + rng.uniform(0.05, 0.6, truth.shape), 0, 1)
    corpus = Corpus.from_arrays(
        sparse.csr_array((truth & captioned[:, None]).astype(float)),
        image_ids=[f"{i:04d}" for i in range(300)],
        descriptor=looks,
    )
    known = np.repeat(captioned[:, None], 3, axis=1)
    known[answered, 0] = True
    scores = HeldOut(p, np.where(captioned, np.arange(300) % 3, -1))

    def judged(truth):
        rejected = known & ~truth & ~captioned[:, None]
        pairs = calibrate(Evidence(corpus, truth & known, known, captioned, scores, rejected=rejected))[1]
        return pairs.at(slice(-60, None))  # answers come last

    turned = truth.copy()
    third = answered & (np.arange(300) % 3 == 0)
    turned[third, 0] = ~turned[third, 0]
    told, again, own = judged(truth), judged(turned), third[answered]
    assert (told.truth == truth[answered, 0]).all()
    np.testing.assert_allclose(again.presence[own], told.presence[own], atol=1e-12)
    assert (again.presence[~own] != told.presence[~own]).any()


def with_answers(evidence, truth, answered):
    """The same with verdicts on some photos that nobody had captioned, (D,), whatever they say."""
    known = evidence.known | answered[:, None]
    said = np.where(answered[:, None], truth, evidence.truth)
    return evidence._replace(truth=said, known=known, rejected=answered[:, None] & ~truth)


def test_answers_do_not_vouch_for_themselves_where_tags_are_marks(rng, monkeypatch):
    """What they are compared with is what marks tell of their photos, corrected by the answers of others."""
    corpus, truth, given, near = personal(rng)
    evidence = Evidence(corpus, given, np.repeat(corpus.tagged[:, None], 3, axis=1), corpus.tagged, near)
    answered = np.zeros(len(corpus), bool)
    answered[rng.permutation(np.flatnonzero(~corpus.tagged))[:150]] = True
    monkeypatch.setattr(calibration, "TOLD_SPREADS", (Spread(),))  # that one number all answers choose
    monkeypatch.setattr(calibration, "FEWEST_REJECTIONS", 1000)  # terms of looks have parts of their own
    third = np.zeros(len(corpus), bool)
    third[np.flatnonzero(answered)[::3]] = True
    turned = np.where(third[:, None], ~truth, truth)
    told, again = (calibrate(with_answers(evidence, one, answered))[1] for one in (truth, turned))
    own = np.repeat(third[answered], 3)
    assert (told.truth == truth[answered].ravel()).all()
    np.testing.assert_allclose(again.presence[own], told.presence[own], atol=1e-12)
    assert (again.presence[~own] != told.presence[~own]).any()
    monkeypatch.setattr(calibration, "TOLD_SPREADS", (Spread(1e-9, 1e-9),))  # nothing is corrected
    made, judged, _ = calibrate(with_answers(evidence, truth, answered))
    by_marks = made.marks(look_rows(corpus, made.centre))[answered]
    np.testing.assert_allclose(judged.presence, by_marks.ravel(), atol=1e-4)


@pytest.mark.parametrize("marked", [True, False])
def test_no_answer_is_judged_by_looks_that_it_has_taught(rng, marked, monkeypatch):
    """Answers by chance: were each judged by the term that it had a part in, yes would be told from no."""
    n, n_answered = 600, 200
    looks, truth = rng.standard_normal((n, 40)), rng.random((n, 2)) < 0.5
    captioned, answered = np.arange(n) < 100, np.arange(n) >= n - n_answered
    captions = np.eye(2, dtype=bool)[np.arange(n) % 2] if marked else rng.random((n, 2)) < 0.5
    captions &= captioned[:, None]
    corpus = Corpus.from_arrays(
        sparse.csr_array(captions.astype(float)), image_ids=[f"{i:04d}" for i in range(n)], descriptor=looks
    )
    scores = HeldOut(rng.dirichlet([1, 1], n), np.where(captioned, np.arange(n) % 3, -1))
    evidence = Evidence(corpus, captions, np.repeat(captioned[:, None], 2, axis=1), captioned, scores)
    monkeypatch.setattr(denials, "log_evidence", lambda *_: next(steps))  # of looks that tell nothing
    steps = iter(range(99))
    made, pairs, _ = calibrate(with_answers(evidence, truth, answered))
    assert (made.marks is not None) == marked
    assert len(made.denials.words) == 2
    judged = pairs.at(slice(-2 * n_answered, None))
    yes, no = judged.presence[judged.truth == 1], judged.presence[judged.truth == 0]
    error = np.sqrt(yes.var() / len(yes) + no.var() / len(no))
    assert yes.mean() - no.mean() < 3 * error


def test_answers_about_a_word_itself_lessen_what_others_allow():
    answers = Sample(np.array([0.8, 0.8, 0.9, 0.8]), np.array([0, 0, 0, 1]), np.array([0.0, 0.0, 1.0, 1.0]))
    presence, word = np.array([0.7, 0.85, 0.95, 0.7, 0.7]), np.array([0, 0, 0, 1, 2])
    found = no_better_than_answers(np.full(5, 0.9), presence, word, answers)
    expected = [
        (1 + 5 * 0.9) / 8,
        0.9,
        0.9,
        0.9,
        0.9,
    ]  # where three answers are as sure; elsewhere nothing is raised
    np.testing.assert_allclose(found, expected)


def test_rejections_for_captioned_photos_say_nothing_that_captions_did_not(shoots):
    """No answer about other photos would correct what they teach: promises would be off, and nobody told."""
    corpus, _, truth, captions, known, near, _ = shoots
    rejected = known & ~truth & ~captions
    assert (rejected.sum(axis=0) >= 20).any()
    without, _, _ = calibrate(Evidence(corpus, captions, known, corpus.tagged, near))
    made, _, _ = calibrate(Evidence(corpus, captions, known, corpus.tagged, near, rejected=rejected))
    np.testing.assert_array_equal(made(near.p, corpus), without(near.p, corpus))


def test_a_calibration_is_stored_whole(shoots):
    corpus, places, truth, captions, known, near, far = shoots
    answered = known.copy()
    answered[400:500, 0] = True
    said = np.where(answered, truth, captions)
    world = find_worlds(corpus, places)
    made, pairs, _ = calibrate(
        Evidence(corpus, said, answered, corpus.tagged, near, far, world, answered & ~truth & ~known, places)
    )
    arrays = calibration_arrays(made, pairs)
    again, pairs_again = calibration_of(arrays)
    np.testing.assert_array_equal(again(near.p, corpus, places), made(near.p, corpus, places))
    np.testing.assert_array_equal(pairs_again.weight, pairs.weight)
    assert list(misfits(again, pairs_again, 5)) == []
    assert list(misfits(again, pairs_again, 6))
    for name in ("worlds/rows", "answered/words", "denials/offset"):
        damaged, same = calibration_of({**arrays, name: arrays[name][:-1][..., None]})
        assert list(misfits(damaged, same, 5)), name


def personal(rng):
    """Three marks on 40 photos each of 120 that have them, and 900 photos without any; models know the marked alone."""
    centres = rng.normal(0, 1, (3, 10))
    kind = np.repeat(np.arange(3), 120)
    rows = np.vstack([centres[kind] + rng.normal(0, 0.4, (360, 10)), rng.normal(0, 1, (900, 10))])
    truth = np.zeros((len(rows), 3), bool)
    truth[np.arange(360), kind] = True
    given = truth & (np.arange(len(rows)) % 3 == 0)[:, None]
    corpus = Corpus.from_arrays(sparse.csr_array(given.astype(float)), list("abc"), descriptor=rows)
    near = np.exp(2 * rows @ centres.T)
    near /= near.sum(axis=1, keepdims=True)
    fold_of = np.where(corpus.tagged, np.arange(len(rows)) % 5, -1)
    return corpus, truth, given, HeldOut(near, fold_of)


def test_marks_on_a_few_photos_promise_nothing_to_all_others(rng):
    corpus, truth, given, near = personal(rng)
    known = np.repeat(corpus.tagged[:, None], 3, axis=1)
    world = find_worlds(corpus)
    assert world.kind == TAGS
    some = Untagged(corpus[~corpus.tagged], near.p[~corpus.tagged], None)
    evidence = Evidence(corpus, given, known, corpus.tagged, near, None, world, untagged=some)
    made, pairs, _ = calibrate(evidence)
    told, open_ = made(near.p, corpus), ~corpus.tagged
    assert told[open_].sum() == pytest.approx(truth[open_].sum(), rel=0.4)
    assert told[open_ & ~truth.any(axis=1)].max(axis=1).mean() < 0.2
    # What looks tell of untagged photos does not decide it: marks are marks without a second world as well.
    one_world, _, _ = calibrate(evidence._replace(world=None))
    np.testing.assert_array_equal(one_world(near.p, corpus), told)
    assert made.near(near.p)[open_].sum() > 2 * truth[open_].sum()  # what it would be like
    assert 0.01 < np.average(pairs.presence - pairs.truth, weights=pairs.presence) < 0.1
    answered = known.copy()
    answered[rng.permutation(np.flatnonzero(open_))[:150]] = True
    said = np.where(answered, truth, given)
    made, pairs, promises = calibrate(
        evidence._replace(truth=said, known=answered, rejected=answered & ~truth)
    )
    assert promises is not pairs
    arrays = calibration_arrays(made, pairs)
    again, pairs_again = calibration_of(arrays)
    np.testing.assert_array_equal(again(near.p, corpus), made(near.p, corpus))
    assert list(misfits(again, pairs_again, 3)) == []
    for name in ("marks/scores", "marks/axes", "marks/offset", "marks/middle"):
        damaged, same = calibration_of({**arrays, name: arrays[name][:-1][..., None]})
        assert list(misfits(damaged, same, 3)), name
    turned, same = calibration_of({**arrays, "marks/scores": arrays["marks/scores"][:, ::-1]})
    assert list(misfits(turned, same, 3))


def test_second_words_that_answers_found_in_captions_leave_marks_marks(rng):
    """Nine of 120 captioned photos show another thing as well, and somebody said so: owners gave each one word."""
    corpus, _, given, near = personal(rng)
    known = np.repeat(corpus.tagged[:, None], 3, axis=1)
    said = given.copy()
    said[np.flatnonzero(given[:, 0])[:9], 1] = True
    evidence = Evidence(corpus, said, known, corpus.tagged, near, shown=given)
    assert calibrate(evidence)[0].marks is not None
    assert calibrate(evidence._replace(shown=None))[0].marks is None  # owners themselves gave two


def test_where_nearly_all_photos_have_an_answer_those_without_caption_are_compared(rng, monkeypatch):
    """Nobody has said anything of ten photos: too few to tell what else there is."""
    corpus, truth, given, near = personal(rng)
    captioned = corpus.tagged & (np.arange(len(corpus)) >= 30)  # ten tags were accepted, not given
    answered, unlabelled = ~captioned, []
    answered[-10:] = False

    def noted(looks, given, others, *answered):
        unlabelled.append(others)
        return fit_marks_apart(looks, given, others, *answered)

    monkeypatch.setattr(calibration, "fit_marks_apart", noted)
    known = (captioned | answered)[:, None] & np.ones((1, 3), bool)
    said = np.where(answered[:, None], truth, given)
    evidence = Evidence(corpus, said, known, captioned, near, rejected=answered[:, None] & ~truth)
    made, *_ = calibrate(evidence)
    assert made.marks is not None
    np.testing.assert_array_equal(unlabelled[0], ~captioned)
    calibrate(evidence._replace(whole=False, known=known & ~(np.arange(len(corpus)) % 2 == 1)[:, None]))
    assert not (
        unlabelled[1] & answered & (np.arange(len(corpus)) % 2 == 0)
    ).any()  # of millions they are few
    open_ = ~corpus.tagged
    told = made.marks(look_rows(corpus, made.centre))[open_]
    assert told.sum() == pytest.approx(truth[open_].sum(), rel=0.4)


def test_one_tag_is_a_mark_whatever_groups_its_photos_make(rng):
    corpus, truth, given, near = personal(rng)
    kept = ~given[:, 1:].any(axis=1)
    one = Corpus.from_arrays(
        sparse.csr_array(given[kept, :1].astype(float)), ["a"], descriptor=corpus.descriptor[kept]
    )
    known = np.repeat(one.tagged[:, None], 1, axis=1)
    rejected = np.zeros_like(known)
    rejected[np.flatnonzero(~truth[kept, 0])[::9]] = True
    scores = HeldOut(np.ones((len(one), 1)), near.fold_of[kept])
    evidence = Evidence(one, given[kept, :1], known | rejected, one.tagged, scores, rejected=rejected)
    for world in (None, find_worlds(corpus)._replace(kind="folders")):
        made, _, _ = calibrate(evidence._replace(world=world))
        assert made.marks is not None


def test_files_of_earlier_versions_hold_one_world(shoots):
    corpus, places, _, captions, known, near, _ = shoots
    made, pairs, _ = calibrate(Evidence(corpus, captions, known, corpus.tagged, near))
    arrays = calibration_arrays(made, pairs)
    old = {name: a for name, a in arrays.items() if "/" not in name and name != "centre"}
    old |= {f"pairs/{name}": arrays[f"pairs/{name}"] for name in ("word", "presence", "truth")}
    again, _ = calibration_of(old)
    np.testing.assert_array_equal(again(near.p, corpus, places), made(near.p, corpus, places))


def test_what_was_accepted_does_not_vouch_for_the_rest(rng):
    presence = rng.uniform(0.5, 1, 4000)
    pairs = JudgedPairs(np.zeros(4000, int), presence, rng.random(4000) < presence)
    first = thresholds(pairs, 1, 0.8)[0]
    assert first < 0.7  # all above it are right often enough together
    again = thresholds(pairs, 1, 0.8, below=np.array([0.9]))[0]
    assert again > 0.68
    left = (pairs.presence >= again) & (pairs.presence <= 0.9)
    assert pairs.truth[left].mean() >= 0.78
    assert thresholds(pairs, 1, 0.8, below=np.array([0.6]))[0] == np.inf
    assert thresholds(pairs, 1, 0.8, below=np.array([0.1]))[0] == np.inf


def test_pairs_of_few_groups_vouch_for_less(rng):
    presence = rng.uniform(0.5, 1, 2000)
    group = rng.integers(0, 4, 2000)
    luck = np.array([1.0, 1.0, 1.0, 0.5])[group]
    pairs = JudgedPairs(rng.integers(0, 10, 2000), presence, rng.random(2000) < luck)
    alone, together = (
        thresholds(each, 10, 0.85) for each in (pairs, pairs._replace(weight=np.full(2000, 0.1), group=group))
    )
    assert np.isfinite(alone).sum() > 0
    assert not np.isfinite(together).any()


def test_a_single_tag_with_rejections_is_not_suggested_everywhere(rng):
    """No photo was ever said to lack it but those it was rejected for: they alone tell where it is not."""
    rows = rng.standard_normal((400, 40)) + 2 * np.repeat(rng.standard_normal((4, 40)), 100, axis=0)
    has, given = np.arange(400) < 100, np.arange(400) < 40
    corpus = Corpus.from_arrays(
        sparse.csr_array(given[:, None].astype(float)),
        image_ids=[f"{i:04d}" for i in range(400)],
        descriptor=rows,
    )
    rejected = (np.arange(400) >= 100) & (np.arange(400) % 3 == 0)
    p, fold_of = np.ones((400, 1)), np.where(given, np.arange(400) % 3, -1)
    known = (given | rejected)[:, None]
    scores = HeldOut(p, fold_of)
    world = find_worlds(corpus)
    made, *_ = calibrate(
        Evidence(corpus, given[:, None], known, given, scores, scores, world, rejected[:, None])
    )
    told = made(p, corpus)[:, 0]
    left = ~given & ~rejected
    assert told[left & has].mean() > told[left & ~has].mean() + 0.2
    assert (told[left & ~has] >= 0.5).mean() < 0.1


def one_tag(rng):
    """A tag on 40 of 100 photos that have it, and 300 photos without; models that know one word can't deny it."""
    rows = rng.standard_normal((400, 40)) + 2 * np.repeat(rng.standard_normal((4, 40)), 100, axis=0)
    has, given = np.arange(400) < 100, np.arange(400) < 40
    ids = [f"{i:04d}" for i in range(400)]
    corpus = Corpus.from_arrays(
        sparse.csr_array(given[:, None].astype(float)), image_ids=ids, descriptor=rows
    )
    return corpus, has, given, HeldOut(np.ones((400, 1)), np.where(given, np.arange(400) % 3, -1))


def test_a_single_tag_needs_no_rejection(rng):
    corpus, has, given, scores = one_tag(rng)
    made, pairs, _ = calibrate(Evidence(corpus, given[:, None], given[:, None], given, scores))
    told = made(scores.p, corpus)[:, 0]
    assert told[~given & has].mean() > told[~has].mean() + 0.3
    assert list(misfits(made, pairs, 1)) == []


def test_answers_correct_what_is_told_of_a_single_tag(rng):
    """Fewer than teach looks: promises themselves are what they correct."""
    corpus, has, given, scores = one_tag(rng)
    before, *_ = calibrate(Evidence(corpus, given[:, None], given[:, None], given, scores))
    surest = np.argsort(-before(scores.p, corpus)[:, 0] + 2 * given, kind="stable")[:18]
    rejected = np.zeros(400, bool)
    rejected[surest] = True  # whatever is true: they are an owner's word
    known = given | rejected
    made, *_ = calibrate(
        Evidence(corpus, given[:, None], known[:, None], given, scores, rejected=rejected[:, None])
    )
    assert not len(made.denials.words)
    assert made.answered.words[0] < -0.5
    left = has & ~known
    assert made(scores.p, corpus)[left, 0].mean() < before(scores.p, corpus)[left, 0].mean() - 0.1


def test_marks_are_learned_from_what_stands_in_for_captions(rng):
    """Nobody's own captions: what was accepted is all that there is, and photos without it are open."""
    corpus, has, given, scores = one_tag(rng)
    nobody, rejected = np.zeros(400, bool), ~has & (np.arange(400) % 10 == 0)
    known = (given | rejected)[:, None]
    evidence = Evidence(corpus, given[:, None], known, nobody, scores, rejected=rejected[:, None])
    made, pairs, _ = calibrate(evidence)
    assert np.abs(made.marks.weights).max() > 0
    np.testing.assert_array_equal(
        pairs.truth, known[known[:, 0], 0] & given[known[:, 0]]
    )  # no less a yes than a no
    told, left = made(scores.p, corpus)[:, 0], ~given & ~rejected
    assert told[left & has].mean() > told[left & ~has].mean() + 0.3


def asked_about_the_likeliest(rng, n_asked):
    """Looks half tell a tag on 300 of 1,200 photos; 40 have it as a caption, the likeliest others were asked about."""
    looks = rng.standard_normal((1200, 40))
    scores = looks[:, 0] + 0.5 * rng.standard_normal(1200)
    has = scores >= np.sort(scores)[-300]
    captioned = np.isin(np.arange(1200), rng.permutation(np.flatnonzero(has))[:40])

    def told(asked, shown):
        corpus = Corpus.from_arrays(
            sparse.csr_array(shown[:, None].astype(float)),
            image_ids=[f"{i:04d}" for i in range(1200)],
            descriptor=looks,
        )
        said, no = (captioned | (asked & has))[:, None], (asked & ~has)[:, None]
        near = HeldOut(np.ones((1200, 1)), np.where(shown, np.arange(1200) % 3, -1))
        evidence = Evidence(corpus, said, said | no, captioned, near, rejected=no)
        marks = calibrate(evidence)[0].marks
        return marks(look_rows(corpus, looks.mean(axis=0)))[:, 0]

    before = told(np.zeros(1200, bool), captioned)
    asked = np.isin(np.arange(1200), np.argsort(-np.where(captioned, 0, before))[:n_asked])
    return has, captioned, asked, before, told


@pytest.mark.parametrize("n_asked", [100, 300])
def test_photos_do_not_rank_higher_because_the_likeliest_were_asked_about(rng, n_asked):
    _, captioned, asked, before, told = asked_about_the_likeliest(rng, n_asked)
    np.testing.assert_allclose(told(asked, captioned), before)  # captions say what they said


@pytest.mark.parametrize("n_asked", [100, 300])
def test_what_is_told_does_not_collapse_where_accepted_words_stand_in_for_captions(rng, n_asked):
    has, captioned, asked, _, told = asked_about_the_likeliest(rng, n_asked)
    left, after = ~captioned & ~asked, told(asked, captioned | (asked & has))
    assert 0.2 < after[left].sum() / has[left].sum() < 1.2


@pytest.mark.parametrize("burst", [1, 4])
def test_what_was_accepted_is_judged_as_if_it_had_taught_nothing(rng, burst):
    """Answers by chance, of which each yes is a caption to marks: no more is told of these than of the others."""
    n = 1200
    looks = np.repeat(rng.standard_normal((n // burst, 60)), burst, axis=0) + rng.normal(0, 0.05, (n, 60))
    groups = np.arange(n) // burst
    yes, answered = rng.random(n // burst)[groups] < 0.5, (groups % 2 == 0) & (np.arange(n) >= 80)
    captioned = np.arange(n) < 20
    given = captioned | (answered & yes)
    corpus = Corpus.from_arrays(
        sparse.csr_array(given[:, None].astype(float)),
        image_ids=[f"{i:04d}" for i in range(n)],
        descriptor=looks,
    )
    scores = HeldOut(np.ones((n, 1)), np.where(given, groups % 3, -1))
    known, rejected = (captioned | answered)[:, None], (answered & ~yes)[:, None]
    evidence = Evidence(corpus, given[:, None], known, captioned, scores, rejected=rejected, groups=groups)
    _, judged, _ = calibrate(evidence)
    np.testing.assert_array_equal(judged.truth, yes[answered])
    assert judged.weights.sum() == pytest.approx(answered.sum() / burst)
    one, other = judged.presence[judged.truth > 0], judged.presence[judged.truth == 0]
    error = np.sqrt(burst * (one.var() / len(one) + other.var() / len(other)))
    assert abs(one.mean() - other.mean()) < 3 * error


def test_no_answer_is_judged_by_a_term_that_it_has_taught(rng):
    """Whatever was said of a third of the photos, what they are told while others teach is the same."""
    looks, rows = rng.standard_normal((90, 12)), np.arange(90)
    present = rng.random((90, 2)) < 0.4
    presence = np.full((90, 2), 0.5)
    told = without_own_answers(presence, looks, present, ~present, rows, rows % 3)
    third = (rows % 3 == 1)[:, None]
    turned = np.where(third, ~present, present)
    again = without_own_answers(presence, looks, turned, ~turned, rows, rows % 3)
    np.testing.assert_array_equal(again[third[:, 0]], told[third[:, 0]])
    assert (again[~third[:, 0]] != told[~third[:, 0]]).any()
