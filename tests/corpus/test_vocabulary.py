"""Words and their ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicture.corpus import Vocabulary
from topicture.errors import CorpusError

words = st.lists(st.text(max_size=8), min_size=1, unique=True)


@given(words)
def test_ids_are_positions(words):
    vocabulary = Vocabulary(words)
    assert vocabulary.words == tuple(words) == tuple(vocabulary)
    assert len(vocabulary) == len(words)
    assert [vocabulary.index(word) for word in words] == list(range(len(words)))
    assert all(word in vocabulary and vocabulary[i] == word for i, word in enumerate(words))


@given(words, words)
def test_equal_vocabularies_have_the_same_words_in_the_same_order(a, b):
    assert (Vocabulary(a) == Vocabulary(b)) == (a == b)
    assert hash(Vocabulary(a)) == hash(Vocabulary(list(a)))
    assert Vocabulary(a) != a


def test_unknown_word():
    vocabulary = Vocabulary(["sky", "sea"])
    assert "sun" not in vocabulary
    assert 0 not in vocabulary
    with pytest.raises(CorpusError, match="no word 'sun' among its 2"):
        vocabulary.index("sun")


def test_words_cannot_be_replaced():
    with pytest.raises(AttributeError):
        Vocabulary(["sky"]).words = ("sea",)


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "no word"), (["sky", "sea", "sky"], "'sky' occurs twice"), ("sky", "one string 'sky'")],
)
def test_refused(words, message):
    with pytest.raises(CorpusError, match=message):
        Vocabulary(words)


def test_repr_is_short():
    assert repr(Vocabulary(["sky"])) == "Vocabulary(1 words: sky)"
    assert repr(Vocabulary([f"w{i}" for i in range(1000)])).endswith("w4, ...)")
