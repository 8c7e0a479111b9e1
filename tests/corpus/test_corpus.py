"""The corpus: conversion, validation, parts."""

import dataclasses
from itertools import chain, pairwise

import numpy as np
import pytest
from corpora import make_tiny_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError

VIEWS = ("regions", "region_offsets", "region_words", "visual_words", "descriptor")
TWELVE = make_tiny_corpus(np.random.default_rng(5))


def minimal(**changes):
    """Three images, two words, every view; image1 has no region."""
    fields = {
        "captions": [[1, 0], [0, 2], [0, 0]],
        "vocabulary": ["sky", "sea"],
        "image_ids": ["a", "b", "c"],
        "regions": [[[1.0, 2.0], [3.0, 4.0]], [], [[5.0, 6.0]]],
        "region_words": [[[1, 0, 2], [0, 1, 0]], [], [[0, 0, 3]]],
        "descriptor": [[0.1], [0.2], [0.3]],
    }
    return Corpus.from_arrays(**{**fields, **changes})


# --- Conversion ------------------------------------------------------------------------------------------------


def test_lists_become_arrays():
    corpus = minimal()
    assert len(corpus) == 3
    assert (corpus.n_words, corpus.n_features, corpus.n_visual_words) == (2, 2, 3)
    assert corpus.n_regions.tolist() == [2, 0, 1]
    assert corpus.region_offsets.tolist() == [0, 2, 2, 3]
    assert corpus.regions.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert corpus.tagged.tolist() == [True, True, False]
    assert corpus.captions.toarray().tolist() == [[1, 0], [0, 2], [0, 0]]
    assert {getattr(corpus, view).dtype for view in ("regions", "descriptor", "captions")} == {
        np.dtype(float)
    }


def test_bags_of_regions_sum_to_bags_of_images():
    assert minimal().visual_words.toarray().tolist() == [[1, 1, 2], [0, 0, 0], [0, 0, 3]]


def test_given_bags_of_images_are_kept():
    corpus = minimal(visual_words=np.ones((3, 3)))
    np.testing.assert_array_equal(corpus.visual_words.toarray(), 1)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_dense_and_sparse_agree(kind):
    counts = np.array([[1, 0], [0, 2], [0, 0]])
    assert minimal(captions=kind(counts)) == minimal()


def test_sparse_bags_of_regions_agree_with_lists():
    bags = [sparse.csr_array([[1, 0, 2], [0, 1, 0]]), sparse.csr_array((0, 3)), sparse.csr_array([[0, 0, 3]])]
    assert minimal(region_words=bags) == minimal()


def test_stacked_regions_agree_with_lists():
    corpus = minimal()
    stacked = minimal(
        regions=corpus.regions, region_words=corpus.region_words, region_offsets=corpus.region_offsets
    )
    assert stacked == corpus


def test_sparse_input_is_brought_to_canonical_form():
    """Duplicates summed, stored zeros dropped: an image whose only count is a stored zero is not tagged."""
    rows, columns, values = [0, 0, 1, 2], [1, 1, 0, 0], [1.0, 2.0, 0.0, 1.0]
    corpus = Corpus.from_arrays(captions=sparse.coo_array((values, (rows, columns)), shape=(3, 2)))
    assert corpus.captions.nnz == 2
    assert corpus.captions.toarray().tolist() == [[0, 3], [0, 0], [1, 0]]
    assert corpus.tagged.tolist() == [True, False, True]
    assert corpus.captions.indices.dtype == np.int32


def test_names_are_made_up_where_none_are_given():
    corpus = Corpus.from_arrays(captions=np.eye(2))
    assert corpus.image_ids.tolist() == ["image000000", "image000001"]
    assert corpus.vocabulary.words == ("word0", "word1")
    assert not corpus.n_regions.any()
    assert corpus.n_features is None
    assert corpus.n_visual_words is None


def test_without_captions_every_image_is_untagged():
    corpus = Corpus.from_arrays(vocabulary=["sky"], descriptor=np.zeros((4, 2)))
    assert corpus.captions.shape == (4, 1)
    assert not corpus.tagged.any()


def test_corpus_of_ids_alone():
    assert len(Corpus.from_arrays(vocabulary=["sky"], image_ids=["a", "b"])) == 2


def test_no_image_with_regions_keeps_the_number_of_features():
    corpus = Corpus.from_arrays(captions=np.eye(2), regions=[np.zeros((0, 5)), np.zeros((0, 5))])
    assert corpus.n_features == 5
    assert corpus.n_regions.tolist() == [0, 0]


def test_vocabulary_object_is_taken_as_it_is():
    vocabulary = Vocabulary(["sky", "sea"])
    assert minimal(vocabulary=vocabulary).vocabulary is vocabulary


# --- Frozen ------------------------------------------------------------------------------------------------------


def test_arrays_are_read_only():
    corpus = minimal()
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.regions = None
    for array in (corpus.image_ids, corpus.regions, corpus.region_offsets, corpus.descriptor):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    for matrix in (corpus.captions, corpus.region_words, corpus.visual_words):
        for part in (matrix.data, matrix.indices, matrix.indptr):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 0


def test_what_the_caller_gave_stays_his():
    """The caller can go on writing into his arrays, and the corpus does not change."""
    given = {
        "captions": np.eye(3, 2),
        "regions": np.arange(6.0).reshape(3, 2),
        "region_offsets": np.array([0, 2, 2, 3]),
        "region_words": sparse.csr_array(np.eye(3)),
        "descriptor": np.ones((3, 1)),
    }
    corpus, twin = (Corpus.from_arrays(**given) for _ in range(2))
    for name in ("captions", "regions", "region_offsets", "descriptor"):
        given[name][:] = 7
    given["region_words"].data[:] = 7
    assert corpus == twin


def test_a_corpus_has_no_hash():
    with pytest.raises(TypeError):
        hash(minimal())


# --- Equality ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"captions": [[1, 0], [0, 1], [0, 0]]},
        {"vocabulary": ["sky", "sun"]},
        {"image_ids": ["a", "b", "d"]},
        {"regions": [[[1.0, 2.0], [3.0, 4.5]], [], [[5.0, 6.0]]]},
        {"regions": None},
        {"region_words": [[[1, 0, 2], [0, 1, 0]], [], [[0, 0, 4]]], "visual_words": np.ones((3, 3))},
        {"region_words": None},
        {"visual_words": np.ones((3, 3))},
        {"descriptor": [[0.1, 0], [0.2, 0], [0.3, 0]]},
        {"descriptor": None},
    ],
    ids=lambda change: "+".join(change),
)
def test_any_difference_makes_corpora_unequal(change):
    assert minimal() == minimal()
    assert minimal(**change) != minimal()


def test_a_corpus_equals_no_other_thing():
    assert minimal() != "corpus"
    assert minimal().__eq__(3) is NotImplemented


def test_repr_says_what_is_in_it():
    assert repr(minimal()) == (
        "Corpus(3 images, 2 tagged, 2 words; 3 regions x 2; bags per region over 3; 3 visual words; descriptor of 1)"
    )


# --- Parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        (slice(2, 5), [2, 3, 4]),
        (slice(None, None, -4), [11, 7, 3]),
        (np.array([7, 0, 3]), [7, 0, 3]),
        ([5, -1], [5, 11]),
        (np.arange(12) % 5 == 1, [1, 6, 11]),
        (4, [4]),
        (-2, [10]),
    ],
)
def test_slicing(index, rows):
    part = TWELVE[index]
    assert part.image_ids.tolist() == TWELVE.image_ids[rows].tolist()
    for name in ("captions", "visual_words"):
        np.testing.assert_array_equal(getattr(part, name).toarray(), getattr(TWELVE, name).toarray()[rows])
    np.testing.assert_array_equal(part.descriptor, TWELVE.descriptor[rows])
    for i, row in enumerate(rows):
        for name in ("regions", "region_words"):
            np.testing.assert_array_equal(regions_of(part, i, name), regions_of(TWELVE, row, name))


def regions_of(corpus, i, name):
    rows = getattr(corpus, name)[corpus.region_offsets[i] : corpus.region_offsets[i + 1]]
    return rows.toarray() if sparse.issparse(rows) else rows


def test_slices_without_some_views():
    bare = Corpus.from_arrays(captions=np.eye(3))
    assert all(getattr(bare[1:], view) is None for view in VIEWS)
    only_bags = Corpus.from_arrays(captions=np.eye(2), region_words=[[[1, 2]], [[3, 4], [5, 6]]])
    assert only_bags[1].region_words.toarray().tolist() == [[3, 4], [5, 6]]
    assert only_bags[1].regions is None


@pytest.mark.parametrize("index", [slice(5, 5), [], np.zeros(12, bool)])
def test_empty_selection_is_refused(index):
    with pytest.raises(CorpusError, match="selection of its 12 images is empty"):
        TWELVE[index]


@pytest.mark.parametrize("index", [12, [0, 99], np.ones(11, bool), "a", 1.5])
def test_selection_outside_is_refused(index):
    with pytest.raises(IndexError):
        TWELVE[index]


def test_iteration_gives_single_images():
    assert [len(image) for image in TWELVE] == [1] * 12


def test_an_image_cannot_be_taken_twice():
    with pytest.raises(CorpusError, match="'image000001' occurs 2 times"):
        TWELVE[[0, 1, 1]]


@given(st.permutations(range(12)), st.sets(st.integers(1, 11), max_size=4))
@settings(max_examples=40, deadline=None)
def test_slicing_then_concat_is_identity(order, cuts):
    bounds = [0, *sorted(cuts), 12]
    order = np.array(order)
    parts = [TWELVE[order[a:b]] for a, b in pairwise(bounds)]
    together = Corpus.concat(parts)
    assert together == TWELVE[order]
    assert together[np.argsort(order)] == TWELVE


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"vocabulary": ["sky", "sun"]}, "part 1: its vocabulary differs"),
        ({"descriptor": None}, "'descriptor' is missing"),
        ({"descriptor": np.ones((3, 4))}, "'descriptor' has 4 columns, not 1"),
        ({"regions": None}, "'regions' is missing"),
        ({"image_ids": ["d", "e", "a"]}, "'a' occurs 2 times"),
        ({"regions": None, "region_words": None}, "only one of the two has regions"),
    ],
)
def test_concat_of_unlike_corpora_is_refused(other, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.concat([minimal(), minimal(**{"image_ids": ["d", "e", "f"], **other})])


def test_concat_of_nothing_is_refused():
    with pytest.raises(CorpusError, match="no corpus"):
        Corpus.concat([])


def test_without_captions():
    assert not TWELVE.without_captions().tagged.any()
    mask = np.arange(12) < 3
    part = TWELVE.without_captions(mask)
    np.testing.assert_array_equal(part.tagged, TWELVE.tagged & ~mask)
    assert part[3:] == TWELVE[3:]
    assert part.visual_words is TWELVE.visual_words
    with pytest.raises(CorpusError, match=r"shape \(2,\), not \(12,\)"):
        TWELVE.without_captions([True, False])


@pytest.mark.parametrize("parts", [[0.25, 0.75], [0.5, 0.2], [3, 9], [1, 1, 1], (1.0,), [0.33, 0.33, 0.34]])
def test_split_gives_disjoint_parts_in_order(parts):
    given = TWELVE.split(parts, seed=3)
    ids = [part.image_ids.tolist() for part in given]
    expected = [n if isinstance(n, int) else round(12 * n) for n in parts]
    assert [len(part) for part in given] == expected
    assert len(set(chain(*ids))) == sum(expected)
    assert all(part == sorted(part) for part in ids)
    assert all(a == b for a, b in zip(given, TWELVE.split(parts, seed=3), strict=True))


def test_split_depends_on_the_seed():
    assert TWELVE.split([4], seed=0) != TWELVE.split([4], seed=1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([0.5, 0.6], "at most 1"),
        ([-0.1, 0.5], "at least 0"),
        ([float("nan")], "at least 0"),
        ([7, 6], "asked of a corpus of 12"),
        ([-1, 6], "asked of a corpus of 12"),
        ([0.01, 0.5], "would be empty"),
        ([0, 5], "would be empty"),
    ],
)
def test_impossible_splits_are_refused(parts, message):
    with pytest.raises(CorpusError, match=message):
        TWELVE.split(parts, seed=0)


# --- Validation: which image, which field ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"regions": [[[1, 2], [3, np.nan]], [], [[5, 6]]]}, "regions: image 'a', region 1, column 1: .*NaN"),
        (
            {"regions": [[[1, 2], [3, 4]], [], [[-np.inf, 6]]]},
            "regions: image 'c', region 0, column 0: .*infinite",
        ),
        ({"regions": [[[np.inf, -np.inf]], [], []], "region_words": None}, "regions: image 'a', region 0"),
        ({"descriptor": [[0], [np.nan], [0]]}, "descriptor: image 'b', column 0: .*NaN"),
        (
            {"captions": [[1, 0], [0, -2], [0, 0]]},
            r"captions: image 'b', 'sea': the count is negative \(-2\)",
        ),
        ({"captions": [[1, 0], [np.nan, 0], [0, 0]]}, "captions: image 'b', 'sky': .*NaN"),
        ({"visual_words": [[1, 0], [0, 0], [0, np.inf]]}, "visual_words: image 'c', column 1: .*infinite"),
        (
            {"region_words": [[[1], [0]], [], [[-1]]]},
            "region_words: image 'c', region 0, column 0: .*negative",
        ),
        ({"descriptor": [[0.0], [1.0]]}, "descriptor: 2 rows for 3 images"),
        ({"visual_words": np.ones((4, 2))}, "visual_words: 4 rows for 3 images"),
        ({"image_ids": ["a", "b"]}, "for 2 images"),
        ({"image_ids": ["a", "b", "a"]}, "image_ids: 'a' occurs 2 times"),
        ({"vocabulary": ["sky"]}, "captions: 2 columns for a vocabulary of 1 words"),
        ({"regions": [[[1, 2]], [], [[5, 6]]]}, "region_words: image a: 2 regions, but regions has 1"),
        ({"region_words": [[], []]}, "region_words: 2 images, but regions has 3"),
        ({"regions": [[[1, 2, 3], [1, 2, 3]], [], [[5, 6]]]}, r"different numbers of columns: \[2, 3\]"),
        ({"regions": [[["x", "y"]], [], []]}, "regions: image number 0: expected a matrix of numbers"),
        ({"regions": np.zeros((3, 1, 1, 2))}, "regions: image number 0: expected a matrix, got 3 dimensions"),
        ({"regions": np.zeros((3, 2))}, "stacked rows need region_offsets"),
        ({"captions": [1, 0, 1]}, "captions: expected a matrix of counts, got 1 dimensions"),
        ({"captions": [[1, 0], [1], [0, 0]]}, "captions: expected a matrix of counts"),
        ({"captions": [["sky", ""]] * 3}, "captions: expected numbers"),
        (
            {"captions": sparse.coo_array(np.ones(3))},
            "captions: expected a matrix of counts, got 1 dimensions",
        ),
        ({"descriptor": [1, 2, 3]}, "descriptor: expected a matrix, got 1 dimensions"),
        ({"descriptor": [["x"], ["y"], ["z"]]}, "descriptor: expected a matrix of numbers"),
    ],
)
def test_errors_name_image_and_field(changes, message):
    with pytest.raises(CorpusError, match=message) as refused:
        minimal(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 3, 2, 3], "wrong at image 'b'"),
        ([1, 2, 2, 3], "wrong at the first image"),
        ([0, 2, 3], "3 positions for 3 images"),
        ([0, 2, 2, 4], "3 rows, but region_offsets end at 4"),
        ([0, 1.5, 2, 3], "expected a row of whole numbers"),
        ([[0, 2, 2, 3]], "expected a row of whole numbers"),
        ([], "expected a row of whole numbers"),
    ],
)
@pytest.mark.parametrize("view", ["regions", "region_words"])
def test_wrong_offsets(view, offsets, message):
    fields = {"captions": np.eye(3, 2), "image_ids": ["a", "b", "c"], view: np.ones((3, 2))}
    with pytest.raises(CorpusError, match=message):
        Corpus.from_arrays(**fields, region_offsets=offsets)


def test_no_image_is_refused():
    with pytest.raises(CorpusError, match="holds no image"):
        Corpus.from_arrays(captions=np.zeros((0, 3)))
    with pytest.raises(CorpusError, match="holds no image"):
        Corpus.from_arrays(vocabulary=["sky"], regions=[])
    with pytest.raises(CorpusError, match="nothing to build it from"):
        Corpus.from_arrays(vocabulary=["sky"])
    with pytest.raises(CorpusError, match="give captions, or a vocabulary"):
        Corpus.from_arrays(descriptor=np.ones((2, 2)))


def test_the_constructor_checks_too():
    corpus = minimal()
    with pytest.raises(CorpusError, match="region_offsets are missing"):
        dataclasses.replace(corpus, region_offsets=None)
    with pytest.raises(CorpusError, match="one id per image"):
        dataclasses.replace(corpus, image_ids=corpus.image_ids[:, None])


def test_large_finite_features_are_not_taken_for_infinite():
    assert minimal(descriptor=[[1.7e308], [1.7e308], [0]]).descriptor[0, 0] == 1.7e308


# --- Large views ---------------------------------------------------------------------------------------------------


def test_parts_that_stand_side_by_side_are_views_and_others_copies(rng, monkeypatch):
    descriptor = rng.normal(size=(20, 3)).astype(np.float32)
    corpus = Corpus.from_arrays(captions=np.ones((20, 1)), descriptor=descriptor)
    assert corpus.descriptor.dtype == np.float32
    assert np.shares_memory(corpus[3:9].descriptor, corpus.descriptor)
    assert np.shares_memory(corpus.without_captions().descriptor, corpus.descriptor)
    rows = rng.permutation(20)
    monkeypatch.setattr("topicture.corpus.rows.LARGE_BYTES", 0)
    mapped = corpus[rows].descriptor
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, descriptor[rows])


def test_what_nobody_can_write_to_is_not_copied(rng):
    descriptor = rng.normal(size=(5, 3))
    assert not np.shares_memory(
        Corpus.from_arrays(np.ones((5, 1)), descriptor=descriptor).descriptor, descriptor
    )
    descriptor.flags.writeable = False
    assert np.shares_memory(Corpus.from_arrays(np.ones((5, 1)), descriptor=descriptor).descriptor, descriptor)


def test_an_image_can_not_be_chosen_twice():
    with pytest.raises(CorpusError, match="occurs 2 times"):
        minimal()[[0, 1, 0]]


# --- Vectors of words ----------------------------------------------------------------------------------------------


def test_vectors_of_words_stay_with_every_part(tmp_path):
    corpus = minimal(word_vectors=[[1], [2]])
    assert corpus.word_vectors.tolist() == [[1.0], [2.0]]
    assert not corpus.word_vectors.flags.writeable
    corpus.save(tmp_path / "corpus")
    cut = Corpus.concat([corpus[:2], corpus[2:]])
    for other in (corpus[[2, 0]], corpus.without_captions(), cut, Corpus.load(tmp_path / "corpus")):
        np.testing.assert_array_equal(other.word_vectors, corpus.word_vectors)
    assert corpus != minimal()
    assert minimal().word_vectors is None


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0]], "word_vectors: 1 rows for a vocabulary of 2 words"),
        ([[1.0, 2.0], [3.0, 4.0]], "word_vectors: 2 columns, but the descriptor has 1"),
        ([[1.0], [np.nan]], "word_vectors: 'sea': a value is not a finite number"),
        ([[np.inf], [1.0]], "word_vectors: 'sky': a value is not a finite number"),
        ([1.0, 2.0], "word_vectors: expected a matrix"),
        ([["a"], ["b"]], "word_vectors: expected a matrix of numbers"),
    ],
)
def test_bad_vectors_of_words_are_refused(vectors, message):
    with pytest.raises(CorpusError, match=message):
        minimal(word_vectors=vectors)


def test_concat_of_other_vectors_is_refused():
    parts = [minimal(word_vectors=[[1], [2]])[:2], minimal(word_vectors=[[1], [3]])[2:]]
    with pytest.raises(CorpusError, match="word_vectors differ"):
        Corpus.concat(parts)
