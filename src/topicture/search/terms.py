"""The text of a query as its parts: words, what a minus or OR does to them, quotes; `query` knows what they mean."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from topicture.errors import TopictureError

__all__ = ["Piece", "QueryError", "Term", "format_terms", "pieces", "split_query"]

# Phones and word processors replace the typewriter's quote and minus as one types.
QUOTES, MINUSES = '"“”„', "-−–"
TERM = re.compile(
    rf"""(?P<minus>[{re.escape(MINUSES)}])?(?:[{QUOTES}](?P<quoted>(?:\\.|[^{QUOTES}\\])*)[{QUOTES}]|(?P<bare>[^\s,]+))""",
    re.DOTALL,
)
BETWEEN_TERMS = re.compile(r"[\s,]*")
NEEDS_NO_QUOTES = re.compile(rf"(?!(?:OR|\|)$)[^\s,{QUOTES}{re.escape(MINUSES)}][^\s,]*")
OR = ("OR", "|")


class Term(NamedTuple):
    """A word as the user wrote it."""

    text: str
    wanted: bool = True
    joined: bool = False  # by OR, to the term before


class Piece(NamedTuple):
    """A term, and whether it may be a part of a tag of several words: without quotes, no comma before it."""

    term: Term
    bare: bool
    follows: bool


class QueryError(TopictureError, ValueError):
    """A query that can't be understood; says which part, and how to write it."""


def split_query(text: str) -> list[Term]:
    """The terms of a query, in the order written; an empty text has none.

    Raises
    ------
    QueryError
        If a quote is never closed, quotes are empty, or a minus or OR stands alone.
    """
    return [piece.term for piece in pieces(text)]


def pieces(text: str) -> list[Piece]:
    """The terms of a query, with what stands between them."""
    found: list[Piece] = []
    joined, position = False, 0
    while (gap := BETWEEN_TERMS.match(text, position)) and gap.end() < len(text):
        match = TERM.match(text, gap.end())
        assert match is not None  # what is no separator begins a term
        position = match.end()
        if match["bare"] in OR and not match["minus"]:
            if joined or not found:
                raise QueryError(_LONE_OR)
            joined = True
            continue
        term = _term(match)
        if joined and not (term.wanted and found[-1].term.wanted):
            raise QueryError(
                "OR joins words that are wanted; leave words out beside it, as in: tiger OR lion -water"
            )
        follows = bool(found) and not joined and "," not in gap[0] and bool(gap[0])
        found.append(Piece(term._replace(joined=joined), match["bare"] is not None, follows))
        joined = False
    if joined:
        raise QueryError(_LONE_OR)
    return found


_LONE_OR = "OR stands alone; put it between two words, as in: tiger OR lion (or into quotes, if it is a tag)"


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


def format_terms(terms: Iterable[Term], between: str = " ") -> str:
    """Text that `split_query` takes apart into the same terms."""
    text = ""
    for term in terms:
        gap = " OR " if term.joined else between
        text += (gap if text else "") + ("" if term.wanted else "-") + _quoted_where_needed(term.text)
    return text


def _quoted_where_needed(word: str) -> str:
    if NEEDS_NO_QUOTES.fullmatch(word):
        return word
    return '"' + re.sub(rf"([{QUOTES}\\])", r"\\\1", word) + '"'
