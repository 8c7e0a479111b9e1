"""The collection as lists: which photos there are, in which order, and what a screenful of them needs.

Lists of all photos come as arrays, for whoever keeps them; `state` says cheaply when to ask again.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from topicture.store.database import Database
from topicture.store.decisions.captions import Captions
from topicture.store.files import stored_path

__all__ = ["Listing", "ListingState", "Placed", "Verdict"]


class ListingState(NamedTuple):
    """Equal for as long as the lists are; every part is one look into an index."""

    files: tuple  # last scan, last file, last picture
    words: tuple  # deleted words
    model: tuple  # newest model, when it annotated
    step: int  # last step of the log
    decision: int  # last row of the log


class Placed(NamedTuple):
    """Where a photo lies: its first living file."""

    path: str
    size: int
    content: bytes
    taken: str | None = None  # by the camera, as its files say
    edit_of: str | None = None  # the path of the photo that it is an edited copy of


class Verdict(NamedTuple):
    """What stands about a word of a photo, where that came from, and since when."""

    word: str
    verdict: str
    source: str
    at: float


_LIVING = (
    "SELECT DISTINCT image FROM places WHERE gone IS NULL ORDER BY image"  # one index has them in this order
)


class Listing:
    """Lists from the tables `images`, `places`, `tags`, `suggestions` and `words`."""

    def __init__(self, database: Database):
        self._db = database

    def state(self) -> ListingState:
        def one(statement: str) -> tuple:
            return self._db.execute(statement).fetchone() or ()

        return ListingState(
            (
                *one("SELECT value FROM settings WHERE key = 'scanned'"),
                *one("SELECT max(rowid) FROM places"),
                *one("SELECT max(id) FROM images"),
            ),
            one("SELECT count(deleted), max(deleted) FROM words"),
            one("SELECT id, annotated FROM models ORDER BY id DESC LIMIT 1"),
            one("SELECT max(id) FROM batches")[0] or 0,
            one("SELECT max(id) FROM decisions")[0] or 0,
        )

    # --- All photos ----------------------------------------------------------------------------------------

    def living(self) -> np.ndarray:
        """Ids of the photos that have a file, ascending: the order in which they were found."""
        return self._ids(_LIVING)

    def first_living(self, offset: int, limit: int, *, descending: bool = False) -> tuple[int, list[int]]:
        """How many there are, and some of them; for whoever has not got all. A tenth of a second for a million."""
        (total,) = self._db.execute("SELECT count(DISTINCT image) FROM places WHERE gone IS NULL").fetchone()
        statement = _LIVING + (" DESC" if descending else "") + " LIMIT ? OFFSET ?"
        return total, [image for (image,) in self._db.execute(statement, (limit, offset))]

    def by_path(self) -> np.ndarray:
        """The photos of all living files, by path."""
        return self._ids("SELECT image FROM places WHERE gone IS NULL ORDER BY path")

    def paths(self) -> Iterator[tuple[int, bytes]]:
        """(photo, path) of every living file, by path."""
        return self._db.execute("SELECT image, path FROM places WHERE gone IS NULL ORDER BY path")

    def modified(self) -> tuple[np.ndarray, np.ndarray]:
        """Photos, and the seconds when a file of theirs was written, on the clock of this place as cameras note it."""
        images, seconds = self._columns(
            "SELECT image, min(CASE WHEN modified > 0 THEN unixepoch(modified / 1000000000, 'unixepoch', 'localtime') "
            "ELSE unixepoch(first_seen, 'unixepoch', 'localtime') END) "
            "FROM places JOIN images ON images.id = image WHERE gone IS NULL GROUP BY image",
            2,
        )
        return images, seconds

    def taken(self) -> tuple[np.ndarray, np.ndarray]:
        """Photos whose files say when they were taken, and the seconds, on the clock of the camera."""
        images, seconds = self._columns(
            "SELECT image, unixepoch(min(taken)) FROM places "
            "WHERE gone IS NULL AND unixepoch(taken) IS NOT NULL GROUP BY image",
            2,
        )
        return images, seconds

    def with_tags(self, among: Iterable[int] | None = None) -> np.ndarray:
        """Photos that have a tag; of all, or of some."""
        statement = "SELECT DISTINCT image FROM tags WHERE verdict = 'present'"
        if among is None:
            return self._ids(statement)
        return self._ids(f"{statement} AND image IN (SELECT value FROM json_each(:some))", some=_json(among))

    def with_word(self, word: str, below: Iterable[str] = ()) -> np.ndarray:
        """Photos that have a tag, or one of those below it unless somebody said that they have it not."""
        found = self._ids(
            "SELECT image FROM tags WHERE word IN (SELECT id FROM words WHERE word IN (SELECT value FROM "
            "json_each(:words))) AND verdict = 'present'",
            words=json.dumps([word, *below]),
        )
        rejected = self._ids(
            "SELECT image FROM tags WHERE word = (SELECT id FROM words WHERE word = :word) AND verdict = 'rejected'",
            word=word,
        )
        return np.setdiff1d(found, rejected)

    def captioned(self) -> np.ndarray:
        """Photos with a caption of their owner's: what is missing there may have been left out."""
        return Captions(self._db).images()

    def decided_on(self, word: str) -> np.ndarray:
        """Photos with a verdict on a word."""
        return self._ids(
            "SELECT image FROM tags WHERE word = (SELECT id FROM words WHERE word = :word)", word=word
        )

    def within(self, folder: bytes) -> np.ndarray:
        """Photos with a living file in a folder or below it."""
        return self._ids(
            "SELECT image FROM places WHERE path >= :first AND path < :last AND gone IS NULL",
            first=folder + b"/",
            last=folder + b"0",  # the character after the slash
        )

    def decided_since(self, decision: int) -> np.ndarray:
        """Photos that the log speaks of after one of its rows."""
        # Not DISTINCT, for which SQLite would walk through an index of the whole log.
        return np.unique(self._ids("SELECT image FROM decisions WHERE id > :decision", decision=decision))

    def _ids(self, statement: str, **values: object) -> np.ndarray:
        (ids,) = self._columns(statement, 1, **values)
        return ids.astype(np.int64)

    def _columns(self, statement: str, n: int, **values: object) -> list[np.ndarray]:
        """The n columns of whole numbers that a statement gives. As text a million come within a tenth of a second."""
        names = [f"c{i}" for i in range(n)]
        joined = ", ".join(f"group_concat({name})" for name in names)
        row = self._db.execute(
            f"WITH found ({', '.join(names)}) AS ({statement}) SELECT {joined} FROM found", values
        ).fetchone()
        return [np.fromstring(text or "", np.int64, sep=",") for text in row]

    # --- A screenful ---------------------------------------------------------------------------------------

    def placed(self, images: Sequence[int]) -> dict[int, Placed]:
        """Where photos lie; those without a file are left out."""
        rows = self._db.execute(
            "SELECT images.id, places.path, size, content, "
            "(SELECT min(taken) FROM places WHERE image = images.id AND gone IS NULL), "
            "(SELECT min(path) FROM places WHERE image = images.edit_of AND gone IS NULL) "
            "FROM json_each(?) AS wanted "
            "JOIN images ON images.id = wanted.value JOIN places ON places.image = images.id "
            "WHERE gone IS NULL ORDER BY places.path DESC",
            (_json(images),),
        )
        return {
            image: Placed(stored_path(path), size, content, taken, original and stored_path(original))
            for image, path, size, content, taken, original in rows
        }

    def tag_counts(self, images: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Photo -> its tags, and how many of them were accepted in bulk."""
        rows = self._db.execute(
            "SELECT image, count(*), sum(source = 'bulk') FROM tags "
            "WHERE image IN (SELECT value FROM json_each(?)) AND verdict = 'present' GROUP BY image",
            (_json(images),),
        )
        return {image: (n, by_machine) for image, n, by_machine in rows}

    def verdicts(self, image: int) -> list[Verdict]:
        """What was decided about a photo, by word."""
        rows = self._db.execute(
            "SELECT words.word, t.verdict, t.source, d.at FROM tags AS t JOIN words ON words.id = t.word "
            "JOIN decisions AS d ON d.id = t.decision WHERE t.image = ? ORDER BY words.word",
            (image,),
        )
        return [Verdict(*row) for row in rows]

    def words(self) -> list[tuple[int, str]]:
        """(id, word) of the words in use."""
        return self._db.execute("SELECT id, word FROM words WHERE deleted IS NULL ORDER BY word").fetchall()

    def word_counts(self) -> dict[int, int]:
        """Word id -> photos that have it."""
        rows = self._db.execute("SELECT word, count(*) FROM tags WHERE verdict = 'present' GROUP BY word")
        return dict(rows.fetchall())


def _json(images: Iterable[int]) -> str:
    return json.dumps([int(image) for image in images])
