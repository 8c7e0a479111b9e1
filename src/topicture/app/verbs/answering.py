"""What a person says about the words of one photo, or about a word everywhere."""

from collections.abc import Iterable
from typing import NamedTuple

from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

__all__ = ["VERDICTS", "Answered", "answer", "delete_tag"]

VERDICTS = ("present", "rejected", "cleared")


class Answered(NamedTuple):
    """How many verdicts changed, and the number of the step in the log, for `undo`; None where nothing did."""

    changed: int
    step: int | None


def answer(catalog: Catalog, image: int, words: Iterable[str], verdict: str) -> Answered:
    """Log a verdict on words of a photo, with what the newest model had said about them.

    Raises BadWord for a text that can't be a tag.
    """
    if verdict not in VERDICTS:
        raise TopictureError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")
    cleaned = [clean_word(word) for word in words]
    models = catalog.suggestions.models()
    model = models[0].id if models else None
    said = {} if model is None else {w: catalog.suggestions.probability(model, image, w) for w in cleaned}
    decisions = [Decision(image, word, verdict, model, said.get(word)) for word in cleaned]
    step = catalog.decisions.step("review")
    return Answered(catalog.decisions.decide(decisions, "review", step), step.made)


def delete_tag(catalog: Catalog, word: str) -> int:
    """Take a word away from every photo and stop suggesting it; the number of photos that had it."""
    cleaned = clean_word(word)
    if catalog.decisions.find_word(cleaned) is None:
        raise DataNotFound(f"no photo has or had the tag {word!r}; 'topicture tags' lists them")
    return catalog.decisions.delete_word(cleaned)
