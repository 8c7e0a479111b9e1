"""Why a word is suggested for a photo: what the members of the model say, which photos are like it, where it would be.

Loading a model takes seconds, so the last one stays in memory while the program runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname as folder_of
from threading import Lock
from typing import Any

import numpy as np

from topicture.app.verbs.browsing.listing import ListedPhoto, listed
from topicture.app.verbs.searching import likenesses
from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.listing import Listing, Placed
from topicture.store.regions import Box

__all__ = ["Neighbour", "Opinion", "Reasons", "similar_photos", "why"]

N_NEIGHBOURS = 8


@dataclass(frozen=True)
class Opinion:
    """A member of the model: its share of the weights, how probable it alone finds the word, and the word's rank."""

    model: str
    weight: float
    probability: float
    rank: int
    of: int


@dataclass(frozen=True)
class Neighbour:
    """A photo, the cosine of both appearances, and whether it has the word (None where nobody asks)."""

    photo: ListedPhoto
    likeness: float
    has: bool | None = None

    def flat(self) -> dict[str, Any]:
        return {**vars(self.photo), "likeness": self.likeness, "has": self.has}


@dataclass(frozen=True)
class Reasons:
    """What speaks for and against a word. `note` says why a part is missing."""

    word: str
    probability: float | None
    members: tuple[Opinion, ...]
    neighbours: tuple[dict[str, Any], ...]
    regions: tuple[Box, ...]
    note: str = ""


def why(catalog: Catalog, image: int, word: str, *, ask_members: bool = True) -> Reasons:
    """The reasons behind a word of a photo; without the opinions of the model's members where they are not asked for.

    Raises DataNotFound for a photo without a file.
    """
    cleaned = clean_word(word)
    place = Listing(catalog.database).placed([image]).get(image)
    if place is None:
        raise DataNotFound(f"there is no photo {image}, or its file is gone; 'topicture scan' looks for it")
    model = catalog.suggestions.newest()
    note, probability = "", None
    members: tuple[Opinion, ...] = ()
    if ask_members:
        try:
            probability, members = _opinions(catalog, catalog.model_folder(model), place, cleaned)
        except TopictureError as error:  # neighbours and regions are worth having without it
            note = str(error)
    stored = catalog.suggestions.probability(model.id, image, cleaned)
    return Reasons(
        cleaned,
        probability if stored is None else stored,
        members,
        tuple(each.flat() for each in _tagged_neighbours(catalog, image, cleaned)),
        tuple(box for box in catalog.regions.of(image) if box.word == cleaned),
        note,
    )


def _opinions(catalog: Catalog, folder: Path, place: Placed, word: str) -> tuple[float, tuple[Opinion, ...]]:
    from topicture.annotations.topics import members_of
    from topicture.vision.pipeline import Photo, describe

    learned = _loaded.get(folder)
    if word not in learned.vocabulary:
        raise DataNotFound(
            f"the model was learned before {word!r} had enough photos; learn again to include it"
        )
    column = learned.vocabulary.index(word)
    photo = Photo(place.content.hex(), catalog.root / place.path)
    corpus = describe(
        [photo], learned.features, vocabulary=learned.vocabulary, workers=1, cache=catalog.cache
    ).corpus
    places = [folder_of(place.path)]
    opinions = []
    for member in members_of(learned.annotator):
        p = member.annotator.annotate(corpus)
        opinions.append(
            Opinion(
                member.title,
                1.0 if member.share is None else member.share,
                float(learned.calibration(p, corpus, places)[0, column]),
                int((p[0] > p[0, column]).sum()) + 1,
                p.shape[1],
            )
        )
    return float(learned.presence(corpus, places)[0, column]), tuple(opinions)


def _tagged_neighbours(catalog: Catalog, image: int, word: str) -> list[Neighbour]:
    """The photos most like one among those that have any tag, with whether they have this one."""
    try:
        images, likeness = likenesses(catalog, image)
    except TopictureError:
        return []
    listing = Listing(catalog.database)
    tagged = listing.with_tags()
    keep = np.isin(images, tagged, assume_unique=True) & (images != image)
    return _nearest(
        catalog, images[keep], likeness[keep], set(listing.with_word(word).tolist()), N_NEIGHBOURS
    )


def similar_photos(catalog: Catalog, image: int, limit: int = 12) -> list[dict[str, Any]]:
    """The photos that look most like one, as lists show them; raises DataNotFound where there is no index."""
    images, likeness = likenesses(catalog, image)
    others = images != image
    return [each.flat() for each in _nearest(catalog, images[others], likeness[others], None, limit)]


def _nearest(
    catalog: Catalog, images: np.ndarray, likeness: np.ndarray, having: set[int] | None, limit: int
) -> list[Neighbour]:
    order = np.argsort(-likeness, kind="stable")[: 2 * limit]  # some may be gone
    value = dict(zip(images[order].tolist(), likeness[order].tolist(), strict=True))
    return [
        Neighbour(each, value[each.id], None if having is None else each.id in having)
        for each in listed(catalog, list(value))[:limit]
    ]


class _Loaded:
    """The last model that was asked for."""

    def __init__(self, load: Callable[[Path], Any]):
        self._load = load
        self._lock = Lock()
        self._folder: Path | None = None
        self._learned: Any = None

    def get(self, folder: Path) -> Any:
        with self._lock:
            if self._folder != folder:
                self._learned, self._folder = self._load(folder), folder
            return self._learned


def _load(folder: Path) -> Any:
    from topicture.app.learning.model_folder import load_learned

    return load_learned(folder, regions=False)


_loaded = _Loaded(_load)
