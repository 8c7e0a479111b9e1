"""Indexes of many images and words: what is kept is exact, what is not is the word's mean, and damage is told."""

import numpy as np
import pytest

from topicture.corpus import Vocabulary
from topicture.errors import CorpusError
from topicture.search import SearchIndexError, WordIndex, files, postings

D, V = 60, 12
WORDS = Vocabulary(f"word{i}" for i in range(V))
IDS = [f"{i:03d}" for i in range(D)]


@pytest.fixture
def p(rng):
    return rng.dirichlet(np.full(V, 0.3), D)


@pytest.fixture
def few(monkeypatch):
    """Small tables count as large, and are put in order in several parts."""
    monkeypatch.setattr(files, "MANY_NUMBERS", 0)
    monkeypatch.setattr(postings, "_ENTRIES", 40)


def build(folder, p, **options):
    return WordIndex.build(folder, WORDS, IDS, [p[:25], p[25:]], **options)


def test_with_all_words_kept_it_is_the_dense_index(tmp_path, p, monkeypatch, few):
    by_word = build(tmp_path / "postings", p)
    assert not isinstance(by_word.log_p, np.ndarray)
    monkeypatch.undo()
    dense = build(tmp_path / "dense", p)
    assert isinstance(dense.log_p, np.ndarray)
    for word in range(V):
        np.testing.assert_array_equal(by_word.row(word), dense.row(word))
    for query in ("word3", "word3 word5", "word1 -word2"):
        assert by_word.search(query, 7) == dense.search(query, 7)


def test_an_image_lists_its_likeliest_words_and_others_have_the_mean(tmp_path, p, monkeypatch, few):
    monkeypatch.setattr(postings, "KEPT_WORDS", 4)
    index = build(tmp_path / "index", p)
    listed = np.zeros((D, V), bool)
    np.put_along_axis(listed, np.argsort(-p, axis=1, kind="stable")[:, :4], True, axis=1)
    for word in range(V):
        row = np.exp(index.row(word))
        np.testing.assert_allclose(row[listed[:, word]], p[listed[:, word], word], rtol=1e-5)
        np.testing.assert_allclose(row[~listed[:, word]], p[~listed[:, word], word].mean(), rtol=1e-5)
    assert len(list((tmp_path / "index").iterdir())) == 7  # and no scratch file


@pytest.mark.parametrize("n", [D - 1, D + 1])
def test_rows_that_are_not_as_many_as_the_ids_are_refused(tmp_path, p, few, n):
    with pytest.raises(CorpusError, match="image ids"):
        WordIndex.build(tmp_path / "index", WORDS, IDS, [np.vstack([p, p])[:n]])
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("damage", ["starts", "images", "log_p", "rest", "beyond"])
def test_damage_is_told_in_one_line(tmp_path, p, few, damage):
    build(tmp_path / "index", p)
    if damage == "beyond":
        images = np.load(tmp_path / "index" / "posting_images.npy")
        images[0] = D
        np.save(tmp_path / "index" / "posting_images.npy", images)
    else:
        path = tmp_path / "index" / f"posting_{damage}.npy"
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(SearchIndexError, match=r"damaged.*build the index again"):
        WordIndex.open(tmp_path / "index").check()
