"""The time that answers take is foreseen: a member too slow for all photos learns from a part, or is left out."""

import numpy as np
import pytest
from corpora import make_tiny_corpus
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.blends import samples
from topicture.models.blends.auto import Auto
from topicture.models.blends.limits import answer_limit
from topicture.models.blends.limits.answer_limit import answer_seconds, duration, most_answer_seconds
from topicture.models.blends.limits.memory_limit import part_that_fits
from topicture.models.blends.limits.sizes import Sizes
from topicture.models.blends.members import MEMBERS
from topicture.models.registry import make_annotator


@pytest.fixture
def corpus(rng):
    return make_tiny_corpus(rng, n_images=60)


@pytest.fixture
def tagged(rng):
    captions = np.eye(4)[rng.integers(4, size=60)]
    return Corpus.from_arrays(captions=captions, descriptor=rng.normal(size=(60, 5)))


@pytest.fixture
def sampled(monkeypatch):
    """Members are tried on 20 images."""
    monkeypatch.setattr(samples, "_MOST_TRIED", 20)
    monkeypatch.setattr(samples, "_MOST_TAGGED", 15)


def allow(monkeypatch, seconds):
    monkeypatch.setattr(answer_limit, "_PHOTO_SECONDS", seconds)
    monkeypatch.setattr(answer_limit, "_ALL_SECONDS", 0.0)


@pytest.mark.parametrize("model", MEMBERS)
def test_who_has_learned_from_more_answers_no_sooner(corpus, model):
    annotator = make_annotator(model)
    assert answer_seconds(annotator, corpus) >= answer_seconds(annotator, corpus[:20]) > 0


@pytest.mark.parametrize("model", MEMBERS)
@pytest.mark.parametrize("columns", [(1280, 1280, 1280), (1000, 60, 10)], ids=["dense", "sparse"])
def test_of_a_usual_collection_nobody_is_left_out_nor_learns_from_a_part(model, columns):
    """50,000 photos, all of them tagged, 2,000 words, six members."""
    sizes = Sizes(50_000, 50_000, 2_000, 250_000, *columns)
    seconds = answer_limit._SECONDS.get(model, answer_limit._posterior)(make_annotator(model), sizes)
    assert seconds < most_answer_seconds(50_000) / 6


def test_of_a_million_photos_many_columns_would_take_hours():
    dense = Sizes(1_000_000, 100_000, 10_000, 500_000, 1280, 1280, 1280)
    knn = make_annotator("knn", n_neighbours=300)
    assert answer_limit._neighbours(knn, dense) > most_answer_seconds(1_000_000)
    sparse_rows = dense._replace(columns=1000, filled=12.0, shared=0.3)
    assert answer_limit._neighbours(knn, sparse_rows) < most_answer_seconds(1_000_000) / 2


def test_the_bound_does_not_vanish_with_the_photos():
    assert most_answer_seconds(10_000) > most_answer_seconds(1_000_000)
    assert most_answer_seconds(10**9) == most_answer_seconds(10**7) > 0


def test_visual_words_that_photos_share_are_counted(rng):
    words = sparse.csr_array(rng.integers(0, 2, size=(30, 6)).astype(float))
    corpus = Corpus.from_arrays(captions=np.eye(3)[rng.integers(3, size=30)], visual_words=words)
    sizes = answer_limit.sizes_of(make_annotator("knn", view="visual_words"), corpus)
    dense = words.toarray()
    assert sizes.filled == pytest.approx(dense.sum(axis=1).mean())
    assert sizes.shared == pytest.approx((dense @ dense.T).mean())


def test_who_would_answer_too_long_is_left_out_and_named(corpus, monkeypatch):
    monkeypatch.setitem(answer_limit._SECONDS, "network", lambda network, sizes: 1.0)
    allow(monkeypatch, 0.5)
    auto = Auto(["knn", "network"]).fit(corpus)
    assert {member.name for member in auto.members_} == {"knn"}
    notes = [row.note for row in auto.report_ if row.member.startswith("network")]
    assert notes
    assert all(note.startswith("left out: annotating all 60 photos would take") for note in notes)


def test_somebody_answers_however_long_it_takes(corpus, monkeypatch):
    allow(monkeypatch, 1e-12)
    auto = Auto(["knn", "tagprop"]).fit(corpus)
    assert len(auto.members_) == 1
    assert auto.members_[0].name == "knn"


def test_who_would_answer_too_long_learns_from_a_part(tagged, sampled, monkeypatch):
    monkeypatch.setitem(answer_limit._SECONDS, "knn", lambda knn, sizes: sizes.tagged * 1e-3)
    allow(monkeypatch, 0.04)
    auto = Auto(["knn"]).fit(tagged)
    assert [len(member.rows_) for member in auto.members_] == [30]
    assert ["annotating all photos by all would take" in row.note for row in auto.report_] == [True]


def test_no_part_is_taken_where_it_would_answer_as_slowly(corpus):
    """A network is as large whatever it has learned from."""
    network = make_annotator("network")
    assert part_that_fits(network, corpus, corpus[:5], np.inf, answer_seconds(network, corpus) / 2) is corpus


def test_long_times_are_told_in_words():
    assert duration(40_000) == "11 h"
    assert duration(1_500) == "25 minutes"
