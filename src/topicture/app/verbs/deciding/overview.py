"""What is left to decide: tag by tag, and page by page of a tag."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from topicture.app.verbs.deciding.cards import cards
from topicture.app.verbs.deciding.counts import open_tags
from topicture.app.verbs.deciding.pace import decisions_per_minute
from topicture.collection.words import clean_word
from topicture.store import Catalog
from topicture.store.decisions.past_steps import PastSteps

__all__ = ["Overview", "TagPage", "overview", "tag_page"]

STEPS_OF_PACE = 60
ILLUSTRATED = 60  # tags that come with photos


@dataclass(frozen=True)
class Overview:
    """Where a review stands.

    Attributes
    ----------
    tags : where one stroke settles most first, as `OpenOfWord` with the surest photos of the first few
    decided : answered suggestions of this model
    left : open ones
    pace : decisions per minute lately; None while it is not known
    """

    tags: list[dict[str, Any]]
    decided: int
    left: int
    pace: float | None


@dataclass(frozen=True)
class TagPage:
    """Photos that a tag is suggested for, the surest first.

    Attributes
    ----------
    total : undecided suggestions of the tag, on this page and elsewhere
    expected : how many of them are expected to be right
    photos : cards with their probability
    """

    word: str
    total: int
    expected: float
    photos: list[dict[str, Any]]


def overview(catalog: Catalog) -> Overview:
    """Count what is left."""
    models = catalog.suggestions.models()
    past = PastSteps(catalog.database)
    tags = open_tags(catalog)
    return Overview(
        tags=[
            {**tag._asdict(), "photos": _surest(catalog, models[0].id, tag.word) if i < ILLUSTRATED else []}
            for i, tag in enumerate(tags)
        ],
        decided=past.answered(models[0].id) if models else 0,
        left=sum(tag.open for tag in tags),
        pace=decisions_per_minute(past.review_times(STEPS_OF_PACE)),
    )


def _surest(catalog: Catalog, model: int, word: str) -> list[int]:
    return [suggestion.image for suggestion in islice(catalog.suggestions.surest(model, word=word), 3)]


def tag_page(
    catalog: Catalog,
    word: str,
    *,
    offset: int = 0,
    limit: int = 48,
    after: tuple[float, int] | None = None,
) -> TagPage:
    """One page of a tag; `after` names the probability and photo that the page before ended with."""
    word, model = clean_word(word), catalog.suggestions.newest().id
    found = list(islice(catalog.suggestions.surest(model, word=word, after=after), offset, offset + limit))
    known = cards(catalog, (suggestion.image for suggestion in found))
    counts = open_tags(catalog, word)
    total, mean = (counts[0].open, counts[0].mean) if counts else (0, 0.0)
    photos = [{**known[s.image], "probability": s.probability} for s in found if s.image in known]
    return TagPage(word, total, total * mean, photos)
