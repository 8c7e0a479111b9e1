"""Single questions for the page, in the orders of the command line, and some that are drawn by lot."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from topicture.app.verbs.asking.left_out import has_index, left_out
from topicture.app.verbs.asking.question import Question
from topicture.app.verbs.deciding.cards import cards
from topicture.app.verbs.deciding.counts import open_tags
from topicture.app.verbs.deciding.pace import decisions_per_minute
from topicture.app.verbs.reviewing import ORDERS, queue
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.decisions.past_steps import PastSteps

__all__ = ["Questions", "as_cards", "questions"]

COUNTED = 1000


@dataclass(frozen=True)
class Questions:
    """Questions to ask next: cards of photos with a word, its probability, and whether its owner left it out.

    `left` counts all that could be asked (None where that was not wanted); where it is `at_least`, there may be more.
    """

    questions: list[dict[str, Any]]
    left: int | None
    at_least: bool
    pace: float | None


def questions(
    catalog: Catalog,
    order: str = "uncertain",
    *,
    word: str | None = None,
    limit: int = 30,
    count: bool = True,
) -> Questions:
    """The next questions in an order; "missing" asks about tagged photos: did you leave this out?"""
    if order not in ORDERS:
        raise TopictureError(f"there is no order {order!r}; there are: {', '.join(ORDERS)}")
    left, at_least = None, False
    if order == "missing":
        pairs = left_out(catalog, word) if has_index(catalog) else iter(())
        found = list(islice(pairs, max(limit, COUNTED if count else 0)))
        asked = [(*pair, True) for pair in found[:limit]]
        if count:
            left, at_least = len(found), len(found) == max(limit, COUNTED)
    else:
        in_order = queue(catalog, order, tag=word, limit=limit)
        asked = [(q.image, q.word, q.probability, q.left_out) for q in in_order]
        if count:
            left = sum(tag.open for tag in open_tags(catalog, word))
    known = cards(catalog, (image for image, *_ in asked))
    pace = decisions_per_minute(PastSteps(catalog.database).review_times(60))
    return Questions(
        [
            {**known[image], "word": text, "probability": p, "left_out": left_out}
            for image, text, p, left_out in asked
            if image in known
        ],
        left,
        at_least,
        pace,
    )


def as_cards(catalog: Catalog, drawn: Sequence[Question]) -> list[dict[str, Any]]:
    """Questions that were drawn by lot as cards, with the chance of each."""
    known = cards(catalog, (question.image for question in drawn))
    return [
        {
            **known[q.image],
            "word": q.word,
            "probability": q.probability,
            "drawn": q.drawn,
            "left_out": q.left_out,
        }
        for q in drawn
        if q.image in known
    ]
