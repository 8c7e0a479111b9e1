"""Where in a photo its words are: as a model found it when it last looked, and as people have marked it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.safety.own_files import CatalogError

__all__ = ["Box", "Regions"]

_MARKED = "marked_regions"  # the setting that keeps what people marked
_AT_ONCE = 500  # images in one question to the database


class Box(NamedTuple):
    """A rectangle of the upright picture and the word for it, in shares of width and height, from the top left."""

    word: str
    x: float
    y: float
    w: float
    h: float
    probability: float


class Regions:
    """The table `regions`."""

    def __init__(self, database: Database):
        self._db = database

    def replace(self, model: int, boxes: Mapping[int, Iterable[Box]]) -> None:
        """Store the boxes of images in place of earlier ones; images that are not named keep theirs."""
        with self._db.transaction():
            for image, found in boxes.items():
                settled = dict(
                    self._db.execute(
                        "SELECT words.word, min(settled) FROM regions JOIN words ON words.id = regions.word "
                        "WHERE image = ? AND settled GROUP BY regions.word",
                        (image,),
                    ).fetchall()
                )
                self._db.execute("DELETE FROM regions WHERE image = ?", (image,))
                self._db.execute_many(
                    "INSERT INTO regions SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM words WHERE word = ?",
                    [(image, *box[1:], model, settled.get(box.word, 0), box.word) for box in found],
                )

    def of(self, image: int) -> list[Box]:
        """The boxes of an image, in the order in which they were given."""
        rows = self._db.execute(
            "SELECT words.word, x, y, w, h, probability FROM regions JOIN words ON words.id = regions.word "
            "WHERE image = ? ORDER BY regions.rowid",
            (image,),
        )
        return [Box(*row) for row in rows]

    def certainties(self, images: Sequence[int], words: Iterable[str]) -> dict[tuple[int, str], float]:
        """(image, word) -> how certain its surest box is, of those of the images and words that have one."""
        found: dict[tuple[int, str], float] = {}
        wanted = json.dumps(sorted(words))
        for start in range(0, len(images), _AT_ONCE):
            some = images[start : start + _AT_ONCE]
            rows = self._db.execute(
                "SELECT image, words.word, max(probability) FROM regions JOIN words ON words.id = regions.word "
                f"WHERE image IN ({', '.join('?' * len(some))}) "
                "AND words.word IN (SELECT value FROM json_each(?)) GROUP BY image, words.word",
                (*some, wanted),
            )
            found.update({(image, word): certainty for image, word, certainty in rows})
        return found

    def mark(self, boxes: Mapping[int, Iterable[Box]]) -> None:
        """Keep boxes that people have made, in place of earlier ones of the same images.

        They mean something as long as their words are tags: an import that is undone takes its boxes with it.
        """
        kept = {**self.marked(), **boxes}
        text = json.dumps({image: [box[:5] for box in found] for image, found in kept.items() if found})
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_MARKED, text))

    def marked(self) -> dict[int, list[Box]]:
        """Image -> boxes that people have made, with probability 1."""
        row = self._db.execute("SELECT value FROM settings WHERE key = ?", (_MARKED,)).fetchone()
        try:
            return {
                int(image): [
                    Box(str(word), float(x), float(y), float(w), float(h), 1.0) for word, x, y, w, h in boxes
                ]
                for image, boxes in (json.loads(row[0]) if row else {}).items()
            }
        except (AttributeError, TypeError, ValueError, RecursionError):
            raise CatalogError(
                f"{self._db.path}: damaged (setting {_MARKED!r}); restore a backup, or import the boxes again"
            ) from None
