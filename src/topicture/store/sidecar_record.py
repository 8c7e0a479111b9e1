"""What is still to be written into sidecars, what was written, and what went wrong.

A word is noted as planned before its sidecar is touched and as done afterwards: whenever the process is killed, the
catalog knows every word that Topicture may have written, and can take it out again.
"""

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from topicture.collection.words import printable
from topicture.store.database import Database
from topicture.store.decisions.decisions import OURS
from topicture.store.files import FileTrouble, stored_path

__all__ = ["Due", "DueWord", "Placing", "SidecarRecord"]


class DueWord(NamedTuple):
    """A word that a sidecar should carry as ours."""

    word: str
    by_machine: bool  # nobody looked at this very photo
    probability: float | None


class Due(NamedTuple):
    """A file whose sidecar differs from what was decided."""

    path: str
    image: int
    add: tuple[DueWord, ...]  # all the words of ours that should stand there
    remove: tuple[str, ...]  # words of ours that should not


class Placing(NamedTuple):
    """Which regions are written: of at least that certainty, and of no more than that share of the photo."""

    least: float
    most_area: float
    declined_too: bool = False  # those of words, too, that were once written on condition of none


_SETTLED, _DECLINED = 1, 2  # what a region is once it could be written with its word, or should not be
_OURS = ", ".join(f"'{source}'" for source in OURS)
# Whether the file says a word, as far as was seen.
_SAID = """EXISTS (SELECT 1 FROM file_words AS f
                WHERE f.path = places.path AND f.image = places.image AND f.word = {word})"""
# Tags that people gave here, against the words that stand, or do not, in each living file. Not those that another
# program took out: what to do about them is for a person to say.
_WANTED = f"""
FROM tags JOIN places ON places.image = tags.image JOIN words ON words.id = tags.word
LEFT JOIN written ON written.path = places.path AND written.word = tags.word
WHERE places.gone IS NULL AND tags.verdict = 'present' AND tags.source IN ({_OURS})
AND (written.path IS NOT NULL OR NOT {_SAID.format(word="tags.word")})
AND NOT EXISTS (SELECT 1 FROM conflicts WHERE conflicts.image = tags.image AND conflicts.word = tags.word
                AND resolved IS NULL)
"""
_NOT_DONE = (
    "(written.path IS NULL OR written.state = 'planned' OR written.by_machine != (tags.source = 'bulk') "
    f"OR written.misplaced OR places.sidecars = '' OR NOT {_SAID.format(word='tags.word')})"
)
# A word is written again when a place in the photo is to be written with it that was not known, or not certain enough.
_NOT_PLACED = (
    "EXISTS (SELECT 1 FROM regions WHERE regions.image = tags.image AND regions.word = tags.word "
    "AND settled IN (0, ?) AND probability >= ? AND w * h <= ?)"
)
# Words of ours are taken out where they are known to stand, and where something was decided about this very picture:
# not beside one that merely took the place of another. Nor where another program put them back after they were
# rejected, until a person has said what to do about it.
_UNWANTED = f"""
FROM written JOIN places USING (path) JOIN words ON words.id = written.word
LEFT JOIN tags ON tags.image = places.image AND tags.word = written.word AND tags.verdict = 'present'
WHERE places.gone IS NULL AND tags.image IS NULL
AND (state = 'planned' OR {_SAID.format(word="written.word")})
AND EXISTS (SELECT 1 FROM decisions AS d WHERE d.image = places.image AND d.word = written.word)
AND NOT EXISTS (SELECT 1 FROM conflicts AS c JOIN tags AS t USING (image, word) WHERE c.image = places.image
                AND c.word = written.word AND c.kind = 'added' AND c.resolved IS NULL AND t.verdict = 'rejected')
"""


class SidecarRecord:
    """The tables `written` and `troubles`."""

    def __init__(self, database: Database):
        self._db = database

    def due(self, placing: Placing | None = None) -> list[Due]:
        """The files to write, by path; with `placing`, also those whose words are to get such regions."""
        removals = self._removals()
        due = self._unfinished() | removals.keys() | (self._unplaced(placing) if placing else set())
        return [self._due(path, removals.get(path, ())) for path in sorted(due)]

    def _unfinished(self) -> set[bytes]:
        """The files that lack a word in their sidecar."""
        return {path for (path,) in self._db.execute(f"SELECT places.path {_WANTED} AND {_NOT_DONE}")}

    def _unplaced(self, placing: Placing) -> set[bytes]:
        values = (_DECLINED if placing.declined_too else 0, placing.least, placing.most_area)
        rows = self._db.execute(f"SELECT places.path {_WANTED} AND {_NOT_PLACED}", values)
        return {path for (path,) in rows}

    def _removals(self) -> dict[bytes, list[str]]:
        """Words to take out of the sidecars of files; not those that another photo with the same sidecar has."""
        found: dict[bytes, list[str]] = {}
        query = f"SELECT path, sidecars, words.id, words.word {_UNWANTED} ORDER BY path, words.word"
        for path, sidecars, number, word in self._db.execute(query).fetchall():
            if not self._is_wanted_beside(path, sidecars, number):
                found.setdefault(path, []).append(word)
        return found

    def _is_wanted_beside(self, path: bytes, sidecars: str, word: int) -> bool:
        stem, shared = os.path.splitext(path)[0], _sidecar_name(sidecars)
        is_its_own = shared.startswith(printable(os.path.basename(os.fsdecode(path))))  # a.jpg.xmp of a.jpg
        if not shared or is_its_own:
            return False
        others = self._db.execute(  # first the few files of that name: a word may have very many photos
            "SELECT sidecars FROM places CROSS JOIN tags USING (image) WHERE path > ? AND path < ? AND path != ? "
            f"AND gone IS NULL AND word = ? AND verdict = 'present' AND source IN ({_OURS})",
            (stem + b".", stem + b"/", path, word),
        )
        return any(_sidecar_name(of_other) == shared for (of_other,) in others)

    def _due(self, path: bytes, remove: Iterable[str]) -> Due:
        (image,) = self._db.execute("SELECT image FROM places WHERE path = ?", (path,)).fetchone()
        rows = self._db.execute(
            "SELECT words.word, tags.source = 'bulk', "
            "(SELECT probability FROM decisions WHERE decisions.id = tags.decision) "
            f"{_WANTED} AND places.path = ? ORDER BY words.word",
            (path,),
        )
        add = tuple(DueWord(word, bool(by_machine), probability) for word, by_machine, probability in rows)
        return Due(stored_path(path), image, add, tuple(remove))

    def count_due(self) -> int:
        """Number of files to write, beside those that would only get regions."""
        return len(self._unfinished() | self._removals().keys())

    def plan(self, files: Iterable[Due]) -> None:
        """Note that sidecars are about to be touched."""
        now = time.time()
        rows = [(os.fsencode(due.path), word.by_machine, now, word.word) for due in files for word in due.add]
        with self._db.transaction():
            self._db.execute_many(
                "INSERT INTO written (path, word, state, by_machine, at) "
                "SELECT ?, id, 'planned', ?, ? FROM words WHERE word = ? "
                "ON CONFLICT (path, word) DO UPDATE SET state = CASE WHEN by_machine = excluded.by_machine "
                "THEN state ELSE 'planned' END, by_machine = excluded.by_machine",
                rows,
            )

    def finish(
        self,
        due: Due,
        sidecars: str | None = None,
        placing: Placing | None = None,
        *,
        declined: bool = False,
    ) -> None:
        """Note that a sidecar says what was decided.

        `sidecars` is the stamp that a scan should find; the regions of `placing` were written, or, where they are
        `declined`, none should be.
        """
        where = os.fsencode(due.path)
        origin = _sidecar_name(sidecars) if sidecars else "sidecar"
        with self._db.transaction():
            self._set_aside(where, origin, {word.word for word in due.add})
            for word in due.add:
                self._db.execute(
                    "UPDATE written SET state = 'done', misplaced = 0, at = ? WHERE path = ? "
                    "AND word = (SELECT id FROM words WHERE word = ?)",
                    (time.time(), where, word.word),
                )
                self._db.execute(
                    "INSERT OR IGNORE INTO file_words SELECT ?, ?, id, ? FROM words WHERE word = ?",
                    (where, due.image, origin, word.word),
                )
                self._settle(due.image, word.word, placing, declined)
            for text in due.remove:
                for table in ("written", "file_words"):
                    self._db.execute(
                        f"DELETE FROM {table} WHERE path = ? AND word = (SELECT id FROM words WHERE word = ?)"
                        + (" AND origin != 'photo'" if table == "file_words" else ""),
                        (where, text),
                    )
            self._db.execute("DELETE FROM troubles WHERE path = ?", (where,))
            if sidecars is not None:
                self._db.execute("UPDATE places SET sidecars = ? WHERE path = ?", (sidecars, where))

    def decline_regions(self) -> None:
        """Note of all words that stand written that regions found since should not be."""
        self._db.execute(
            "UPDATE regions SET settled = ? WHERE NOT settled AND EXISTS "
            "(SELECT 1 FROM places JOIN written USING (path) "
            "WHERE places.image = regions.image AND written.word = regions.word AND state = 'done')",
            (_DECLINED,),
        )

    def _settle(self, image: int, word: str, placing: Placing | None, declined: bool) -> None:
        regions = "WHERE image = ? AND word = (SELECT id FROM words WHERE word = ?)"
        if placing is not None:
            self._db.execute(
                f"UPDATE regions SET settled = ? {regions} AND probability >= ? AND w * h <= ?",
                (_SETTLED, image, word, placing.least, placing.most_area),
            )
        elif declined:
            self._db.execute(
                f"UPDATE regions SET settled = ? {regions} AND NOT settled", (_DECLINED, image, word)
            )

    def _set_aside(self, where: bytes, origin: str, ours: set[str]) -> None:
        """A new sidecar in the place of one that is gone does not know what others wrote into that one."""
        is_new = "(SELECT sidecars FROM places WHERE places.path = file_words.path) = ''"
        rows = self._db.execute(
            "SELECT words.word, words.id FROM file_words JOIN words ON words.id = file_words.word "
            f"WHERE path = ? AND origin = ? AND {is_new}",
            (where, origin),
        ).fetchall()
        self._db.execute_many(
            "UPDATE OR IGNORE file_words SET origin = 'gone ' || origin WHERE path = ? AND origin = ? AND word = ?",
            [(where, origin, number) for word, number in rows if word not in ours],
        )

    def fail(self, path: str, reason: str) -> None:
        """Keep a file pending, with the reason."""
        self._db.execute(
            "INSERT OR REPLACE INTO troubles VALUES (?, ?, ?)", (os.fsencode(path), reason, time.time())
        )

    def troubles(self) -> list[FileTrouble]:
        """The files whose sidecars could not be written, by path."""
        rows = self._db.execute("SELECT path, reason FROM troubles ORDER BY path")
        return [FileTrouble(stored_path(path), reason) for path, reason in rows]


def _sidecar_name(stamp: str) -> str:
    """The name in what a scan notes of a sidecar: its size, its time and its name; nothing where there is none."""
    return stamp.removeprefix("unread ").split(" ", 2)[-1]
