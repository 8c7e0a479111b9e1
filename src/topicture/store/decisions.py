"""What people decided: a log that only grows, its outcome, and undo.

A verdict is `present`, `rejected`, or `cleared` (no verdict any more). Its source says where it came from:

file     a keyword in a photo or its sidecar, written by other software
review   one answer to one question
bulk     everything above a precision target at once
import   a table or annotation file
delete   a tag deleted from the whole collection
"""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from topicture.store.database import Database

__all__ = ["CAPTIONING", "OURS", "Decision", "Decisions", "Tag", "Undone"]

OURS = ("review", "bulk", "import")
"""Sources of tags that are not in the photo's own metadata yet, and that `write` therefore writes."""

CAPTIONING = ("file", "import")
"""Sources of whole captions: a word that is missing there was not wanted. Reviewed photos tell only what was asked."""

UNDOABLE = ("review", "bulk", "import", "delete")


class Decision(NamedTuple):
    """A verdict on a word of an image, and what the model had said, if it was asked."""

    image: int
    word: str
    verdict: str
    model: int | None = None
    probability: float | None = None


class Tag(NamedTuple):
    """The last verdict on a word of an image."""

    word: str
    verdict: str
    source: str


class Undone(NamedTuple):
    """What an undo took back."""

    source: str
    at: float
    decisions: tuple[Decision, ...]


class Decisions:
    """The tables `words`, `decisions` and `tags`."""

    def __init__(self, database: Database):
        self._db = database

    # --- Words ---------------------------------------------------------------------------------------------

    def word_id(self, word: str) -> int:
        """The id of a word, which is made where it is new."""
        row = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        if row is not None:
            return row[0]
        cursor = self._db.execute("INSERT INTO words (word) VALUES (?)", (word,))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def find_word(self, word: str) -> int | None:
        row = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        return None if row is None else row[0]

    def word_ids(self) -> dict[str, int]:
        """All words ever used, with their ids."""
        return dict(self._db.execute("SELECT word, id FROM words").fetchall())

    def deleted_words(self) -> set[str]:
        return {word for (word,) in self._db.execute("SELECT word FROM words WHERE deleted IS NOT NULL")}

    # --- Deciding ------------------------------------------------------------------------------------------

    def decide(self, decisions: Iterable[Decision], source: str) -> int:
        """Log decisions as one batch, which one undo takes back; the number of those that changed something."""
        with self._db.transaction():
            batch, now, changed = self._next_batch(), time.time(), 0
            for decision in decisions:
                word = self.word_id(decision.word)
                if self._says_already(decision.image, word, decision.verdict, source):
                    continue
                self._log(
                    decision.image,
                    word,
                    decision.verdict,
                    source,
                    now,
                    batch,
                    model=decision.model,
                    probability=decision.probability,
                )
                if decision.verdict == "present":
                    self._db.execute(
                        "UPDATE words SET deleted = NULL WHERE id = ? AND deleted IS NOT NULL", (word,)
                    )
                changed += 1
        return changed

    def delete_word(self, word: str) -> int:
        """Reject a word wherever it is present, and stop suggesting it; the number of images that had it."""
        with self._db.transaction():
            number = self.word_id(word)
            images = self._db.execute(
                "SELECT image FROM tags WHERE word = ? AND verdict = 'present'", (number,)
            ).fetchall()
            self.decide([Decision(image, word, "rejected") for (image,) in images], "delete")
            self._db.execute("UPDATE words SET deleted = ? WHERE id = ?", (time.time(), number))
        return len(images)

    def carry(self, old: int, new: int) -> int:
        """Give a picture that was edited in place the verdicts on the one it replaced; the number of them.

        Keywords that stood in the file are left out: the new file speaks for itself.
        """
        with self._db.transaction():
            batch, now = self._next_batch(), time.time()
            rows = self._db.execute(
                "SELECT word, verdict, source FROM tags WHERE image = ? "
                "AND NOT (verdict = 'present' AND source = 'file') ORDER BY word",
                (old,),
            ).fetchall()
            for word, verdict, source in rows:
                self._log(new, word, verdict, source, now, batch, undoes=0)
        return len(rows)

    def undo(self) -> Undone | None:
        """Take the last batch back that has not been taken back yet; None where there is none."""
        with self._db.transaction():
            marks = ", ".join("?" * len(UNDOABLE))
            row = self._db.execute(
                f"SELECT batch, source, at FROM decisions AS d WHERE source IN ({marks}) AND undoes IS NULL "
                "AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = d.batch) ORDER BY id DESC LIMIT 1",
                UNDOABLE,
            ).fetchone()
            if row is None:
                return None
            undone_batch, source, at = row
            taken = self._take_back(undone_batch)
            if source == "delete":
                words = [(self.find_word(decision.word),) for decision in taken]
                self._db.execute_many("UPDATE words SET deleted = NULL WHERE id = ?", words)
        return Undone(source, at, tuple(taken))

    def _take_back(self, undone_batch: int) -> list[Decision]:
        batch, now, taken = self._next_batch(), time.time(), []
        rows = self._db.execute(
            "SELECT decisions.id, image, decisions.word, words.word, verdict FROM decisions "
            "JOIN words ON words.id = decisions.word WHERE batch = ? ORDER BY decisions.id",
            (undone_batch,),
        ).fetchall()
        for number, image, word, text, verdict in rows:
            before = self._db.execute(
                "SELECT verdict, source FROM decisions WHERE image = ? AND word = ? AND id < ? "
                "ORDER BY id DESC LIMIT 1",
                (image, word, number),
            ).fetchone()
            earlier, source = before or ("cleared", "undo")
            self._log(image, word, earlier, source, now, batch, undoes=undone_batch)
            taken.append(Decision(image, text, verdict))
        return taken

    def _says_already(self, image: int, word: int, verdict: str, source: str) -> bool:
        row = self._db.execute(
            "SELECT verdict, source FROM tags WHERE image = ? AND word = ?", (image, word)
        ).fetchone()
        if row is None:
            return verdict == "cleared"
        # A person who confirms what was accepted in bulk makes it a verdict of their own.
        return row[0] == verdict and not (row[1] == "bulk" and source == "review")

    def _next_batch(self) -> int:
        return self._db.execute("SELECT coalesce(max(batch), 0) + 1 FROM decisions").fetchone()[0]

    def _log(
        self,
        image: int,
        word: int,
        verdict: str,
        source: str,
        at: float,
        batch: int,
        *,
        undoes: int | None = None,
        model: int | None = None,
        probability: float | None = None,
    ) -> None:
        cursor = self._db.execute(
            "INSERT INTO decisions (image, word, verdict, source, at, batch, undoes, model, probability) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (image, word, verdict, source, at, batch, undoes, model, probability),
        )
        if verdict == "cleared":
            self._db.execute("DELETE FROM tags WHERE image = ? AND word = ?", (image, word))
        else:
            self._db.execute(
                "INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?, ?)",
                (image, word, verdict, source, cursor.lastrowid),
            )

    # --- Reading -------------------------------------------------------------------------------------------

    def tags_of(self, image: int) -> list[Tag]:
        """The verdicts on an image, by word."""
        rows = self._db.execute(
            "SELECT words.word, verdict, source FROM tags JOIN words ON words.id = tags.word "
            "WHERE image = ? ORDER BY words.word",
            (image,),
        )
        return [Tag(*row) for row in rows]

    def all_tags(self) -> Iterator[tuple[int, str, str, str]]:
        """(image, word, verdict, source) of every verdict that stands."""
        return self._db.execute(
            "SELECT image, words.word, verdict, source FROM tags JOIN words ON words.id = tags.word "
            "ORDER BY image, words.word"
        )

    def images_with(self, words: Iterable[str], verdict: str) -> list[int]:
        """Images with a verdict on any of some words."""
        found: set[int] = set()
        for word in words:
            rows = self._db.execute(
                "SELECT image FROM tags WHERE word = (SELECT id FROM words WHERE word = ?) AND verdict = ?",
                (word, verdict),
            )
            found.update(image for (image,) in rows)
        return sorted(found)

    def word_counts(self) -> list[tuple[str, int, int]]:
        """(word, images that have it, images it was rejected for), most frequent first."""
        return self._db.execute(
            "SELECT words.word, sum(verdict = 'present'), sum(verdict = 'rejected') FROM tags "
            "JOIN words ON words.id = tags.word GROUP BY tags.word ORDER BY 2 DESC, 1"
        ).fetchall()

    def counts_by_source(self) -> dict[tuple[str, str], int]:
        """(verdict, source) -> number of tags."""
        rows = self._db.execute("SELECT verdict, source, count(*) FROM tags GROUP BY source, verdict")
        return {(verdict, source): n for verdict, source, n in rows}

    def n_tagged(self) -> int:
        """Images with at least one tag, among those that have a file."""
        return self._db.execute(
            "SELECT count(*) FROM (SELECT DISTINCT image FROM tags WHERE verdict = 'present') AS t "
            "WHERE EXISTS (SELECT 1 FROM places WHERE places.image = t.image AND gone IS NULL)"
        ).fetchone()[0]
