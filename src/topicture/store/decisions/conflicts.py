"""Conflicts: a file disagrees with what a person decided here. Neither wins until somebody says which.

removed   another program took a word out of a sidecar or photo that somebody accepted here
added     another program put a word in that somebody rejected here

Until then the decision stands in the catalog, and no sidecar is given the word or loses it.
"""

import os
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.steps import Step

__all__ = ["Conflict", "Conflicts"]


class Conflict(NamedTuple):
    """A word that a file and a decision disagree about."""

    path: str
    image: int
    word: str
    kind: str
    source: str  # of the decision
    at: float


class Open(NamedTuple):
    """A conflict to be settled, as it was noted."""

    image: int
    kind: str
    path: bytes
    at: float


# Those that nobody settled, about decisions that still stand; and photos that are still there.
_STANDING = """
FROM conflicts JOIN words ON words.id = conflicts.word
JOIN tags ON tags.image = conflicts.image AND tags.word = conflicts.word
AND tags.verdict = CASE kind WHEN 'removed' THEN 'present' ELSE 'rejected' END
WHERE resolved IS NULL
"""
_OPEN = f"""{_STANDING}
AND EXISTS (SELECT 1 FROM places WHERE places.image = conflicts.image AND gone IS NULL)
"""


class Conflicts:
    """The table `conflicts`."""

    def __init__(self, database: Database):
        self._db = database

    def open(self) -> list[Conflict]:
        """All that are to be settled, by path and word."""
        rows = self._db.execute(
            "SELECT coalesce((SELECT min(path) FROM places WHERE places.image = conflicts.image AND gone IS NULL "
            "AND path = conflicts.path), (SELECT min(path) FROM places WHERE places.image = conflicts.image "
            "AND gone IS NULL)) AS place, conflicts.image, words.word, kind, source, at "
            f"{_OPEN} ORDER BY place, words.word"
        )
        return [Conflict(os.fsdecode(path), *rest) for path, *rest in rows]

    def count(self) -> int:
        return self._db.execute(f"SELECT count(*) {_OPEN}").fetchone()[0]

    def note(self, image: int, word: int, kind: str, path: str) -> None:
        """A file was found to say otherwise."""
        self._db.execute(
            "INSERT OR REPLACE INTO conflicts (image, word, kind, path, at) VALUES (?, ?, ?, ?, ?)",
            (image, word, kind, os.fsencode(path), time.time()),
        )

    def drop(self, image: int, kind: str, path: str, words: Collection[str]) -> None:
        """The file, or the one that the photo was moved to, says again what was decided about some words."""
        rows = self._db.execute(
            "SELECT said.id, meant.word FROM conflicts JOIN words AS said ON said.id = conflicts.word "
            "JOIN words AS meant ON meant.id = coalesce(said.merged, said.id) "
            "WHERE image = :image AND kind = :kind AND resolved IS NULL AND (path = :path OR NOT EXISTS "
            "(SELECT 1 FROM places WHERE path = conflicts.path AND image = :image AND gone IS NULL))",
            {"image": image, "kind": kind, "path": os.fsencode(path)},
        ).fetchall()
        self._db.execute_many(
            "DELETE FROM conflicts WHERE image = ? AND word = ?",
            [(image, number) for number, word in rows if word in words],
        )

    def settle(self, image: int, word: int, step: Step) -> bool:
        """Somebody has said what is right; False where there was no conflict."""
        pair = "WHERE image = ? AND word = ? AND resolved IS NULL"
        if self._db.execute(f"SELECT 1 FROM conflicts {pair}", (image, word)).fetchone() is None:
            return False
        self._db.execute(f"UPDATE conflicts SET resolved = ? {pair}", (step.number, image, word))
        return True

    def reopen(self, step: int) -> int:
        """What a step had settled is open again, unless the file agrees by now; how many."""
        settled = (
            "FROM conflicts WHERE resolved = :step AND (kind = 'added') = EXISTS "
            "(SELECT 1 FROM file_words AS f JOIN words AS said ON said.id = f.word WHERE f.path = conflicts.path "
            "AND f.image = conflicts.image AND coalesce(said.merged, said.id) = conflicts.word)"
        )
        self._db.execute(
            f"INSERT OR IGNORE INTO reopened SELECT :step, image, word {settled}", {"step": step}
        )
        return self._db.execute(
            f"UPDATE conflicts SET resolved = NULL WHERE (image, word) IN (SELECT image, word {settled})",
            {"step": step},
        ).rowcount

    def settle_again(self, undone: int, step: Step) -> int:
        """What the undoing of a step opened again is settled once more, by another step; how many."""
        pairs = self._db.execute("SELECT image, word FROM reopened WHERE batch = ?", (undone,)).fetchall()
        return sum(self.settle(image, word, step) for image, word in pairs)

    def of(self, words: Iterable[int]) -> list[Open]:
        """Those of some words that are to be settled."""
        query = f"SELECT conflicts.image, kind, path, at {_STANDING} AND conflicts.word = ?"
        return [Open(*row) for word in words for row in self._db.execute(query, (word,))]

    def take_over(self, word: int, conflicts: Iterable[Open]) -> None:
        """What was to be settled about words that mean this one now is to be settled about it, if it holds for it."""
        for conflict in conflicts:
            self._db.execute(
                "INSERT INTO conflicts (image, word, kind, path, at) SELECT image, word, :kind, :path, :at FROM tags "
                "WHERE image = :image AND word = :word "
                "AND verdict = CASE :kind WHEN 'removed' THEN 'present' ELSE 'rejected' END "
                "AND (:kind = 'added') = EXISTS (SELECT 1 FROM file_words AS f JOIN words AS said ON said.id = f.word "
                "WHERE f.path = :path AND f.image = :image AND coalesce(said.merged, said.id) = :word) "
                "ON CONFLICT DO UPDATE SET kind = excluded.kind, path = excluded.path, at = excluded.at, "
                "resolved = NULL WHERE resolved IS NOT NULL",
                {"word": word, **conflict._asdict()},
            )

    def give_back(self, former: int, word: int) -> None:
        """What `word` took over from one that does not mean it any more: it is that one's to settle again."""
        self._db.execute(
            "DELETE FROM conflicts WHERE word = ? AND resolved IS NULL AND EXISTS (SELECT 1 FROM conflicts AS own "
            "WHERE own.word = ? AND own.image = conflicts.image AND own.kind = conflicts.kind "
            "AND own.path = conflicts.path AND own.at = conflicts.at)",
            (word, former),
        )

    def carry(self, old: int, new: int) -> None:
        """An edited picture takes the place of the former one in its conflicts."""
        self._db.execute("UPDATE OR IGNORE conflicts SET image = ? WHERE image = ?", (new, old))
