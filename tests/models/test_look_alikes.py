"""Near copies among the tagged images."""

import numpy as np
import pytest

from topicture.corpus import Corpus
from topicture.models import look_alikes as module
from topicture.models.folds import folds_of
from topicture.models.look_alikes import look_alikes
from topicture.models.neighbours import unit_rows


def corpus_of(rows, n_tagged=None, view="descriptor"):
    captions = np.zeros((len(rows), 1))
    captions[:n_tagged] = 1
    return Corpus.from_arrays(captions=captions, vocabulary=["a"], **{view: rows})


def turned(rows, cosine, rng):
    """Rows of length 1 that have this cosine with the given ones."""
    other = rng.normal(size=rows.shape)
    other = unit_rows(other - (other * rows).sum(axis=1, keepdims=True) * rows)
    return cosine * rows + np.sqrt(1 - cosine**2) * other


@pytest.fixture
def photos(rng):
    """Forty photos, a copy of each with a cosine of 0.95, and one with 0.82; the mean is nearly 0."""
    first = unit_rows(rng.normal(size=(40, 200)))
    return np.concatenate([first, turned(first, 0.95, rng), turned(first, 0.82, rng)])


def test_copies_are_found_and_others_are_not(photos):
    groups = look_alikes(corpus_of(photos + 0.3))  # a mean that all photos share makes no two of them alike
    np.testing.assert_array_equal(groups[:40], groups[40:80])
    assert len(np.unique(groups)) == 80


def test_less_likeness_suffices_within_one_place(photos):
    folders = [f"folder {i % 40 // 2}" for i in range(120)]
    groups = look_alikes(corpus_of(photos), folders)
    np.testing.assert_array_equal(groups.reshape(3, 40), np.tile(groups[:40], (3, 1)))
    elsewhere = [f"{name} {i // 40}" for i, name in enumerate(folders)]
    assert len(np.unique(look_alikes(corpus_of(photos), elsewhere))) == 80


@pytest.mark.parametrize("few", [0.0, 1.0])
def test_the_quick_way_finds_every_pair(few, rng, monkeypatch):
    """Candidates are sought in a few dimensions or in all, and in blocks; the answer is that of all cosines."""
    monkeypatch.setattr(module, "_FEW", few)
    near = np.repeat(rng.normal(size=(60, 300)), 4, axis=0)
    rows = near + rng.uniform(0.1, 0.7, (240, 1)) * rng.normal(size=(240, 300))
    unit = unit_rows(rows - rows.mean(axis=0))
    expected = unit @ unit.T >= module._COSINE
    monkeypatch.setattr(module, "blocks", lambda n, _: (slice(i, min(i + 17, n)) for i in range(0, n, 17)))
    links = module._links(unit.astype(np.float32), None).toarray()
    np.testing.assert_array_equal(links | links.T | np.eye(240, dtype=bool), expected)
    assert 60 < expected.sum() - 240 < 720


def test_untagged_images_are_alone(photos):
    groups = look_alikes(corpus_of(photos, n_tagged=60))
    assert len(np.unique(groups[60:])) == 60
    np.testing.assert_array_equal(groups[:20], groups[40:60])


def test_few_columns_tell_no_copies_from_photos_of_one_kind(rng):
    corpus = corpus_of(np.eye(4)[np.arange(20) % 4] + 0.01 * rng.normal(size=(20, 4)))
    assert len(np.unique(look_alikes(corpus))) == 20


def test_visual_words_serve_where_there_is_no_descriptor(rng):
    bags = rng.poisson(0.5, (20, 60))
    bags[10] = bags[3]
    bags[[5, 6]] = 0  # nothing was seen: that is no likeness
    groups = look_alikes(corpus_of(bags, view="visual_words"))
    assert groups[10] == groups[3]
    assert groups[5] != groups[6]
    assert len(np.unique(groups)) == 19


def test_a_burst_and_edited_copies_are_one_group_whatever_they_look_like_and_never_straddle_folds(rng):
    """Twenty bursts of three in one folder, twenty seconds apart within and five minutes between."""
    corpus = corpus_of(rng.normal(size=(66, 200)))
    seconds = np.append(np.arange(20).repeat(3) * 300.0 + np.tile([0, 20, 75], 20), [np.nan] * 6)
    places = ["trip"] * 66
    photos = [*range(60), *range(6)]  # the last six are edited copies of the first
    groups = look_alikes(corpus, places, seconds=seconds, photos=photos)
    np.testing.assert_array_equal(groups[:60], np.arange(20).repeat(3) * 3)
    np.testing.assert_array_equal(groups[60:], groups[:6])
    fold = folds_of(corpus, 5, groups=groups)
    np.testing.assert_array_equal(fold[:60].reshape(20, 3), np.tile(fold[:60:3, None], 3))
    np.testing.assert_array_equal(fold[60:], fold[:6])
    assert len(np.unique(folds_of(corpus, 5).reshape(-1)[:3])) > 1  # without time they would be torn apart
    elsewhere = [f"folder {i % 3}" for i in range(66)]
    assert len(np.unique(look_alikes(corpus, elsewhere, seconds=seconds))) == 66


def test_a_day_without_a_pause_is_not_one_burst(rng):
    corpus = corpus_of(rng.normal(size=(90, 200)))
    steady = np.arange(90) * 30.0
    assert len(np.unique(look_alikes(corpus, seconds=steady))) == 90
    paired = np.arange(45).repeat(2) * 30.0 + np.tile([0, 3], 45)
    np.testing.assert_array_equal(look_alikes(corpus, seconds=paired), np.arange(90) // 2 * 2)
