r"""Queries: words that must be there, words that must not, and what to say about words nobody knows.

    tiger grass -water "golden gate"

Words are separated by spaces or commas and all of them are wanted (joining words, as in `dog on grass`, are passed over
unless they are tags); a minus directly before a word, or before a quote,
says that it is not. Quotes hold tags of several words, or tags that begin with a minus; inside them `\"` is a quote.
Words match whatever their case, their accents' encoding and the width of their gaps. Tags that differ in nothing else
("Tiger", "tiger") are one word to a reader, so a query word stands for all of them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from topicture.corpus import Vocabulary
from topicture.errors import TopictureError
from topicture.moved import moved

__all__ = [
    "Lexicon",
    "Query",
    "QueryError",
    "QueryWord",
    "Term",
    "UnknownWord",
    "UnknownWords",
    "format_terms",
    "split_query",
]

__getattr__ = moved(__name__)  # names of earlier versions

# Phones and word processors replace the typewriter's quote and minus as one types.
QUOTES, MINUSES = '"“”„', "-−–"
TERM = re.compile(
    rf"""(?P<minus>[{re.escape(MINUSES)}])?(?:[{QUOTES}](?P<quoted>(?:\\.|[^{QUOTES}\\])*)[{QUOTES}]|(?P<bare>[^\s,]+))""",
    re.DOTALL,
)
BETWEEN_TERMS = re.compile(r"[\s,]*")
NEEDS_NO_QUOTES = re.compile(rf"[^\s,{QUOTES}{re.escape(MINUSES)}][^\s,]*")

# Passed over between other words, unless there is such a tag: "dog on grass".
JOINING = frozenset(("on", "in", "at", "and", "with", "under", "over", "near", "by", "behind", "beside"))

# Below this likeness (0 to 1) a word is no help to someone who mistyped another.
LEAST_LIKENESS = 0.6
# "bear" should bring up "polar bear": a match with a part of a tag counts, a little less than one with a whole tag.
PART_WEIGHT = 0.9


# --- Values -----------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """A word as the user wrote it."""

    text: str
    wanted: bool = True


class QueryWord(NamedTuple):
    """A word of a query and the vocabulary's ids for it: several where tags differ only in case."""

    word: str  # as the vocabulary spells it
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """Distinct known words, at least one; none is both wanted and unwanted. `str(query)` can be parsed again."""

    wanted: tuple[QueryWord, ...]
    unwanted: tuple[QueryWord, ...] = ()

    def __str__(self) -> str:
        return format_terms(
            [
                *(Term(word) for word, _ in self.wanted),
                *(Term(word, wanted=False) for word, _ in self.unwanted),
            ]
        )


class UnknownWord(NamedTuple):
    """A word that no tag matches, and the words most like it, best first."""

    word: str
    nearest: tuple[str, ...]


class QueryError(TopictureError, ValueError):
    """A query that can't be understood; says which part, and how to write it."""


class UnknownWords(QueryError):
    """Words of a query that the vocabulary does not hold.

    Attributes
    ----------
    words : tuple of UnknownWord
        Each with the nearest known words.
    suggestion : str or None
        The query with the best neighbour in each place, to offer as "did you mean"; None where a word has none.
    """

    def __init__(self, words: Iterable[UnknownWord], suggestion: str | None):
        self.words = tuple(words)
        self.suggestion = suggestion
        super().__init__("; ".join(_unknown_line(word) for word in self.words))

    def __reduce__(self):  # exceptions are rebuilt from their message alone, which is not what __init__ takes
        return type(self), (self.words, self.suggestion)


def _unknown_line(unknown: UnknownWord) -> str:
    nearest = ", ".join(unknown.nearest)
    return f"no tag matches {unknown.word!r}" + (f"; nearest: {nearest}" if nearest else ", nor any like it")


# --- Text to terms ----------------------------------------------------------------------------------------------


def split_query(text: str) -> list[Term]:
    """The terms of a query, in the order written; an empty text has none.

    Raises
    ------
    QueryError
        If a quote is never closed, quotes are empty, or a minus stands alone.
    """
    terms = []
    position = BETWEEN_TERMS.match(text).end()  # type: ignore[union-attr]  # matches the empty string too
    while position < len(text):
        match = TERM.match(text, position)
        assert match is not None  # what is no separator begins a term
        terms.append(_term(match))
        position = BETWEEN_TERMS.match(text, match.end()).end()  # type: ignore[union-attr]
    return terms


def _term(match: re.Match[str]) -> Term:
    quoted, bare, wanted = match["quoted"], match["bare"], match["minus"] is None
    if quoted is not None:
        word = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        if not word.strip():
            raise QueryError(
                "the query has quotes with nothing between them; put a tag there, or leave them out"
            )
        return Term(word, wanted)
    if bare[0] in QUOTES:
        raise QueryError(f'the quote before {bare[1:] or "the end"!r} is never closed; add a " after the tag')
    if len(bare) == 1 and bare in MINUSES:
        raise QueryError("a minus stands alone; put it directly before the word to leave out, as in -water")
    return Term(bare, wanted)


def format_terms(terms: Iterable[Term]) -> str:
    """Text that `split_query` takes apart into the same terms."""
    return " ".join(("" if term.wanted else "-") + _quoted_where_needed(term.text) for term in terms)


def _quoted_where_needed(word: str) -> str:
    if NEEDS_NO_QUOTES.fullmatch(word):
        return word
    return '"' + re.sub(rf"([{QUOTES}\\])", r"\\\1", word) + '"'


# --- Terms to words ---------------------------------------------------------------------------------------------


class Lexicon:
    """Finds the words of a vocabulary as people write them.

    Parameters
    ----------
    vocabulary : Vocabulary of V words
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._ids: dict[str, tuple[int, ...]] = {}
        for i, word in enumerate(vocabulary):
            key = _key(word)
            self._ids[key] = (*self._ids.get(key, ()), i)

    def parse(self, text: str, *, n_nearest: int = 3) -> Query:
        """The query that a text means; a word repeated counts once.

        Raises
        ------
        QueryError
            If the text is empty or malformed, or a word is both wanted and not.
        UnknownWords
            If a word is not in the vocabulary; carries the `n_nearest` nearest known words of each.
        """
        terms = split_query(text)
        terms = [term for term in terms if not self._only_joins(term)] or terms
        if not terms:
            raise QueryError("the query is empty; type one or more words, as in: tiger grass -water")
        self._refuse_unknown(terms, n_nearest)
        chosen: dict[bool, dict[str, QueryWord]] = {True: {}, False: {}}
        for term in terms:
            ids = self._ids[key := _key(term.text)]
            chosen[term.wanted][key] = QueryWord(self.vocabulary[ids[0]], ids)
        if both := chosen[True].keys() & chosen[False].keys():
            word = chosen[True][min(both)].word
            raise QueryError(f"the query both wants {word!r} and leaves it out; keep one of the two")
        return Query(tuple(chosen[True].values()), tuple(chosen[False].values()))

    def _only_joins(self, term: Term) -> bool:
        return term.wanted and term.text.casefold() in JOINING and _key(term.text) not in self._ids

    def nearest(self, word: str, n: int = 3) -> tuple[str, ...]:
        """The n known words most like a word, best first; fewer, or none, if no others are alike."""
        likeness = _likeness_to(_key(word))
        scored = ((likeness(key), key) for key in self._ids)
        alike = sorted(((score, key) for score, key in scored if score >= LEAST_LIKENESS), key=_best_first)
        return tuple(self.vocabulary[self._ids[key][0]] for _, key in alike[:n])

    def _refuse_unknown(self, terms: list[Term], n_nearest: int) -> None:
        unknown = {
            term.text: self.nearest(term.text, n_nearest)
            for term in terms
            if _key(term.text) not in self._ids
        }
        if not unknown:
            return
        repaired = [Term((unknown.get(text) or (text,))[0], wanted) for text, wanted in terms]
        suggestion = format_terms(dict.fromkeys(repaired)) if all(unknown.values()) else None
        raise UnknownWords((UnknownWord(*item) for item in unknown.items()), suggestion)


def _key(word: str) -> str:
    """Equal for words that a reader takes for the same: Unicode's caseless match, and gaps as single spaces."""
    decomposed = unicodedata.normalize("NFD", word).casefold()
    return " ".join(unicodedata.normalize("NFC", decomposed).split())


def _best_first(scored: tuple[float, str]) -> tuple[float, str]:
    return -scored[0], scored[1]


def _likeness_to(word: str) -> Callable[[str], float]:
    """How like `word` another is, 0 to 1: as a whole, or (a little less) in the best pair of their parts."""
    whole, parts = _ratio_to(word), [_ratio_to(part) for part in word.split()]

    def likeness(other: str) -> float:
        score = whole(other)
        other_parts = other.split()
        if len(parts) == len(other_parts) == 1:
            return score
        pairs = (ratio(part) for ratio in parts for part in other_parts)
        return max(score, PART_WEIGHT * max(pairs, default=0.0))

    return likeness


def _ratio_to(word: str) -> Callable[[str], float]:
    """Twice the characters in common blocks over all characters; 0 where bounds show it to be too low to matter."""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(word)  # the side that SequenceMatcher indexes once

    def ratio(other: str) -> float:
        matcher.set_seq1(other)
        if matcher.real_quick_ratio() < LEAST_LIKENESS or matcher.quick_ratio() < LEAST_LIKENESS:
            return 0.0
        return matcher.ratio()

    return ratio
