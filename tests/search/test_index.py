"""The word index: against brute force, its ranking, its folder and what can be wrong with it."""

import json
import math
import os
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicture.annotations.measures import metrics
from topicture.atomic import folders
from topicture.corpus import Vocabulary
from topicture.errors import CorpusError, DataNotFound
from topicture.search.files import BLOCK_IMAGES, SearchIndexError
from topicture.search.index import Hit, WordIndex, log_scores, top_positions
from topicture.search.query import UnknownWords

WORDS = Vocabulary(["tiger", "grass", "water", "golden gate", "Tiger"])


def ids_of(n_images):
    return [f"été/{i}.jpg" for i in range(n_images)]


def build(folder, probabilities, vocabulary=WORDS, **options):
    p = np.asarray(probabilities, dtype=float)
    return WordIndex.build(folder / "index", vocabulary, ids_of(len(p)), [p], **options)


@pytest.fixture
def probabilities(rng):
    """Some ties, some zeros."""
    p = rng.dirichlet(np.full(5, 0.3), size=200)
    p[50:60] = p[40]
    p[:20, 1] = 0.0
    return p / p.sum(axis=1, keepdims=True)


def brute_force(p, caption_length):
    """Scores of `tiger grass -water`, one image at a time; a tiger is written in two ways."""

    def log(x):
        return math.log(x) if x > 0 else -math.inf

    return [
        log(1 - (1 - row[0]) * (1 - row[4])) + log(row[1]) + caption_length * log(1 - row[2])
        for row in p.astype(np.float64)
    ]


def test_alternatives_that_are_all_improbable_are_found_even_so(tmp_path):
    p = np.array([[1e-20, 0.5, 1e-20, 0.1, 2e-20], [0, 0.5, 3e-17, 0.1, 1e-40], [0, 0.5, 0, 0.5, 0]])
    index = build(tmp_path, p)
    either = index.scores("tiger OR water")
    np.testing.assert_allclose(either[:2], np.log([4e-20, 3e-17]), rtol=1e-6)
    assert either[2] == -np.inf
    np.testing.assert_allclose(index.scores("tiger")[:2], np.log([3e-20, 1e-40]), rtol=1e-6)
    tiny = {word: np.array([-800.0, -np.inf]) for word in index.parse("grass OR water").words}
    found = log_scores(index.parse("grass OR water"), tiny.__getitem__)
    np.testing.assert_allclose(found, [-800 + np.log(2), -np.inf])


def test_alternatives_are_judged_by_themselves(tmp_path, probabilities):
    scores = build(tmp_path, probabilities).scores("grass OR water, -golden gate")
    p = probabilities
    with np.errstate(divide="ignore"):
        expected = np.log(1 - (1 - p[:, 1]) * (1 - p[:, 2])) + np.log(1 - p[:, 3])
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("caption_length", [1.0, 3.5])
def test_search_agrees_with_brute_force(tmp_path, probabilities, caption_length):
    index = build(tmp_path, probabilities)
    scores = index.scores("tiger grass -water", caption_length=caption_length)
    expected = brute_force(probabilities, caption_length)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
    hits = index.search("tiger grass -water", 60, caption_length=caption_length)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])[:60]
    assert [hit.image_id for hit in hits] == [ids_of(200)[i] for i in order]
    assert [hit.score for hit in hits] == [scores[i] for i in order]


@pytest.mark.parametrize("caption_length", [0, -1, math.nan])
def test_a_caption_has_a_length(tmp_path, caption_length):
    with pytest.raises(ValueError, match="caption_length"):
        build(tmp_path, [[0.2] * 5]).search("grass", caption_length=caption_length)


def test_a_hit_tells_the_probability_of_every_query_word(tmp_path):
    index = build(tmp_path, [[0.1, 0.2, 0.3, 0.0, 0.4], [0.1, 0.6, 0.1, 0.1, 0.1]])
    second, first = index.search("TIGER -grass")[::-1]
    tiger = 1 - 0.9 * 0.6  # written in one way or in the other
    assert first.image_id == "été/0.jpg"
    assert type(first.score) is float
    assert first.score == pytest.approx(math.log(tiger * 0.8), abs=1e-6)
    assert first.probabilities == pytest.approx({"tiger": tiger, "grass": 0.2})
    assert second == Hit(
        "été/1.jpg", pytest.approx(math.log(0.19 * 0.4)), pytest.approx({"tiger": 0.19, "grass": 0.6})
    )


def test_impossible_images_score_minus_infinity_and_are_no_hits(tmp_path):
    sure, never = [0.0, 0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5, 0.0]
    index = build(tmp_path, [sure, never, [0.2] * 5])
    assert index.scores("water").tolist() == [0.0, -math.inf, pytest.approx(math.log(0.2))]
    assert [hit.image_id[-5] for hit in index.search("water")] == ["0", "2"]
    assert [hit.image_id[-5] for hit in index.search("-water")] == ["1", "2"]
    assert index.search("grass tiger -water", 1)[0].image_id == "été/2.jpg"
    assert index.search('grass "golden gate" tiger water')[0].image_id == "été/2.jpg"


def test_more_of_an_unwanted_word_never_ranks_higher(tmp_path):
    water = np.linspace(0, 1, 101)
    index = build(tmp_path, np.column_stack([(1 - water) / 4] * 2 + [water] + [(1 - water) / 4] * 2))
    scores = index.scores("-water")
    assert (np.diff(scores) < 0).all()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(scores, np.log1p(-water), rtol=1e-5, atol=1e-12)


def test_ties_keep_the_order_of_the_collection(tmp_path):
    index = build(tmp_path, np.full((1000, 5), 0.2))
    assert [hit.image_id for hit in index.search("grass -water", 7)] == ids_of(7)


@given(
    st.lists(st.sampled_from([-math.inf, -3.0, -2.0, -1.5, -1.0, -0.0, 0.0]), max_size=40), st.integers(1, 45)
)
def test_top_positions_are_the_head_of_the_stable_order(scores, k):
    expected = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    assert top_positions(np.array(scores, dtype=float), k).tolist() == expected


def test_curves_and_averages_come_from_the_measures(tmp_path, rng):
    """Single words and pairs: the index ranks as the measures do on the table of probabilities."""
    vocabulary = Vocabulary(list("abcde"))
    p, captions = rng.dirichlet(np.ones(5), size=80), rng.random((80, 5)) < 0.4
    index = build(tmp_path, p, vocabulary)
    for words in [(0,), (1, 3)]:
        query = index.parse(" ".join(vocabulary[w] for w in words))
        found = metrics.relevance(captions, words)
        scores = log_scores(query, lambda word: index.log_presence(word.ids))
        expected = metrics.average_precision(metrics.retrieval_scores(p, words), found)
        assert metrics.average_precision(scores, found) == pytest.approx(expected)
        assert metrics.precision_recall(scores, found).recall[-1] == 1.0


@pytest.mark.parametrize("k", [0, -1])
def test_no_images_asked_for(tmp_path, k):
    with pytest.raises(ValueError, match="at least 1"):
        build(tmp_path, [[0.2] * 5]).search("grass", k)


def test_unknown_words_are_refused_with_neighbours(tmp_path):
    with pytest.raises(UnknownWords, match="nearest: grass"):
        build(tmp_path, [[0.2] * 5]).search("gras")


# --- Building ---------------------------------------------------------------------------------------------------


def test_the_size_of_the_blocks_changes_nothing(tmp_path, rng):
    p = rng.dirichlet(np.ones(5), size=BLOCK_IMAGES + 100)
    whole = build(tmp_path, p)
    blocks = iter([p[:10], p[10:10], p[10:]])
    parts = WordIndex.build(tmp_path / "parts", WORDS, ids_of(len(p)), blocks)
    np.testing.assert_array_equal(parts.log_p, np.log(p.T).astype(np.float32))
    np.testing.assert_array_equal(parts.log_p, whole.log_p)


def test_building_needs_the_memory_of_a_block(tmp_path, rng):
    """40 blocks of 1.6 MB each make an index of 32 MB; several working copies of one block are allowed."""
    block = rng.dirichlet(np.ones(200), size=1000)
    vocabulary = Vocabulary(map(str, range(200)))
    tracemalloc.start()
    try:
        WordIndex.build(tmp_path / "index", vocabulary, ids_of(40_000), (block.copy() for _ in range(40)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16e6


def test_float16_is_half_as_large_and_nearly_as_good(tmp_path, probabilities):
    index = build(tmp_path, probabilities, dtype="float16")
    assert index.log_p.nbytes == probabilities.size * 2
    exact = np.array(brute_force(probabilities, 1.0))
    possible = np.isfinite(exact)
    scores = index.scores("tiger grass -water")
    np.testing.assert_array_equal(np.isfinite(scores), possible)
    np.testing.assert_allclose(scores[possible], exact[possible], rtol=2e-3, atol=2e-3)


def test_an_index_of_nothing(tmp_path):
    index = build(tmp_path, np.zeros((0, 5)))
    assert len(index) == 0
    assert index.search("grass") == []


@pytest.mark.parametrize(
    ("n_images", "p", "message"),
    [
        (1, [[0.5, 0.5, 0.0]], "each image needs 5"),
        (1, [0.2] * 5, "each image needs 5"),
        (2, [[0.2] * 5], "only 1 images"),
        (1, [[0.2] * 5] * 2, "more images"),
        (2, [[0.2] * 5, [0.2, 0.2, np.nan, 0.2, 0.2]], "image 1: its word probabilities"),
        (1, [[1.2, 0, 0, 0, 0]], "image 0: its word probabilities"),
        (1, [[-0.1, 1.1, 0, 0, 0]], "image 0: its word probabilities"),
    ],
)
def test_what_is_no_table_of_probabilities_is_refused_and_the_former_index_stays(
    tmp_path, n_images, p, message
):
    build(tmp_path, [[0.2] * 5])
    with pytest.raises(CorpusError, match=message):
        WordIndex.build(tmp_path / "index", WORDS, ids_of(n_images), [p])
    assert len(WordIndex.open(tmp_path / "index")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_unknown_number_type(tmp_path):
    with pytest.raises(ValueError, match="dtype is one of float32, float16"):
        build(tmp_path, [[0.2] * 5], dtype="float64")


def test_a_new_index_replaces_the_former_and_nothing_else(tmp_path):
    former = build(tmp_path, [[0.2] * 5])
    new = build(tmp_path, [[0.2] * 5] * 3)
    assert (len(former), len(new)) == (1, 3)
    assert former.search("grass")[0].image_id == "été/0.jpg"
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(SearchIndexError, match="holds other files"):
        WordIndex.build(tmp_path / "photos", WORDS, ids_of(1), [[[0.2] * 5]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "photos"]


def test_a_failed_swap_puts_the_former_index_back(tmp_path, monkeypatch):
    build(tmp_path, [[0.2] * 5])
    rename = os.rename

    def rename_but_not_the_new(source, target):
        if source.name == "new":
            raise PermissionError("in use")
        rename(source, target)

    monkeypatch.setattr(folders, "_exchange", lambda a, b: False)  # as on a system that has no such call
    monkeypatch.setattr(os, "rename", rename_but_not_the_new)
    with pytest.raises(PermissionError):
        build(tmp_path, [[0.2] * 5] * 3)
    assert len(WordIndex.open(tmp_path / "index")) == 1


# --- A folder that is not as it was written ---------------------------------------------------------------------


def test_no_index_there(tmp_path):
    with pytest.raises(DataNotFound, match="no search index"):
        WordIndex.open(tmp_path)


FILES = ["index.json", "log_p.npy", "id_text.npy", "id_offsets.npy"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("left", [0, 5, 0.5, 0.97])
def test_a_truncated_file_is_one_clear_error(tmp_path, probabilities, name, left):
    build(tmp_path, probabilities)
    path = tmp_path / "index" / name
    content = path.read_bytes()
    path.write_bytes(content[: left if isinstance(left, int) else int(left * len(content))])
    assert_damaged(tmp_path / "index", name)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_missing_or_foreign_file_is_one_clear_error(tmp_path, probabilities, name):
    build(tmp_path, probabilities)
    path = tmp_path / "index" / name
    np.save(path, np.zeros((3, 3), dtype=np.float32))
    assert_damaged(tmp_path / "index", name)
    np.save(path, np.array([None]), allow_pickle=True)
    assert_damaged(tmp_path / "index", name)
    path.write_bytes(b"PK\x03\x04 not an array")
    assert_damaged(tmp_path / "index", name)
    path.unlink()
    assert_damaged(tmp_path / "index", name)


@pytest.mark.parametrize(
    "change",
    [
        {"topicture_index": 99},
        {"n_images": 3},
        {"n_images": "many"},
        {"vocabulary": ["a", "a", "b", "c", "d"]},
        {"vocabulary": 5},
        {"dtype": "float64"},
        {"dtype": "no such"},
    ],
)
def test_a_header_that_does_not_fit_is_one_clear_error(tmp_path, probabilities, change):
    build(tmp_path, probabilities)
    path = tmp_path / "index" / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert_damaged(tmp_path / "index")
    path.write_text("[]")
    assert_damaged(tmp_path / "index")


def test_offsets_that_fall(tmp_path, probabilities):
    index = build(tmp_path, probabilities)
    offsets = np.load(tmp_path / "index" / "id_offsets.npy")
    del index
    offsets[5] = 10_000_000
    np.save(tmp_path / "index" / "id_offsets.npy", offsets)
    assert_damaged(tmp_path / "index", "id_offsets.npy")


@pytest.mark.parametrize("value", [np.nan, 3.0])
def test_numbers_that_are_no_log_probabilities(tmp_path, probabilities, value):
    build(tmp_path, probabilities)
    path = tmp_path / "index" / "log_p.npy"
    log_p = np.load(path)
    log_p[1, 100] = value
    np.save(path, log_p)
    with pytest.raises(SearchIndexError, match="damaged"):
        WordIndex.open(tmp_path / "index").search("grass")


def test_an_index_can_be_moved(tmp_path, probabilities):
    build(tmp_path, probabilities)
    shutil.move(tmp_path / "index", tmp_path / "elsewhere")
    assert len(WordIndex.open(tmp_path / "elsewhere").search("grass", 5)) == 5


def assert_damaged(folder, name="index.json"):
    with pytest.raises(SearchIndexError, match="build the index again") as caught:
        WordIndex.open(folder)
    message = str(caught.value)
    assert "\n" not in message
    if name != "index.json":
        assert name in message
