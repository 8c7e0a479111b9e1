import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.errors import CorpusError, FitWarning, ModelFileError, TopictureError
from topicture.vision.features import quantise
from topicture.vision.features.quantise import Codebook, count_words, fit_codebook


@pytest.fixture
def clusters(rng):
    """Five tight clusters in the plane, one hundred points each, and the cluster of every point."""
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10], [5, 30]], dtype=float)
    member = np.repeat(np.arange(5), 100)
    return centres[member] + rng.normal(scale=0.1, size=(500, 2)), member


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("standardise", [False, True])
def test_separated_clusters_become_the_words(clusters, standardise):
    points, member = clusters
    codebook = fit_codebook(points, 5, descriptor="toy-v1", standardise=standardise)
    assert same_partition(codebook.assign(points), member)


def test_standardising_makes_units_irrelevant(clusters):
    points, _ = clusters
    plain = fit_codebook(points, 5, descriptor="toy-v1", standardise=True)
    rescaled = fit_codebook(points * [1000, 0.001] + 7, 5, descriptor="toy-v1", standardise=True)
    assert same_partition(plain.assign(points), rescaled.assign(points * [1000, 0.001] + 7))


def test_words_are_nearest_centres(rng):
    points = rng.normal(size=(300, 6))
    codebook = fit_codebook(points, 20, descriptor="toy-v1", standardise=True)
    scaled = (points - codebook.mean) / codebook.scale
    distance2 = ((scaled[:, None] - codebook.centres[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codebook.assign(points), distance2.argmin(axis=1))


def test_batches_do_not_change_the_words(rng, monkeypatch):
    points = rng.normal(size=(200, 8))
    codebook = fit_codebook(points, 16, descriptor="toy-v1")
    whole = codebook.assign(points)
    monkeypatch.setattr(quantise, "BATCH", 33)
    np.testing.assert_array_equal(codebook.assign(points), whole)


def test_same_seed_same_codebook_whatever_the_threads(rng):
    points = rng.normal(size=(1200, 8))
    threads = faiss.omp_get_max_threads()
    try:
        books = []
        for n in (1, 2, 3):
            faiss.omp_set_num_threads(n)
            books.append(fit_codebook(points, 30, descriptor="toy-v1", n_restarts=2, max_points=1000, seed=4))
    finally:
        faiss.omp_set_num_threads(threads)
    np.testing.assert_array_equal(books[0].centres, books[1].centres)
    np.testing.assert_array_equal(books[0].centres, books[2].centres)
    other = fit_codebook(points, 30, descriptor="toy-v1", n_restarts=2, max_points=1000, seed=5)
    assert not np.array_equal(other.centres, books[0].centres)


def test_restarts_never_make_it_worse(rng):
    points = rng.normal(size=(400, 4)).astype(np.float32)

    def distortion(codebook):
        return ((points - codebook.centres[codebook.assign(points)]) ** 2).sum()

    once = fit_codebook(points, 30, descriptor="toy-v1", n_restarts=1)
    often = fit_codebook(points, 30, descriptor="toy-v1", n_restarts=8)
    assert distortion(often) <= distortion(once) * (1 + 1e-6)


def test_too_few_descriptors_make_a_smaller_codebook_and_say_so():
    points = np.repeat(np.eye(3), 4, axis=0)
    with pytest.warns(FitWarning, match="3 words, not 10: there are 3 distinct"):
        codebook = fit_codebook(points, 10, descriptor="toy-v1")
    assert codebook.n_words == 3
    np.testing.assert_array_equal(codebook.centres[codebook.assign(points)], points)


def test_constant_columns_are_harmless(rng):
    points = np.column_stack([rng.normal(size=100), np.full(100, 0.1)])
    codebook = fit_codebook(points, 4, descriptor="toy-v1", standardise=True)
    assert np.isfinite(codebook.centres).all()
    assert codebook.scale[1] == 1


def test_round_trip_through_arrays(rng, tmp_path):
    codebook = fit_codebook(rng.normal(size=(50, 3)), 5, descriptor="blobs-v1", standardise=True)
    np.savez(tmp_path / "book.npz", **codebook.to_arrays())
    with np.load(tmp_path / "book.npz", allow_pickle=False) as arrays:
        again = Codebook.from_arrays(arrays)
    assert again.descriptor == "blobs-v1"
    for name in ("centres", "mean", "scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(codebook, name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("centres", np.zeros((0, 3))),
        ("centres", np.full((2, 3), np.nan)),
        ("mean", np.zeros(4)),
        ("scale", np.zeros(3)),
        ("descriptor", np.array([255, 254], dtype=np.uint8)),
        ("scale", None),
    ],
)
def test_foreign_arrays_are_refused(name, value):
    arrays = Codebook(np.zeros((2, 3), np.float32), np.zeros(3), np.ones(3), "toy-v1").to_arrays()
    arrays[name] = value
    if value is None:
        del arrays[name]
    with pytest.raises(ModelFileError, match="codebook"):
        Codebook.from_arrays(arrays)


def test_bad_descriptors_are_refused():
    with pytest.raises(CorpusError, match="at least one descriptor"):
        fit_codebook(np.empty((0, 3)), 2, descriptor="toy-v1")
    with pytest.raises(CorpusError, match="descriptor 1 "):
        fit_codebook(np.array([[0.0], [np.inf]]), 2, descriptor="toy-v1")
    with pytest.raises(TopictureError, match="at least 1"):
        fit_codebook(np.eye(3), 0, descriptor="toy-v1")
    codebook = fit_codebook(np.eye(3), 3, descriptor="toy-v1")
    with pytest.raises(CorpusError, match=r"\(P, 3\)"):
        codebook.assign(np.eye(4))
    assert codebook.assign(np.empty((0, 3))).shape == (0,)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), max_size=30))
def test_counts_are_those_of_a_loop(pairs):
    owners = np.array([owner for owner, _ in pairs], dtype=np.int64)
    words = np.array([word for _, word in pairs], dtype=np.int32)
    expected = np.zeros((4, 5))
    for owner, word in pairs:
        if owner >= 0:
            expected[owner, word] += 1
    counts = count_words(words, owners, 4, 5)
    assert counts.has_canonical_format
    np.testing.assert_array_equal(counts.toarray(), expected)


def test_counts_need_an_owner_for_every_word():
    with pytest.raises(CorpusError, match="owners"):
        count_words(np.zeros(3, int), np.zeros(2, int), 2, 2)
