import numpy as np
import pytest
from scipy import sparse

from topicture.corpus import Vocabulary
from topicture.errors import CorpusError
from topicture.vision import assemble as module
from topicture.vision.assemble import assemble, caption_counts
from topicture.vision.features.transform import Features, Projection
from topicture.vision.recipe import Recipe


def corpus_of(sizes, rng):
    """A corpus of invented measurements with that many regions per photo."""
    recipe = Recipe(("deep", "regions:blobs"))
    identity = Projection(np.zeros(3, np.float32), np.eye(3, dtype=np.float32))
    features = Features(recipe, {}, {"regions:blobs": identity})
    raw = [{"deep": rng.normal(size=5), "regions:blobs": rng.normal(size=(n, 3))} for n in sizes]
    ids = [f"photo{i}" for i in range(len(sizes))]
    captions = sparse.csr_array((len(sizes), 1))
    return raw, assemble(ids, lambda photo, steps: raw[photo], features, Vocabulary(["word"]), captions)


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_rows_are_where_they_belong(large, rng, monkeypatch):
    monkeypatch.setattr(module, "LARGE_BYTES", large)
    raw, corpus = corpus_of([2, 0, 3], rng)
    assert corpus.n_regions.tolist() == [2, 0, 3]
    for photo, measured in enumerate(raw):
        rows = corpus.regions[corpus.region_offsets[photo] : corpus.region_offsets[photo + 1]]
        assert np.allclose(rows, measured["regions:blobs"], atol=1e-6)
        assert np.allclose(corpus.descriptor[photo], measured["deep"] / np.linalg.norm(measured["deep"]))
    assert isinstance(corpus.regions, np.memmap) == (large == 0)


def test_mapped_and_plain_corpora_are_equal(monkeypatch):
    _, plain = corpus_of([1, 2], np.random.default_rng(3))
    monkeypatch.setattr(module, "LARGE_BYTES", 0)
    _, mapped = corpus_of([1, 2], np.random.default_rng(3))
    assert mapped == plain


def test_word_lists_become_counts():
    words, counts = caption_counts([["sky", "sea", "sky"], [], ["sea"]], None, 3)
    assert words.words == ("sea", "sky")
    assert counts.toarray().tolist() == [[1, 2], [0, 0], [1, 0]]


def test_words_outside_the_vocabulary_are_dropped():
    _, counts = caption_counts([["sky", "sea"]], ["sky"], 1)
    assert counts.toarray().tolist() == [[1]]


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_matrices_are_taken_as_they_are(kind):
    words, counts = caption_counts(kind([[0, 2.0], [1, 0]]), None, 2)
    assert words.words == ("word0", "word1")
    assert counts.toarray().tolist() == [[0, 2], [1, 0]]


def test_untagged_photos_need_a_vocabulary():
    words, counts = caption_counts(None, ["a", "b"], 4)
    assert counts.shape == (4, 2)
    assert counts.nnz == 0
    assert len(words) == 2
    with pytest.raises(CorpusError, match="vocabulary"):
        caption_counts(None, None, 4)


def test_captions_of_another_number_of_photos_are_refused():
    with pytest.raises(CorpusError, match="3 photos"):
        caption_counts([["a"]], None, 3)
