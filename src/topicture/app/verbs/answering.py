"""What a person says about the words of one photo, or about a word everywhere."""

from collections.abc import Iterable
from typing import NamedTuple

from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

__all__ = ["VERDICTS", "Answered", "answer", "answer_many", "delete_tag"]

VERDICTS = ("present", "rejected", "cleared")


class Answered(NamedTuple):
    """How many verdicts changed, and the number of the step in the log, for `undo`; None where nothing did."""

    changed: int
    step: int | None


def answer(catalog: Catalog, image: int, words: Iterable[str], verdict: str) -> Answered:
    """Log a verdict on words of a photo, with what the newest model had said about them.

    Raises BadWord for a text that can't be a tag.
    """
    return answer_many(catalog, [image], words, verdict)


def answer_many(catalog: Catalog, images: Iterable[int], words: Iterable[str], verdict: str) -> Answered:
    """Log the same verdict on words of several photos, as one step."""
    if verdict not in VERDICTS:
        raise TopictureError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")
    cleaned = [clean_word(word) for word in words]
    models = catalog.suggestions.models()
    model = models[0].id if models else None

    def said(image: int, word: str) -> float | None:
        return None if model is None else catalog.suggestions.probability(model, image, word)

    decisions = [
        Decision(image, word, verdict, model, said(image, word))
        for image in dict.fromkeys(images)
        for word in cleaned
    ]
    step = catalog.decisions.step("review")
    return Answered(catalog.decisions.decide(decisions, "review", step), step.made)


def delete_tag(catalog: Catalog, word: str) -> int:
    """Take a word away from every photo and stop suggesting it; the number of photos that had it.

    Raises DataNotFound for a word that there never was, or that was renamed or merged into another one.
    """
    cleaned = clean_word(word)
    if (now := catalog.decisions.merged_words().get(cleaned)) is not None:
        raise DataNotFound(f"no tag {word!r} is in use; it is called {now!r} now")
    if catalog.decisions.find_word(cleaned) is None:
        raise DataNotFound(f"no photo has or had the tag {word!r}; 'topicture tags' lists them")
    return catalog.decisions.delete_word(cleaned)
