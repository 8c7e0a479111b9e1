"""Photos as a list: filtered, in an order, a screenful at a time."""

import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicture.app.verbs.browsing.columns import Columns, columns_at_hand, columns_of
from topicture.app.verbs.browsing.pictures import known_pictures, shown_path
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.listing import Listing

__all__ = [
    "ORDERS",
    "Counts",
    "FolderOfPhotos",
    "ListedPhoto",
    "PhotoFilter",
    "PhotoPage",
    "counts",
    "folders",
    "kept_photos",
    "listed",
    "photos",
]

ORDERS = ("added", "taken", "path")
MOST_PHOTOS = 1000  # in one answer


@dataclass(frozen=True)
class PhotoFilter:
    """Which photos; what is None does not matter. A word stands for those below it, too. Dates are YYYY-MM-DD, both
    included."""

    tagged: bool | None = None
    suggested: bool | None = None
    word: str | None = None
    folder: str | None = None
    first_day: str | None = None
    last_day: str | None = None


@dataclass(frozen=True)
class ListedPhoto:
    """A photo in a list; what is not known yet is None.

    `by_machine` of its tags were accepted in bulk; `edit_of` is the photo that it is an edited copy of.
    """

    id: int
    path: str
    name: str
    width: int | None
    height: int | None
    taken: str | None
    tags: int
    suggestions: int
    edit_of: str | None = None
    by_machine: int = 0


@dataclass(frozen=True)
class PhotoPage:
    """A part of a list of `total` photos."""

    total: int
    offset: int
    photos: tuple[ListedPhoto, ...]


@dataclass(frozen=True)
class Counts:
    """Photos of a collection, as in `status`; None while a large collection is still being counted."""

    photos: int
    tagged: int | None
    open_suggestions: int | None
    photos_with_suggestions: int | None


@dataclass(frozen=True)
class FolderOfPhotos:
    """A folder, relative to the root (which is ""), and the number of files in it, not counting its sub-folders."""

    folder: str
    photos: int


def photos(
    catalog: Catalog,
    wanted: PhotoFilter | None = None,
    order: str = "added",
    *,
    descending: bool = False,
    offset: int = 0,
    limit: int = 100,
) -> PhotoPage:
    """The photos that a filter lets through, from `offset` on.

    Parameters
    ----------
    order : "added" (when they were found), "taken" (by the camera, or when the file was written), or "path"

    Raises TopictureError for an order, a date or a number that can't be.
    """
    if order not in ORDERS:
        raise TopictureError(f"photos are in the order {', '.join(ORDERS)}, not {order!r}")
    if offset < 0 or not 1 <= limit <= MOST_PHOTOS:
        raise TopictureError(f"a list is read from 0 on, 1 to {MOST_PHOTOS} photos at a time")
    wanted = wanted or PhotoFilter()
    if wanted == PhotoFilter() and order == "added" and columns_at_hand(catalog) is None:
        total, first = Listing(catalog.database).first_living(offset, limit, descending=descending)
        return PhotoPage(total, offset, tuple(listed(catalog, first)))
    columns = columns_of(catalog)
    if order == "taken" or wanted.first_day or wanted.last_day:
        columns.dates(catalog)  # photos may have been looked at since; then lists by date are made anew
    found = columns.kept_list((wanted, order), lambda: _positions(catalog, columns, wanted, order))
    total = len(found)
    if descending:
        some = found[max(0, total - offset - limit) : max(0, total - offset)][::-1]
    else:
        some = found[offset : offset + limit]
    return PhotoPage(total, offset, tuple(listed(catalog, some.tolist())))


def kept_photos(catalog: Catalog, wanted: PhotoFilter) -> np.ndarray:
    """The ids of the photos that a filter lets through, ascending."""
    columns = columns_of(catalog)
    return columns.ids[_kept(catalog, columns, wanted)]


def _positions(catalog: Catalog, columns: Columns, wanted: PhotoFilter, order: str) -> np.ndarray:
    keep = _kept(catalog, columns, wanted)
    if order == "added":
        return np.flatnonzero(keep).astype(np.int32)
    if order == "path":
        by_path = columns.by_path(catalog)
        return by_path[keep[by_path]]
    chosen = np.flatnonzero(keep)
    return chosen[np.argsort(columns.dates(catalog)[chosen], kind="stable")].astype(np.int32)


def _kept(catalog: Catalog, columns: Columns, wanted: PhotoFilter) -> np.ndarray:
    """True at the photos that the filter lets through."""
    listing = Listing(catalog.database)
    keep = np.ones(len(columns.ids), bool)
    if wanted.tagged is not None:
        keep &= columns.tagged(catalog) == wanted.tagged
    below = () if wanted.word is None else catalog.tree.below().get(wanted.word, ())
    if wanted.word is not None and wanted.suggested:
        models = catalog.suggestions.models()
        waiting: set[int] = set()
        for word in (wanted.word, *below) if models else ():
            waiting.update(catalog.suggestions.open_images(models[0].id, word))
        keep &= columns.mask(np.fromiter(waiting, np.int64))
    elif wanted.word is not None:
        keep &= columns.mask(listing.with_word(wanted.word, below))
    elif wanted.suggested is not None:
        keep &= (columns.waiting(catalog) > 0) == wanted.suggested
    if wanted.folder:
        keep &= columns.mask(listing.within(os.fsencode(wanted.folder)))
    if wanted.first_day:
        keep &= columns.dates(catalog) >= _day(wanted.first_day)
    if wanted.last_day:
        keep &= columns.dates(catalog) < _day(wanted.last_day) + 86_400
    return keep


def _day(text: str) -> float:
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise TopictureError(f"a date is written as 2024-05-31, not {text!r}") from None
    return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC).timestamp()


def listed(catalog: Catalog, images: Sequence[int]) -> list[ListedPhoto]:
    """What lists show of photos, in the same order; those without a file are left out."""
    listing = Listing(catalog.database)
    placed = listing.placed(images)
    pictures = known_pictures(catalog, placed)
    tags = listing.tag_counts(images)
    models = catalog.suggestions.models()
    waiting = dict(catalog.suggestions.open_counts(models[0].id, images)) if models else {}
    found = []
    for image in images:
        if image not in placed:
            continue
        path, original = shown_path(placed[image].path), placed[image].edit_of
        name = path.rpartition("/")[2]
        n_tags, by_machine = tags.get(image, (0, 0))
        found.append(
            ListedPhoto(
                image,
                path,
                name,
                *pictures[image],
                tags=n_tags,
                suggestions=waiting.get(image, 0),
                edit_of=original and shown_path(original),
                by_machine=by_machine,
            )
        )
    return found


def counts(catalog: Catalog) -> Counts:
    """How much there is, and how much is left to do; cheap after every decision."""
    columns = columns_of(catalog)
    if not columns.is_ready(catalog):
        return Counts(len(columns.ids), None, None, None)
    waiting = columns.waiting(catalog)
    return Counts(
        len(columns.ids),
        int(columns.tagged(catalog).sum()),
        int(waiting.sum()),
        int((waiting > 0).sum()),
    )


def folders(catalog: Catalog) -> list[FolderOfPhotos]:
    """The folders that photos lie in, by name."""
    return [FolderOfPhotos(*row) for row in columns_of(catalog).folders(catalog)]
