"""The words of a collection with their counts, and how far suggestions of each can be trusted."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from topicture.app.learning.reports import load_report
from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog

__all__ = ["WordPolicy", "WordSummary", "list_words", "policies"]


@dataclass(frozen=True)
class WordSummary:
    """A word.

    Attributes
    ----------
    photos : that have it; `by_people` and `by_machine` (accepted in bulk) of them
    rejected : photos that it was rejected for
    suggestions : that nobody has decided
    precision : share of hidden tags among what the newest model suggested with at least even odds; None where unknown
    policy, accept_from : what to do with suggestions; the precision to accept from
    parent : the word above it
    merged : words that were renamed to it or merged into it
    photos_below : photos that have it or a word below it
    """

    word: str
    photos: int
    by_people: int
    by_machine: int
    rejected: int
    suggestions: int
    precision: float | None
    policy: str
    accept_from: float | None
    parent: str | None
    merged: tuple[str, ...]
    photos_below: int


@dataclass(frozen=True)
class WordPolicy:
    """What is done with suggestions of a word: "suggest", "accept" from a precision on, or "never"."""

    word: str
    policy: str
    accept_from: float | None


def policies(catalog: Catalog, word: str | None = None) -> list[WordPolicy]:
    """The policy of a word, or of all words that have another than "suggest", by text; raises DataNotFound."""
    cleaned = None if word is None else clean_word(word)
    found = [
        WordPolicy(each.word, each.policy, each.precision)
        for each in catalog.words.all()
        if each.word == cleaned or (word is None and each.policy != "suggest")
    ]
    if word is not None and not found:
        raise DataNotFound(f"no tag {word!r} is in use; 'topicture tags' lists them")
    return found


def list_words(catalog: Catalog, containing: str = "") -> list[WordSummary]:
    """Words in use, the most frequent first: those that photos have or lack, that are suggested, or have a place.

    `containing` keeps words that have this text in them, whatever the case.
    """
    models = catalog.suggestions.models()
    waiting = {tag.word: tag.open for tag in catalog.suggestions.open_by_word(models[0].id)} if models else {}
    precision: dict[str, float | None] = {}
    if models:
        with suppress(TopictureError):  # a model without a report is still a model
            report = load_report(catalog.model_folder(models[0]))
            precision = {tag["word"]: tag["precision"] for tag in report.get("tags", ())}
    words = catalog.words.all()
    together = _together(catalog)
    parents = {word.parent for word in words}
    wanted = containing.strip().casefold()
    found = [
        WordSummary(
            word=each.word,
            photos=each.present,
            by_people=each.present - each.by_machine,
            by_machine=each.by_machine,
            rejected=each.rejected,
            suggestions=waiting.get(each.word, 0),
            precision=_precision(precision, each.word, each.merged),
            policy=each.policy,
            accept_from=each.precision,
            parent=each.parent,
            merged=each.merged,
            photos_below=together.get(each.word, each.present),
        )
        for each in words
        if wanted in each.word.casefold()
        and (
            each.present
            or each.rejected
            or waiting.get(each.word)
            or each.parent is not None
            or each.word in parents
            or each.policy != "suggest"
        )
    ]
    return sorted(found, key=lambda word: (-word.photos, word.word))


def _precision(known: dict[str, float | None], word: str, merged: tuple[str, ...]) -> float | None:
    """Of the word itself, or the only one that it was known as when the model was learned."""
    if word in known:
        return known[word]
    former = [known[name] for name in merged if name in known]
    return former[0] if len(former) == 1 else None


def _together(catalog: Catalog) -> dict[str, int]:
    """For words with others below them: how many photos have any of these."""
    below = catalog.tree.below()
    if not below:
        return {}
    images = dict(catalog.words.images())
    none = np.zeros(0, np.int64)
    return {
        word: len(np.unique(np.concatenate([images.get(each, none) for each in (word, *others)])))
        for word, others in below.items()
    }
