r"""Queries: words that must be there, words that must not, and what to say about words nobody knows.

    tiger OR lion, grass -water golden gate

Words are separated by spaces or commas and all of them are wanted (joining words, as in `dog on grass`, are passed over
unless they are tags); a minus directly before a word, or before a quote, says that it is not. `OR` between words, or
`|`, wants at least one of them. Words that make up a tag together are that tag, unless a comma keeps them apart. Quotes
hold tags of several words, too, or tags that begin with a minus; inside them `\"` is a quote.
Words match whatever their case, their accents' encoding and the width of their gaps. Tags that differ in nothing else
("Tiger", "tiger") are one word to a reader, so a query word stands for all of them.
"""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from topicture.corpus import Vocabulary
from topicture.moved import moved
from topicture.search.terms import Piece, QueryError, Term, format_terms, pieces, split_query

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

# Passed over between other words, unless there is such a tag: "dog on grass".
JOINING = frozenset(("on", "in", "at", "and", "with", "under", "over", "near", "by", "behind", "beside"))

# Below this likeness (0 to 1) a word is no help to someone who mistyped another.
LEAST_LIKENESS = 0.6
# "bear" should bring up "polar bear": a match with a part of a tag counts, a little less than one with a whole tag.
PART_WEIGHT = 0.9


# --- Values -----------------------------------------------------------------------------------------------------


class QueryWord(NamedTuple):
    """A word of a query and the vocabulary's ids for it: several where tags differ only in case."""

    word: str  # as the vocabulary spells it
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Query:
    """Distinct known words, at least one; none is both wanted and unwanted. `str(query)` can be parsed again.

    Of each of the groups `any_of` at least one word is wanted.
    """

    wanted: tuple[QueryWord, ...]
    unwanted: tuple[QueryWord, ...] = ()
    any_of: tuple[tuple[QueryWord, ...], ...] = ()

    @property
    def words(self) -> tuple[QueryWord, ...]:
        """All words, each once."""
        groups = (word for group in self.any_of for word in group)
        return tuple(dict.fromkeys((*self.wanted, *groups, *self.unwanted)))

    @property
    def terms(self) -> list[Term]:
        """The words as terms: wanted, alternatives, unwanted."""
        return [
            *(Term(word) for word, _ in self.wanted),
            *(Term(word, joined=at > 0) for group in self.any_of for at, (word, _) in enumerate(group)),
            *(Term(word, wanted=False) for word, _ in self.unwanted),
        ]

    def __str__(self) -> str:
        return format_terms(self.terms, between=", ")


class UnknownWord(NamedTuple):
    """A word that no tag matches, and the words most like it, best first."""

    word: str
    nearest: tuple[str, ...]


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
        self._longest = max((key.count(" ") + 1 for key in self._ids), default=1)

    def parse(self, text: str, *, n_nearest: int = 3) -> Query:
        """The query that a text means; a word repeated counts once.

        Raises
        ------
        QueryError
            If the text is empty or malformed, or a word is both wanted and not.
        UnknownWords
            If a word is not in the vocabulary; carries the `n_nearest` nearest known words of each.
        """
        terms = self._with_alternatives(self._as_tags(pieces(text)))
        terms = [term for term in terms if not self._only_joins(term)] or terms
        if not terms:
            raise QueryError("the query is empty; type one or more words, as in: tiger grass -water")
        self._refuse_unknown(terms, n_nearest)
        groups: list[dict[str, QueryWord]] = []
        unwanted: dict[str, QueryWord] = {}
        for term in terms:
            key = _key(term.text)
            word = QueryWord(self.vocabulary[self._ids[key][0]], self._ids[key])
            if not term.wanted:
                unwanted[key] = word
            elif term.joined and groups:
                groups[-1][key] = word
            else:
                groups.append({key: word})
        if both := {key for group in groups for key in group} & unwanted.keys():
            word = unwanted[min(both)]
            raise QueryError(f"the query both wants {word.word!r} and leaves it out; keep one of the two")
        wanted = {key: word for group in groups if len(group) == 1 for key, word in group.items()}
        any_of = dict.fromkeys(tuple(group.values()) for group in groups if len(group) > 1)
        return Query(tuple(wanted.values()), tuple(unwanted.values()), tuple(any_of))

    def _as_tags(self, written: list[Piece]) -> list[Term]:
        """Terms, where words that stand together and are a tag together are one: the longest tag counts."""
        terms, at = [], 0
        while at < len(written):
            for n in range(min(self._longest, len(written) - at), 1, -1):
                run = written[at : at + n]
                text = " ".join(piece.term.text for piece in run)
                apart = any(not (each.bare and each.follows and each.term.wanted) for each in run[1:])
                if run[0].bare and not apart and _key(text) in self._ids:
                    break
            else:
                n, text = 1, written[at].term.text
            terms.append(written[at].term._replace(text=text))
            at += n
        return terms

    def _with_alternatives(self, terms: list[Term]) -> list[Term]:
        """A lower-case "or" between wanted words joins them, too, unless there is such a tag."""
        found: list[Term] = []
        joined = False
        for at, term in enumerate(terms):
            between = bool(found) and found[-1].wanted and at + 1 < len(terms) and terms[at + 1].wanted
            if between and term == Term("or") and "or" not in self._ids:
                joined = True
            else:
                found.append(term._replace(joined=term.joined or joined))
                joined = False
        return found

    def _only_joins(self, term: Term) -> bool:
        return (
            term.wanted
            and not term.joined
            and term.text.casefold() in JOINING
            and _key(term.text) not in self._ids
        )

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
        repaired = [term._replace(text=(unknown.get(term.text) or (term.text,))[0]) for term in terms]
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
