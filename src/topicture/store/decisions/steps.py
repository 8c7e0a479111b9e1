"""The steps in which the log of decisions grows: what is done at once is one step, and is undone as one."""

import json
import time
from collections.abc import Collection, Iterable

from topicture.store.database import Database

__all__ = [
    "UNDOABLE",
    "Step",
    "done_first",
    "last_step",
    "not_done_again",
    "steps_since",
    "to_do_again",
    "undoings",
    "undone_steps",
]

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


def to_do_again(database: Database, number: int | None = None) -> list[tuple[int, str, float]]:
    """(number, source, time) of steps to do again: the undone ones, the last first, or a given one if it was undone.

    As in an editor: whoever undoes two steps and does one again can do the other, too; a new decision ends that.
    """
    undone = [number] if number is not None else []
    if number is None:
        done_again: set[int] = set()
        rows = database.execute("SELECT source, undoes, redoes FROM batches ORDER BY id DESC")
        for source, undoes, redoes in rows:
            if redoes is not None:
                done_again.add(redoes)
            elif undoes is not None and undoes not in done_again:
                undone.append(undoes)
            elif undoes is not None:
                done_again.discard(undoes)
            elif source in UNDOABLE:
                break
    query = "SELECT id, source, at FROM batches AS b WHERE id = ? "
    query += "AND EXISTS (SELECT 1 FROM batches WHERE undoes = b.id)"
    return [row for each in undone for row in database.execute(query, (each,)).fetchall()]


def undone_steps(database: Database, among: Iterable[int] | None = None) -> set[int]:
    """The numbers of all steps, or of those among some, that were undone; what was done again is a step of its own."""
    if among is None:
        rows = database.execute("SELECT undoes FROM batches WHERE undoes IS NOT NULL")
    else:
        query = "SELECT undoes FROM batches WHERE undoes IN (SELECT value FROM json_each(?))"
        rows = database.execute(query, (json.dumps(list(among)),))
    return {number for (number,) in rows}


def undoings(database: Database, numbers: Collection[int]) -> set[int]:
    """The steps that undid some others."""
    query = "SELECT id FROM batches WHERE undoes = ?"
    return {undo for number in numbers for (undo,) in database.execute(query, (number,))}


def done_first(database: Database) -> dict[int, int]:
    """Steps that did something again, with the one that had done it first."""
    first: dict[int, int] = {}
    # A damaged catalog may lead in a circle.
    for number, redoes in database.execute("SELECT id, redoes FROM batches WHERE redoes < id ORDER BY id"):
        first[number] = first.get(redoes, redoes)
    return first


def not_done_again(numbers: Collection[int], undone: Collection[int], first: dict[int, int]) -> set[int]:
    """Those of some steps that were undone, and that none of the others did again."""
    standing = {first.get(number, number) for number in numbers if number not in undone}
    return {number for number in numbers if first.get(number, number) not in standing}


def steps_since(database: Database, number: int, undone: Collection[int], first: dict[int, int]) -> set[int]:
    """The steps after another one that stand; what did an earlier step again is as old as that."""
    than = first.get(number, number)
    rows = database.execute("SELECT id FROM batches WHERE id > ? AND source != 'undo'", (than,)).fetchall()
    return {each for (each,) in rows if each not in undone and first.get(each, each) > than}
