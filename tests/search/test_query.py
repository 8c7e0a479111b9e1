"""Queries: their syntax, how words match, and what unknown words bring back."""

import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicture.corpus import Vocabulary
from topicture.search.query import (
    Lexicon,
    Query,
    QueryError,
    QueryWord,
    Term,
    UnknownWord,
    UnknownWords,
    format_terms,
    split_query,
)

WORDS = Vocabulary(["tiger", "grass", "water", "golden gate", "polar bear", "café", "Tiger", "-20°C"])
LEXICON = Lexicon(WORDS)

any_word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def joined_where_possible(terms):
    pairs = zip([Term("", False), *terms], terms, strict=False)
    return [term._replace(joined=term.joined and before.wanted and term.wanted) for before, term in pairs]


any_terms = st.lists(st.builds(Term, any_word, st.booleans(), st.booleans())).map(joined_where_possible)


@given(any_terms)
def test_terms_survive_being_written_and_read(terms):
    assert split_query(format_terms(terms)) == terms


@given(st.text(st.sampled_from('ab -−,"“”\\\n\u00a0é')))
def test_any_text_is_terms_or_one_clear_error(text):
    message = ""
    try:
        terms = split_query(text)
    except QueryError as error:
        message, terms = str(error), []
    assert "\n" not in message
    assert split_query(format_terms(terms)) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("tiger grass -water", [Term("tiger"), Term("grass"), Term("water", False)]),
        ('"golden gate" -"polar bear"', [Term("golden gate"), Term("polar bear", False)]),
        ("  tiger,grass , ", [Term("tiger"), Term("grass")]),
        ("“golden gate” −water", [Term("golden gate"), Term("water", False)]),
        ('x-ray 12"', [Term("x-ray"), Term('12"')]),
        (r'"a \"b\" \\"', [Term('a "b" \\')]),
        ('"-20°C"', [Term("-20°C")]),
        ('"tiger"grass', [Term("tiger"), Term("grass")]),
        (" ,\n", []),
        ("tiger OR lion -water", [Term("tiger"), Term("lion", joined=True), Term("water", False)]),
        ("a | b |c", [Term("a"), Term("b", joined=True), Term("|c")]),
        ('"OR" -OR or', [Term("OR"), Term("OR", False), Term("or")]),
    ],
)
def test_syntax(text, terms):
    assert split_query(text) == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        (" , ", "the query is empty"),
        ('tiger "golden gate', "the quote before 'golden' is never closed"),
        ('tiger -"', "the quote before 'the end' is never closed"),
        ('tiger ""', "quotes with nothing between them"),
        ("tiger - water", "a minus stands alone"),
        ("OR tiger", "OR stands alone"),
        ("tiger OR", "OR stands alone"),
        ("tiger OR | water", "OR stands alone"),
        ("tiger OR -water", "OR joins words that are wanted"),
        ("water -Water", "both wants 'water' and leaves it out"),
        ("tiger OR water -Water", "both wants 'water' and leaves it out"),
    ],
)
def test_malformed_queries_are_refused_in_one_line(text, message):
    with pytest.raises(QueryError, match=message) as caught:
        LEXICON.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["GRASS", "grass", "grass Grass", '"  grass "'])
def test_case_gaps_and_repetition_change_nothing(text):
    assert LEXICON.parse(text) == Query((QueryWord("grass", (1,)),))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_match_however_they_are_encoded(form):
    assert LEXICON.parse(unicodedata.normalize(form, "CAFÉ")).wanted == (QueryWord("café", (5,)),)


def test_joining_words_are_passed_over_unless_they_are_tags_or_all_there_is():
    assert LEXICON.parse("tiger on grass") == LEXICON.parse("tiger grass")
    assert Lexicon(Vocabulary(["tiger", "on"])).parse("tiger on").wanted[1].word == "on"
    with pytest.raises(UnknownWords):
        LEXICON.parse("on")
    with pytest.raises(UnknownWords):
        LEXICON.parse("tiger -on")


def test_tags_that_differ_in_case_are_one_word():
    assert LEXICON.parse("TIGER").wanted == (QueryWord("tiger", (0, 6)),)


def test_a_tag_that_begins_with_a_minus_is_quoted():
    query = LEXICON.parse('-grass -"-20°c"')
    assert [word for word, _ in query.unwanted] == ["grass", "-20°C"]
    assert LEXICON.parse(str(query)) == query


@given(st.lists(st.sampled_from(WORDS.words), min_size=1, unique_by=str.casefold), st.data())
def test_a_query_can_be_written_and_parsed_again(words, data):
    signs = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    query = LEXICON.parse(format_terms([Term(w, s) for w, s in zip(words, signs, strict=True)]))
    assert LEXICON.parse(str(query)) == query
    assert len(query.wanted) == sum(signs)


ALIKE = Lexicon(Vocabulary(["golden", "gate", "golden gate", "golden gate bridge", "sea"]))


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("golden gate", ["golden gate"], []),
        ("sea Golden  GATE bridge", ["sea", "golden gate bridge"], []),
        ("golden, gate", ["golden", "gate"], []),
        ('"golden" gate', ["golden", "gate"], []),
        ("sea -golden gate", ["sea"], ["golden gate"]),
        ("golden -gate", ["golden"], ["gate"]),
        ("gate golden", ["gate", "golden"], []),
    ],
)
def test_words_that_are_a_tag_together_need_no_quotes(text, wanted, unwanted):
    query = ALIKE.parse(text)
    assert [word for word, _ in query.wanted] == wanted
    assert [word for word, _ in query.unwanted] == unwanted
    assert ALIKE.parse(str(query)) == query


@pytest.mark.parametrize("text", ["tiger OR golden gate, grass -water", "grass tiger or golden gate -water"])
def test_alternatives(text):
    query = LEXICON.parse(text)
    assert [[word for word, _ in group] for group in query.any_of] == [["tiger", "golden gate"]]
    assert [word for word, _ in query.wanted] == ["grass"]
    assert str(query) == 'grass, tiger OR "golden gate", -water'
    assert LEXICON.parse(str(query)) == query
    assert LEXICON.parse("tiger OR Tiger").any_of == ()


def test_unknown_words_bring_the_nearest_known_ones():
    with pytest.raises(UnknownWords) as caught:
        LEXICON.parse("tigre grass -bear zzz")
    assert caught.value.words == (
        UnknownWord("tigre", ("tiger",)),
        UnknownWord("bear", ("polar bear",)),
        UnknownWord("zzz", ()),
    )
    assert caught.value.suggestion is None
    assert str(caught.value) == (
        "no tag matches 'tigre'; nearest: tiger; no tag matches 'bear'; nearest: polar bear; "
        "no tag matches 'zzz', nor any like it"
    )


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("tigre -watr", "tiger -water"),
        ("golden gte", '"golden gate"'),
        ("tigre OR watr", "tiger OR water"),
        ("gras tiger", "grass tiger"),
        ('"brown bear"', '"polar bear"'),
    ],
)
def test_did_you_mean(text, suggestion):
    with pytest.raises(UnknownWords) as caught:
        LEXICON.parse(text)
    assert caught.value.suggestion == suggestion
    LEXICON.parse(suggestion)


def test_unknown_words_cross_process_borders():
    error = UnknownWords([UnknownWord("tigre", ("tiger",))], "tiger")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.words, again.suggestion) == (str(error), error.words, error.suggestion)


def test_nearest_is_ranked_and_ties_are_alphabetical():
    lexicon = Lexicon(Vocabulary(["boat", "goat", "coat", "coats", "sky"]))
    assert lexicon.nearest("coat", 2) == ("coat", "coats")
    assert lexicon.nearest("moat", 3) == ("boat", "coat", "goat")
    assert lexicon.nearest("moat", 10)[3:] == ("coats",)
