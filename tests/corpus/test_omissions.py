"""How complete captions are, and where images come from, in a corpus."""

import numpy as np
import pytest
from corpora import make_tiny_corpus

from topicture.corpus import Corpus
from topicture.corpus.digests import corpus_digest, views_digest
from topicture.errors import CorpusError

FOLDERS = ["b", "b", "a", "a"] * 3
SHARES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 0.5])


@pytest.fixture
def incomplete(rng):
    return make_tiny_corpus(rng).with_omissions(SHARES, FOLDERS)


def test_places_go_with_their_images(incomplete):
    np.testing.assert_array_equal(incomplete.places, [1, 1, 0, 0] * 3)
    part = incomplete[[5, 2]]
    np.testing.assert_array_equal(part.places, [1, 0])
    np.testing.assert_array_equal(part.completeness, SHARES)
    both = Corpus.concat([incomplete[:3], incomplete[8:]])  # whose places are not the same ones
    np.testing.assert_array_equal(both.places, [1, 1, 0, 3, 3, 2, 2])
    assert Corpus.concat([incomplete[:3], incomplete.with_omissions(SHARES)[8:]]).places is None
    with pytest.raises(CorpusError, match="completeness differs"):
        Corpus.concat([incomplete[:3], incomplete.with_omissions(None)[8:]])


def test_they_are_saved_and_read(incomplete, tmp_path):
    incomplete.save(tmp_path / "corpus")
    for mmap in (True, False):
        assert Corpus.load(tmp_path / "corpus", mmap=mmap) == incomplete
    (tmp_path / "corpus" / "places.npy").write_bytes((tmp_path / "corpus" / "completeness.npy").read_bytes())
    with pytest.raises(CorpusError, match="not the array"):
        Corpus.load(tmp_path / "corpus")


def test_a_complete_corpus_is_written_and_digested_as_before(rng, incomplete, tmp_path):
    plain = incomplete.with_omissions(None, FOLDERS)
    assert plain.places is None
    plain.save(tmp_path / "corpus")
    assert not list((tmp_path / "corpus").glob("places*"))
    assert corpus_digest(plain) != corpus_digest(incomplete)
    assert views_digest(plain) == views_digest(incomplete)
    other = incomplete.with_omissions(SHARES, FOLDERS[::-1])
    assert corpus_digest(other) != corpus_digest(incomplete)


@pytest.mark.parametrize(
    ("shares", "places", "why"),
    [
        ([0.5], None, "there are 6 words"),
        ([0.5, 0.5, 0.0, 0.5, 0.5, 0.5], None, "above 0"),
        ([0.5, 0.5, np.nan, 0.5, 0.5, 0.5], None, "above 0"),
        ([0.5, 0.5, 1.1, 0.5, 0.5, 0.5], None, "at most 1"),
        (SHARES, ["a"], "there are 12 images"),
    ],
)
def test_what_does_not_fit_is_refused(rng, shares, places, why):
    with pytest.raises(CorpusError, match=why):
        make_tiny_corpus(rng).with_omissions(shares, places)


def test_a_no_stays_where_captions_may_lack_words(incomplete):
    """On a tagged image it says that the word was not left out; on others it is an answer like all."""
    answers = np.zeros((12, 6))
    answers[[3, 9], 4] = -1
    asked = incomplete.with_answers(answers)
    tagged = answers * asked.tagged[:, None]
    np.testing.assert_array_equal(asked.without_answers().answers.toarray(), tagged)
    assert asked.with_omissions(None).without_answers().answers is None


def test_other_captions_are_checked(incomplete):
    with pytest.raises(CorpusError, match="captions: 3 rows"):
        incomplete.with_captions(np.zeros((3, 6)))
    with pytest.raises(CorpusError, match="vocabulary of 6"):
        incomplete.with_captions(np.zeros((12, 5)))
    with pytest.raises(CorpusError, match="negative"):
        incomplete.with_captions(-np.ones((12, 6)))
    assert incomplete.with_captions(np.ones((12, 6))).captions.sum() == 72
