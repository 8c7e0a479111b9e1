"""The steps in which the log of decisions grows: what is done at once is one step, and is undone as one."""

import time

from topicture.store.database import Database

__all__ = ["UNDOABLE", "Step", "last_step", "last_undone"]

UNDOABLE = (
    *("review", "bulk", "import", "delete", "scan", "conflict"),
    *("rename", "merge", "parent", "policy"),
)
"""Sources of steps that `undo` takes back. Not among them: keywords of photos that were read for the first time (they
stand in the files), verdicts carried over to an edited picture, and undo itself."""


class Step:
    """A row of `batches`, which is made when something is first logged under its number: an empty step is none."""

    def __init__(
        self, database: Database, source: str, *, undoes: int | None = None, redoes: int | None = None
    ):
        self.source = source
        self.at = time.time()
        self._db = database
        self._undoes, self._redoes = undoes, redoes
        self._number: int | None = None

    @property
    def number(self) -> int:
        if self._number is None:
            cursor = self._db.execute(
                "INSERT INTO batches (source, at, undoes, redoes) VALUES (?, ?, ?, ?)",
                (self.source, self.at, self._undoes, self._redoes),
            )
            self._number = cursor.lastrowid
            assert self._number is not None
        return self._number

    @property
    def made(self) -> int | None:
        """The number, where something was logged."""
        return self._number


def last_step(database: Database, number: int | None = None) -> tuple[int, str, float] | None:
    """(number, source, time) of the last step that can be undone, or of one given step if it still can."""
    marks = ", ".join("?" * len(UNDOABLE))
    return database.execute(
        f"SELECT id, source, at FROM batches AS b WHERE source IN ({marks}) AND id = coalesce(?, id) "
        "AND NOT EXISTS (SELECT 1 FROM batches WHERE undoes = b.id) ORDER BY id DESC LIMIT 1",
        (*UNDOABLE, number),
    ).fetchone()


def last_undone(database: Database, number: int | None = None) -> tuple[int, str, float] | None:
    """(number, source, time) of the step to do again: the last undone one if nothing was decided since, or a given one.

    As in an editor: whoever undoes two steps and does one again can do the other, too; a new decision ends that.
    """
    if number is None:
        done_again: set[int] = set()
        rows = database.execute("SELECT source, undoes, redoes FROM batches ORDER BY id DESC")
        for source, undoes, redoes in rows:
            if redoes is not None:
                done_again.add(redoes)
            elif undoes is not None and undoes not in done_again:
                number = undoes
                break
            elif undoes is not None:
                done_again.discard(undoes)
            elif source in UNDOABLE:
                return None
    return database.execute(
        "SELECT id, source, at FROM batches AS b WHERE id = ? "
        "AND EXISTS (SELECT 1 FROM batches WHERE undoes = b.id)",
        (number,),
    ).fetchone()
