"""What of the last `annotate` still stands: photos that need not be looked at again."""

import os
import time
from typing import Any, NamedTuple

import numpy as np

from topicture.app.learning.model_folder import Learned
from topicture.errors import TopictureError
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.suggestions import LearnedModel
from topicture.vision.read import may_pass

__all__ = [
    "Moment",
    "Standing",
    "note_annotated",
    "note_others_settings",
    "settings_of",
    "standing",
    "this_moment",
    "to_be_tried_again",
    "totals",
]

_NOTE = "annotated_with"
# Where more of the indexed photos than this are gone or decided anew, everything is done again.
_MOST_CHANGED = 0.1


class Standing(NamedTuple):
    """An index that this model has filled, and photos in it that need another look: decided about since, or unread."""

    words: WordIndex
    images: np.ndarray  # (D,) numbers of the photos in it
    changed: frozenset[int]


class Moment(NamedTuple):
    """Up to when something takes account of what happened: the last decision (0: none yet), and the time."""

    decision: int
    at: float


def settings_of(
    catalog: Catalog, model: LearnedModel, threshold: float | None, top: int | None, **which: bool
) -> dict[str, Any]:
    """All that suggestions depend on, beside photos and decisions."""
    words = catalog.database.execute(
        "SELECT id, deleted IS NOT NULL, policy = 'never', parent, merged FROM words "
        "WHERE deleted IS NOT NULL OR policy = 'never' OR parent IS NOT NULL OR merged IS NOT NULL ORDER BY id"
    ).fetchall()
    return {
        "model": model.id,
        "threshold": threshold,
        "top": top,
        "words": [list(row) for row in words],
        **which,
    }


def standing(
    catalog: Catalog, model: LearnedModel, learned: Learned, settings: dict[str, Any], new_only: bool
) -> Standing | None:
    """What stands of the last time; None where everything has to be done. With `new_only`, all that there is."""
    if new_only:
        index = _index_of(catalog, model, learned)
        return None if index is None else Standing(index, catalog.index_images(), frozenset())
    note = catalog.get(_NOTE)
    if not isinstance(note, dict) or note.get("settings") != settings:
        return None
    decision, at = note.get("decision"), note.get("at")
    if not isinstance(decision, int) or not isinstance(at, float):
        return None
    if learned.calibration.worlds is not None and _moved_since(catalog, at):
        return None  # how far a photo is trusted depends on its folder
    try:
        index = _index_of(catalog, model, learned)
        if index is None:
            return None
        index.check()
        images, features = catalog.index_images(), catalog.features()
        if features is not None and features.damage():
            return None
    except TopictureError:  # damaged: made anew
        return None
    rows = catalog.database.execute(
        "SELECT DISTINCT image FROM decisions WHERE id > ?", (decision,)
    ).fetchall()
    rows += [(image,) for image in _unread(catalog)]
    changed = frozenset(np.intersect1d(np.fromiter((n for (n,) in rows), np.int64), images).tolist())
    gone = len(images) - int(np.isin(images, catalog.files.living_images(), assume_unique=True).sum())
    return None if len(changed) + gone > _MOST_CHANGED * len(images) else Standing(index, images, changed)


def note_annotated(catalog: Catalog, settings: dict[str, Any], moment: Moment) -> None:
    """Suggestions are now those of all that happened up to this moment."""
    catalog.set(_NOTE, {"settings": settings, **moment._asdict()})


def note_others_settings(catalog: Catalog, settings: dict[str, Any]) -> None:
    """Some photos got suggestions by these settings: where the others have theirs by other ones, nothing stands."""
    note = catalog.get(_NOTE)
    if isinstance(note, dict) and note.get("settings") != settings:
        catalog.set(_NOTE, None)


def this_moment(catalog: Catalog) -> Moment:
    decision = catalog.database.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()[0]
    return Moment(int(decision), time.time())


def to_be_tried_again(catalog: Catalog, image: int) -> bool:
    """Whether a look at a photo may succeed: it did, nobody tried, or it failed for a reason that may have passed."""
    reason = catalog.files.reason(image)
    return reason is None or may_pass(reason)


def _unread(catalog: Catalog) -> list[int]:
    rows = catalog.database.execute("SELECT id, reason FROM images WHERE reason IS NOT NULL")
    return [image for image, reason in rows if may_pass(reason)]


def _moved_since(catalog: Catalog, at: float) -> bool:
    """Whether a photo lies in another folder than it did."""
    rows = catalog.database.execute(
        "SELECT p.path, min(living.path) FROM places AS p JOIN places AS living "
        "ON living.image = p.image AND living.gone IS NULL WHERE p.gone >= ? GROUP BY p.path",
        (at,),
    )
    return any(os.path.dirname(before) != os.path.dirname(now) for before, now in rows)


def totals(catalog: Catalog, model: LearnedModel) -> tuple[int, int]:
    """Photos that the model suggests something for, and how many suggestions there are."""
    row = catalog.database.execute(
        "SELECT count(DISTINCT image), count(*) FROM suggestions WHERE model = ? "
        "AND image IN (SELECT image FROM places WHERE gone IS NULL)",
        (model.id,),
    ).fetchone()
    return int(row[0]), int(row[1])


def _index_of(catalog: Catalog, model: LearnedModel, learned: Learned) -> WordIndex | None:
    """The index that this model has filled, if it has."""
    folder = catalog.index_folder()
    if model.annotated is None or folder is None or not folder.exists():
        return None
    index = WordIndex.open(folder)
    fits = list(index.vocabulary) == list(learned.vocabulary) and len(index) == len(catalog.index_images())
    return index if fits else None
