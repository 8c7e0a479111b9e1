"""Keywords in files become decisions only when they change: what a file says is news once.

So a rejected keyword that still stands in an untouched file stays rejected, wherever the file is moved to, and a word
that Topicture itself wrote is not taken for a person's. A keyword that another program has added is a decision for it;
one that another program has removed takes the decision back.
"""

import os
from collections.abc import Iterable

from topicture.store.database import Database
from topicture.store.decisions import Decision, Decisions

__all__ = ["FileWords"]


class FileWords:
    """The table `file_words`."""

    def __init__(self, database: Database, decisions: Decisions):
        self._db = database
        self._decisions = decisions

    def update(self, path: str, image: int, words: Iterable[str], by_machine: Iterable[str] = ()) -> int:
        """Note what a file says now, and log what that changes; the number of decisions.

        `by_machine` are words that stand there as a model's choice: nobody's decision, but neither were they removed.
        """
        where = os.fsencode(path)
        with self._db.transaction():
            before = self._said_at(where)
            ever = before | self._said_of(image)
            ours = self._written_at(where)
            now = set(words) | (set(by_machine) & (ever | ours.keys()))
            self._db.execute("DELETE FROM file_words WHERE path = ?", (where,))
            self._db.execute_many(
                "INSERT INTO file_words VALUES (?, ?)",
                [(where, self._decisions.word_id(word)) for word in sorted(now)],
            )
            self._follow(where, image, now - ours.keys())
            added = now - ever - ours.keys()
            removed = {
                word
                for word in before - now - self._said_of(image, living=True)
                if ours.get(word) != "planned"
            }
            self._forget(image, removed)
            changes = [Decision(image, word, "present") for word in sorted(added)]
            changes += [
                Decision(image, word, "cleared") for word in sorted(removed) if self._is_present(image, word)
            ]
            return self._decisions.decide(changes, "file")

    def forget(self, path: str) -> None:
        """What was said about the picture that another one has replaced at a path."""
        self._db.execute("DELETE FROM file_words WHERE path = ?", (os.fsencode(path),))

    def _said_at(self, where: bytes) -> set[str]:
        rows = self._db.execute(
            "SELECT words.word FROM file_words JOIN words ON words.id = file_words.word WHERE path = ?",
            (where,),
        )
        return {word for (word,) in rows}

    def _said_of(self, image: int, *, living: bool = False) -> set[str]:
        condition = "AND gone IS NULL" if living else ""
        rows = self._db.execute(
            "SELECT DISTINCT words.word FROM places JOIN file_words USING (path) "
            f"JOIN words ON words.id = file_words.word WHERE places.image = ? {condition}",
            (image,),
        )
        return {word for (word,) in rows}

    def _written_at(self, where: bytes) -> dict[str, str]:
        return dict(
            self._db.execute(
                "SELECT words.word, state FROM written JOIN words ON words.id = written.word WHERE path = ?",
                (where,),
            ).fetchall()
        )

    def _forget(self, image: int, words: set[str]) -> None:
        """Words taken out of a file are news again should they come back, even at a place where it once lay."""
        for word in words:
            self._db.execute(
                "DELETE FROM file_words WHERE word = (SELECT id FROM words WHERE word = ?) "
                "AND path IN (SELECT path FROM places WHERE image = ? AND gone IS NOT NULL)",
                (word, image),
            )

    def _follow(self, where: bytes, image: int, words: set[str]) -> None:
        """A sidecar that was moved or copied with its photo: what we wrote into it is still ours to take out."""
        self._db.execute_many(
            "INSERT OR IGNORE INTO written SELECT ?1, word, state, by_machine, at FROM written "
            "WHERE state = 'done' AND path != ?1 AND path IN (SELECT path FROM places WHERE image = ?2) "
            "AND word = (SELECT id FROM words WHERE word = ?3)",
            [(where, image, word) for word in sorted(words)],
        )

    def _is_present(self, image: int, word: str) -> bool:
        return (
            self._db.execute(
                "SELECT 1 FROM tags WHERE image = ? AND verdict = 'present' "
                "AND word = (SELECT id FROM words WHERE word = ?)",
                (image, word),
            ).fetchone()
            is not None
        )
