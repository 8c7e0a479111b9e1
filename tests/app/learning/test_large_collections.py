"""What `learn` and `annotate` do with tables too large to be held, on a small collection that counts as large."""

import numpy as np
import pytest
from photo_folder import N, copy_library, learn, make_library
from scipy import sparse

from topicture.annotations.choice.presence import thresholds
from topicture.annotations.choice.trials import HeldOut, held_out
from topicture.annotations.shift.worlds import find_worlds
from topicture.app.learning import choosing, learning, training_tags
from topicture.app.learning.annotating import annotate
from topicture.app.learning.calibrating import with_omissions
from topicture.app.learning.training_tags import TrainingTags, gather
from topicture.app.progress import silent
from topicture.app.verbs.library import Library
from topicture.corpus import Corpus, Vocabulary
from topicture.models import base
from topicture.models.registry import make_annotator
from topicture.search import files
from topicture.store import Catalog


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    return library


@pytest.fixture
def library(learned, tmp_path):
    copy_library(learned.folder.parent, tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def test_sparse_tables_say_what_dense_ones_say(learned, monkeypatch):
    with Catalog.open(learned.folder) as catalog:
        dense = gather(catalog, 3)
        monkeypatch.setattr(training_tags, "MOST_PAIRS", 0)
        large = gather(catalog, 3)
    assert sparse.issparse(large.truth)
    np.testing.assert_array_equal(large.judged, dense.judged)
    rows = np.arange(len(dense.images))[::-2]
    words = Vocabulary([*dense.vocabulary.words[::-1], "new"])
    for some, same in (
        (large.at(rows), dense.at(rows)),
        (large.in_words(words).at(rows), dense.in_words(words).at(rows)),
    ):
        for table in ("truth", "known", "rejected", "given", "asked", "captioned"):
            np.testing.assert_array_equal(getattr(some, table), getattr(same, table))
    np.testing.assert_array_equal(dense.at(rows).truth, dense.truth[rows])


def test_learning_of_large_tables_is_trusted_as_much(library, monkeypatch):
    before = library.learn("knn", regions=False, workers=0)
    for module in (training_tags, learning):
        monkeypatch.setattr(module, "MOST_PAIRS", 0)
    after = library.learn("knn", regions=False, workers=0)
    assert after.trials == before.trials
    assert abs(after.calibration_error - before.calibration_error) < 0.02


def test_photos_unlike_the_tagged_ones_of_large_tables_are_trusted_as_little(rng, monkeypatch):
    shoot = np.repeat(np.arange(12), 20)
    usual = rng.random((12, 6)) < 0.5
    words = (rng.random((240, 6)) < 0.7) & usual[shoot]
    words[np.arange(240), rng.integers(0, 6, 240)] = True
    looks = rng.normal(size=(12, 24))[shoot] + words @ rng.normal(size=(6, 24)) + rng.normal(size=(240, 24))
    tagged, none = shoot < 6, np.zeros_like(words)
    captions = words & tagged[:, None]
    corpus = Corpus.from_arrays(
        captions.astype(float), image_ids=[f"{i:03d}" for i in range(240)], descriptor=looks
    )
    known = np.repeat(tagged[:, None], 6, axis=1)
    tags = TrainingTags([], corpus.vocabulary, [], captions, known, none, tagged, captions, none, ())
    places = [f"shoot {number}" for number in shoot]
    world, rows = find_worlds(corpus, places), np.flatnonzero(tagged)
    assert world is not None
    model = make_annotator("knn").fit(corpus)
    near, far = (
        HeldOut(found.p[rows], found.fold_of[rows], rows)
        for groups in (np.arange(240), world.groups)
        for found in [held_out(lambda: make_annotator("knn"), corpus, groups=groups, n_folds=3)]
    )

    def accepted():
        everything = np.arange(240)
        found = learning._trusted(
            corpus, tags, everything, near, far, world, places, everything, model, None, 0
        )
        presence = found.calibration(model.annotate(corpus), corpus, places)
        return presence >= thresholds(found.pairs, 6, 0.7)

    whole = accepted()
    monkeypatch.setattr(learning, "MOST_PAIRS", 0)
    assert whole[~tagged].any()
    np.testing.assert_array_equal(accepted(), whole)


def test_a_named_model_is_judged_on_a_part_of_many(library, monkeypatch):
    monkeypatch.setattr(choosing, "MOST_ANSWERS", 0)
    monkeypatch.setattr(choosing, "FEWEST_JUDGED", 30)
    assert 0 < library.learn("knn", regions=False, workers=0).trials[0].mean <= 1


def test_what_people_judged_is_among_the_part_though_no_model_learns_from_it(rng, monkeypatch):
    captions = (rng.permuted(np.tile([True, True, False], (400, 1)), axis=1)) & (np.arange(400) < 100)[
        :, None
    ]
    corpus = Corpus.from_arrays(captions.astype(float), descriptor=rng.normal(size=(400, 8)))
    judged = np.arange(400) < 110
    monkeypatch.setattr(choosing, "MOST_ANSWERS", 0)
    monkeypatch.setattr(choosing, "FEWEST_JUDGED", 60)
    scores = choosing.choose_and_fit(corpus, "ridge", judged, budget_seconds=10, seed=0, report=silent).scores
    assert len(scores.rows) == 60
    assert set(range(100, 110)) <= set(scores.rows.tolist())
    assert scores.p[judged[scores.rows]].any(axis=1).all()


def test_photos_that_questions_were_about_tell_how_complete_tags_are(rng, monkeypatch):
    """However many other photos are tagged, and none of them is asked of a model."""
    looks = rng.normal(size=(600, 8))
    true = looks[:, :3] + 0.5 * rng.normal(size=(600, 3)) > 0
    given = true & (rng.random(true.shape) < 0.5)
    given[:, 0] |= ~given.any(axis=1)
    corpus = Corpus.from_arrays(given.astype(float), descriptor=looks)
    asked = np.zeros_like(given)
    asked[tuple(rng.permutation(np.argwhere(~given))[:40].T)] = True
    said, no = given | (asked & true), asked & ~true
    words = [[corpus.vocabulary[w] for w in np.flatnonzero(row)] for row in said]
    everything, tagged = np.arange(600), np.ones(600, bool)
    tags = TrainingTags([], corpus.vocabulary, words, said, np.ones_like(given), no, tagged, given, asked, ())
    monkeypatch.setattr(choosing, "MOST_ANSWERS", 0)
    monkeypatch.setattr(choosing, "FEWEST_JUDGED", 80)
    found = with_omissions(corpus, tags, everything, ["shoot"] * 600, everything, 0)
    assert found.corpus.completeness is not None


def test_blocks_and_postings_suggest_and_find_the_same(library, monkeypatch, looked_at):
    def outcome():
        with Catalog.open(library.folder, write=True) as catalog:
            told = annotate(catalog, again=True, workers=0)
            rows = catalog.database.execute("SELECT image, word, probability FROM suggestions").fetchall()
        word = library.queue("certain", limit=1)[0].word
        return told, sorted(rows), [hit.path for hit in library.search(word, 5)]

    whole = outcome()
    monkeypatch.setattr(base, "_BLOCK_IMAGES", (7, 7))
    monkeypatch.setattr(files, "MANY_NUMBERS", 0)
    parts = outcome()
    assert looked_at == [N, N]
    assert parts[0] == whole[0]
    assert parts[2] == whole[2]
    assert [row[:2] for row in parts[1]] == [row[:2] for row in whole[1]]
    np.testing.assert_allclose([row[2] for row in parts[1]], [row[2] for row in whole[1]], rtol=1e-6)
