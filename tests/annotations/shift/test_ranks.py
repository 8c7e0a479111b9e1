"""How presence falls with rank: the posterior by enumeration, recovery, and the kind of tags that an owner gives."""

import numpy as np
import pytest

from topicture.annotations.shift import ranks as shift_ranks
from topicture.annotations.shift.ranks import TOP, presence_by_rank

N, EVERY = 4000, np.arange(4000)


def falling(a, b):
    """g(u) of all ranks."""
    return 1 / (1 + ((EVERY + 0.5) / a) ** b)


def drawn(rng, a, b, n_tagged=40):
    """Ranks of tagged photos."""
    true = falling(a, b)
    return rng.choice(EVERY, n_tagged, p=true / true.sum())


@pytest.mark.parametrize(
    ("n", "ranks"), [(12, [[0, 0, 1, 3, 7]]), (200, [[3, 40]]), (30, [[0, 1, 2, 2], [5, 9, 20], []])]
)
def test_presence_is_the_posterior_mean_by_enumeration(monkeypatch, n, ranks):
    """All ranks, all pairs of a and b and all mu, one by one; among 200 photos a tag may be on more than is usual."""
    slopes, kinds = (1.3, 2.0, 4.0), (0.2, 0.8, 1.4)
    monkeypatch.setattr(shift_ranks, "_N_RANKS", 1000)
    monkeypatch.setattr(shift_ranks, "_N_WIDTHS", 7)
    monkeypatch.setattr(shift_ranks, "_SLOPES", np.array(slopes))
    monkeypatch.setattr(shift_ranks, "_KINDS", np.array(kinds))

    def fall(a, b):
        return np.array([1 / (1 + ((u + 0.5) / a) ** b) for u in range(n)])

    def likelihood(own, a, b):
        return np.prod([fall(a, b)[u] / fall(a, b).sum() for u in own])

    widths = np.geomspace(0.5, 2 * n, 7)
    of_kind = []
    for mu in kinds:
        density = np.exp(-((mu - np.log(1.8)) ** 2) / (2 * 0.16))
        for own in ranks:
            prior = np.array([np.exp(-((np.log(b) - mu) ** 2) / (2 * 0.09)) for b in slopes])
            evidence = [sum(likelihood(own, a, b) for a in widths) for b in slopes]
            density *= prior @ evidence / prior.sum()
        of_kind.append(density)
    steep = [1 / (1 + (2.1 / np.exp(mu)) ** 10) for mu in kinds]
    k = np.average(steep, weights=of_kind)
    for own, found in zip(ranks, presence_by_rank(ranks, n), strict=True):
        total, weighted = 0.0, np.zeros(n)
        for a in widths:
            for b in slopes:
                density = likelihood(own, a, b) * np.exp(-((np.log(b) - np.log(1.8)) ** 2) / (2 * 0.16))
                usual = 2.5 * max(len(own), 1) / fall(a, b).sum()
                odds = (b / 2.5) ** 20 * np.exp(-(min(np.log(usual), 0) ** 2) / (2 * 0.6**2))
                share = k * odds / (1 + odds)
                total += density
                weighted += density * (share * TOP + (1 - share) * min(TOP, usual)) * fall(a, b)
        np.testing.assert_allclose(found(np.arange(n)), weighted / total, rtol=1e-9)


def test_a_word_that_no_photo_shows_is_thought_to_be_on_a_few():
    (found,) = presence_by_rank([[]], 400)
    told = found(np.arange(400))
    assert np.isfinite(told).all()
    assert (told > 0).all()
    assert told.sum() < 20


def test_without_words_there_is_nothing_to_tell():
    assert presence_by_rank([], 400) == []


@pytest.mark.parametrize(("a", "b"), [(30.0, 1.5), (100.0, 2.5), (80.0, 4.0)])
def test_ranks_recover_how_many_photos_have_the_tag(rng, a, b):
    true = TOP * falling(a, b)
    errors = []
    for _ in range(10):
        (law,) = presence_by_rank([drawn(rng, a, b, 60)], N)
        found = law(EVERY)
        assert (np.diff(found) < 0).all()
        assert found.max() <= TOP
        errors.append(np.log(found.sum() / true.sum()))
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(10) + 0.1
    assert np.std(errors) < 0.35


def test_a_tag_that_looks_tell_badly_is_not_promised_on_most_photos(rng):
    """Ranks that fade away over a quarter of the library: as many photos as usual have the tag, not all of those."""
    found = [presence_by_rank([drawn(rng, 400, 1.4)], N)[0](EVERY) for _ in range(10)]
    assert 1.5 * 40 < np.mean([one.sum() for one in found]) < 5 * 40
    assert np.mean([one.max() for one in found]) < 0.4
    (steep,) = presence_by_rank([drawn(rng, 100, 4)], N)
    assert steep(EVERY).max() > 0.9


def test_the_other_tags_of_an_owner_tell_whether_a_tag_is_a_kind_of_looks(rng):
    """Ranks that alone could be either: pure among tags that looks tell well, and not among others."""
    doubtful = drawn(rng, 200, 3)
    told_well = [drawn(rng, 80, 3.5) for _ in range(9)]
    told_badly = [drawn(rng, 400, 1.4) for _ in range(9)]
    alone, well, badly = (
        presence_by_rank([doubtful, *others], N)[0](0) for others in ([], told_well, told_badly)
    )
    assert badly < alone - 0.1
    assert well > alone + 0.02


def test_a_tag_without_photos_says_nothing_of_the_others(rng):
    ranks = [drawn(rng, 60, 2.6), drawn(rng, 80, 1.6)]
    alone = [law(EVERY) for law in presence_by_rank(ranks, N)]
    beside = [law(EVERY) for law in presence_by_rank([*ranks, []], N)]
    np.testing.assert_allclose(beside[:2], alone)
