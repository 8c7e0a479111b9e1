"""Where in a photo its likely words are, as a model found it when it last looked at the photo."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from topicture.store.database import Database

__all__ = ["Box", "Regions"]


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
                settled = {
                    word
                    for (word,) in self._db.execute(
                        "SELECT words.word FROM regions JOIN words ON words.id = regions.word "
                        "WHERE image = ? AND settled",
                        (image,),
                    )
                }
                self._db.execute("DELETE FROM regions WHERE image = ?", (image,))
                self._db.execute_many(
                    "INSERT INTO regions SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM words WHERE word = ?",
                    [(image, *box[1:], model, box.word in settled, box.word) for box in found],
                )

    def of(self, image: int) -> list[Box]:
        """The boxes of an image, in the order in which they were given."""
        rows = self._db.execute(
            "SELECT words.word, x, y, w, h, probability FROM regions JOIN words ON words.id = regions.word "
            "WHERE image = ? ORDER BY regions.rowid",
            (image,),
        )
        return [Box(*row) for row in rows]
