"""One photo, with everything that is known about it."""

from dataclasses import dataclass

from topicture.app.verbs.browsing.pictures import known_pictures, shown_path
from topicture.errors import DataNotFound
from topicture.store import Catalog
from topicture.store.listing import Listing
from topicture.store.regions import Box

__all__ = ["PhotoFacts", "SourcedTag", "SuggestedWord", "photo"]


@dataclass(frozen=True)
class SourcedTag:
    """A word, where the verdict on it came from (file, review, bulk, import, delete), and when, in seconds."""

    word: str
    source: str
    at: float


@dataclass(frozen=True)
class SuggestedWord:
    word: str
    probability: float


@dataclass(frozen=True)
class PhotoFacts:
    """A photo; regions are in shares of width and height."""

    id: int
    path: str
    folder: str
    name: str
    width: int | None
    height: int | None
    taken: str | None
    bytes: int
    reason: str | None  # why it could not be looked at
    tags: tuple[SourcedTag, ...]
    rejected: tuple[SourcedTag, ...]
    suggestions: tuple[SuggestedWord, ...]
    regions: tuple[Box, ...]
    edit_of: str | None = None  # the photo that it is an edited copy of


def photo(catalog: Catalog, image: int) -> PhotoFacts:
    """Everything about a photo; raises DataNotFound where there is none, or its file is gone."""
    listing = Listing(catalog.database)
    place = listing.placed([image]).get(image)
    if place is None:
        raise DataNotFound(f"there is no photo {image}, or its file is gone; 'topicture scan' looks for it")
    path = shown_path(place.path)
    folder, _, name = path.rpartition("/")
    verdicts = listing.verdicts(image)
    models = catalog.suggestions.models()
    waiting = catalog.suggestions.open(models[0].id, image=image) if models else []

    def with_verdict(verdict: str) -> tuple[SourcedTag, ...]:
        return tuple(
            SourcedTag(each.word, each.source, each.at) for each in verdicts if each.verdict == verdict
        )

    return PhotoFacts(
        image,
        path,
        folder,
        name,
        *known_pictures(catalog, {image: place})[image],
        bytes=place.size,
        reason=catalog.files.reason(image),
        tags=with_verdict("present"),
        rejected=with_verdict("rejected"),
        suggestions=tuple(SuggestedWord(each.word, each.probability) for each in waiting),
        regions=tuple(catalog.regions.of(image)),
        edit_of=place.edit_of and shown_path(place.edit_of),
    )
