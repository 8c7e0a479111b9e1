"""The one form of a word: what is refused, and what must come through unchanged."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.collection.words import MAX_BYTES, clean_word, printable
from topicture.errors import BadWord, TopictureError

ODD_WORDS = [
    "-rf",
    "a|b",
    "a/b",
    "a, b",
    "=1+1",
    "@me",
    "x" * 10_000,
    "שלום",
    "🐅",
    "👩‍👩‍👧",
    "'quoted\"",
    "<img onerror=1>",
]


@pytest.mark.parametrize("word", ODD_WORDS)
def test_odd_words_are_words(word):
    assert clean_word(word) == word


@pytest.mark.parametrize(
    "text", ["a\nb", "a\n", "a\r", "a\0b", "\x1b[31m", "a\tb", "a\u2028b", "a\x85b", "\ufffe", "\udce9"]
)
def test_control_characters_are_refused(text):
    with pytest.raises(BadWord) as caught:
        clean_word(text)
    assert isinstance(caught.value, TopictureError)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "\u00a0 \u3000"])
def test_what_nobody_can_see_is_refused(text):
    with pytest.raises(BadWord, match="no visible"):
        clean_word(text)


def test_the_length_is_limited_in_bytes():
    assert clean_word("é" * (MAX_BYTES // 2))
    with pytest.raises(BadWord, match="limit") as caught:
        clean_word("é" * (MAX_BYTES // 2 + 1))
    assert len(str(caught.value)) < 200


def test_twins_are_one_word():
    composed, apart = "caf\u00e9", "cafe\u0301"
    assert composed != apart
    assert clean_word(composed) == clean_word(apart) == clean_word(f"  {apart}\u00a0")


def test_case_and_inner_blanks_are_kept():
    assert clean_word(" New  York ") == "New  York"


@settings(derandomize=True)
@given(st.text(max_size=30))
def test_a_clean_word_is_its_own_clean_form(text):
    try:
        word = clean_word(text)
    except BadWord:
        return
    assert clean_word(word) == word == unicodedata.normalize("NFC", word).strip()
    word.encode()


def test_printable_shows_bytes_and_controls_as_escapes():
    assert printable("a\nb\udce9") == "a\\nb\\udce9"
    assert printable(b"a\xe9") == "a\\udce9"
