"""Memory is foreseen as time is: what would not fit learns from a part, or is left out and named."""

import numpy as np
import pytest
from corpora import make_tiny_corpus

from topicture.corpus import Corpus
from topicture.models.blends.auto import Auto
from topicture.models.blends.limits.memory_limit import fit_bytes, most_judged, part_that_fits
from topicture.models.blends.samples import thinned
from topicture.models.registry import make_annotator

MODELS = [
    "naive-bayes",
    "text-match",
    "knn",
    "tagprop",
    "logistic",
    "companions",
    "ridge",
    "lsa",
    "label-spreading",
    "network",
    "matching",
]


@pytest.fixture
def corpus(rng):
    return make_tiny_corpus(rng, n_images=60)


@pytest.mark.parametrize("model", [*MODELS, "mix-unigram", "lap-var1", "corr-lda"])
def test_a_larger_collection_needs_no_less(corpus, model):
    annotator = make_annotator(model)
    assert fit_bytes(annotator, corpus) >= fit_bytes(annotator, corpus[:20]) > 0


def test_the_largest_part_that_fits_is_taken_tagged_images_first(corpus):
    knn = make_annotator("knn")
    some = corpus[:5]
    assert part_that_fits(knn, corpus, some, np.inf) is corpus
    half = part_that_fits(knn, corpus, some, fit_bytes(knn, corpus) - 1)
    assert len(some) < len(half) <= len(corpus) // 2
    assert half.tagged.sum() == min(len(half), corpus.tagged.sum())
    assert part_that_fits(knn, corpus, some, 0) is some


def test_what_does_not_fit_is_left_out_and_named(corpus):
    fits = fit_bytes(make_annotator("knn"), corpus)
    auto = Auto(["knn", "network"], budget_bytes=2 * fits).fit(corpus)
    assert {member.name for member in auto.members_} == {"knn"}
    notes = [row.note for row in auto.report_ if row.member.startswith("network")]
    assert notes
    assert all("GB of memory" in note for note in notes)


def test_what_does_not_fit_for_all_is_learned_from_a_part(rng, monkeypatch):
    captions = np.eye(4)[rng.integers(4, size=60)]
    corpus = Corpus.from_arrays(captions=captions, descriptor=rng.normal(size=(60, 5)))
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TRIED", 20)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TAGGED", 15)
    all_need = fit_bytes(make_annotator("knn"), corpus)
    auto = Auto(["knn"], budget_bytes=0.8 * all_need).fit(corpus)
    assert [len(member.rows_) for member in auto.members_] == [30]
    assert all("all would take" in row.note for row in auto.report_ if row.weight > 0)


def test_answers_are_kept_of_as_many_images_as_memory_allows():
    assert most_judged(260, 19, 4e9) > 6000  # a common collection is judged on its whole sample
    assert most_judged(10_000, 19, 4e9) * 10_000 * 19 * 4 < 4e9
    assert most_judged(10_000, 19, 1e9) < most_judged(10_000, 19, 4e9)


def test_a_group_too_large_to_be_judged_leaves_room_for_others(rng):
    groups, fold_of = np.arange(600), rng.integers(3, size=600)
    groups[:200], fold_of[:200] = 0, 0
    for seed in range(20):
        assert (thinned(fold_of, groups, 120, seed) >= 0).sum() == 120
    fold_of[200:] = 1 + np.arange(400) % 2  # nothing else is in its fold
    thin = thinned(fold_of, groups, 120, 0)
    assert np.bincount(thin[thin >= 0]).tolist()[0] == 200
    assert (thin[200:] >= 0).sum() == 120


def test_of_a_group_all_images_are_judged_or_none(rng):
    groups = np.repeat(np.arange(40), 3)
    fold_of = np.repeat(rng.permutation(np.arange(40) % 3), 3)
    fold_of[rng.integers(120, size=10)] = -1  # untagged
    thin = thinned(fold_of, groups, 50, seed=0)
    kept = thin >= 0
    assert 40 <= kept.sum() <= 50
    np.testing.assert_array_equal(thin[kept], fold_of[kept])
    for group in range(40):
        inside = (groups == group) & (fold_of >= 0)
        assert len(np.unique(kept[inside])) <= 1
