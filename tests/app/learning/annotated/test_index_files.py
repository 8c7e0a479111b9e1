"""An index with photos that came later is the index that all of them together would have given."""

import numpy as np
import pytest

from topicture.app.learning.annotated import index_files
from topicture.app.learning.annotated.index_files import Earlier, write_index
from topicture.corpus import Vocabulary
from topicture.search import WordIndex, files
from topicture.store.shards import FeatureShards, read_image_numbers

WORDS = Vocabulary(list("abcde"))


@pytest.mark.parametrize("kind", ["dense", "postings"])
def test_what_comes_later_joins_what_is_there(tmp_path, rng, monkeypatch, kind):
    monkeypatch.setattr(files, "MANY_NUMBERS", 0 if kind == "postings" else 1 << 31)
    monkeypatch.setattr(index_files, "BLOCK_BYTES", 4 * 8 * len(WORDS))  # four photos
    p, looks = rng.dirichlet(np.ones(5), 30), rng.normal(size=(30, 3))
    first = np.sort(rng.permutation(30)[:19])
    later = np.setdiff1d(np.arange(30), first)
    numbers = 10 + 2 * np.arange(30)
    write_index(tmp_path / "all", WORDS, numbers, [p], looks)
    write_index(tmp_path / "first", WORDS, numbers[first], [p[first]], looks[first])
    earlier = Earlier(
        WordIndex.open(tmp_path / "first"), numbers[first], FeatureShards(tmp_path / "first" / "features")
    )
    parts = [p[later][:5], p[later][5:]]
    write_index(tmp_path / "both", WORDS, numbers[later], parts, looks[later], earlier)
    both, whole = (WordIndex.open(tmp_path / name) for name in ("both", "all"))
    for word in range(5):
        np.testing.assert_allclose(both.row(word), whole.row(word), rtol=1e-5)
    assert [hit.image_id for hit in both.search("a b", 8)] == [hit.image_id for hit in whole.search("a b", 8)]
    np.testing.assert_array_equal(read_image_numbers(tmp_path / "both" / "images.npy"), numbers)
    features = (FeatureShards(tmp_path / name / "features")[:] for name in ("both", "all"))
    np.testing.assert_array_equal(*features)
