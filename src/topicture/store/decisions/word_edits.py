"""Changes to words themselves, each a part of a step and undone with it.

A word is deleted or in use, has a policy and perhaps a parent, and may have been merged into another.
"""

from collections.abc import Iterable

from topicture.store.database import Database
from topicture.store.decisions.steps import Step
from topicture.store.lending import lend

__all__ = ["FIELDS", "redo_edits", "set_deleted", "set_field", "undo_edits"]

FIELDS = {"policy": str, "precision": float, "parent": int, "merged": int}
"""The columns of `words` that are changed here, with the type that their text stands for."""

Value = str | float | int | None


def set_deleted(database: Database, word: int, after: float | None, step: Step) -> None:
    """Stop suggesting a word, or begin again; where that is news it is a part of the step."""
    (before,) = database.execute("SELECT deleted FROM words WHERE id = ?", (word,)).fetchone()
    if (before is None) == (after is None):
        return
    database.execute("UPDATE words SET deleted = ? WHERE id = ?", (after, word))
    database.execute(
        "INSERT OR IGNORE INTO word_changes VALUES (?, ?, ?, ?)", (step.number, word, before, after)
    )


def set_field(database: Database, word: int, field: str, after: Value, step: Step) -> bool:
    """Change a field of a word; False where it says that already."""
    (before,) = database.execute(f"SELECT {field} FROM words WHERE id = ?", (word,)).fetchone()
    if before == after:
        return False
    database.execute(f"UPDATE words SET {field} = ? WHERE id = ?", (after, word))
    database.execute(
        "INSERT INTO word_edits VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET after = excluded.after",
        (step.number, word, field, _text(before), _text(after)),
    )
    if field == "parent":
        _rewrite(database, word)
    return True


def redo_edits(database: Database, number: int, step: Step) -> tuple[str, ...]:
    """Change words again as an undone step did, where they are still as they were before it; the words, in order."""
    changed: set[int] = set()
    targets: set[int] = set()
    for word, before, after in _changes(database, number):
        (now,) = database.execute("SELECT deleted FROM words WHERE id = ?", (word,)).fetchone()
        if now == before:
            set_deleted(database, word, None if after is None else float(after), step)
            changed.add(word)
    for word, field, before, after in _edits(database, number):
        (now,) = database.execute(f"SELECT {field} FROM words WHERE id = ?", (word,)).fetchone()
        if now == before:
            set_field(database, word, field, after, step)
            changed.add(word)
            if field == "merged":
                targets.update(each for each in (before, after, word) if isinstance(each, int))
    lend(database, sorted(targets))
    return _texts(database, changed)


def undo_edits(database: Database, number: int) -> tuple[str, ...]:
    """Take back what a step changed about words, as far as it still stands; the words, in order."""
    changed = set()
    for word, before, after in _changes(database, number):
        if _restore(database, word, "deleted", before, after):
            changed.add(word)
    targets: set[int] = set()
    for word, field, before, after in _edits(database, number):
        if _restore(database, word, field, before, after):
            changed.add(word)
            if field == "parent":
                _rewrite(database, word)
            if field == "merged":
                targets.update(each for each in (before, after) if isinstance(each, int))
    lend(database, sorted(targets))
    return _texts(database, changed)


def _changes(database: Database, number: int) -> list[tuple[int, Value, Value]]:
    """(word, before, after) of the words that a step deleted or took into use."""
    return database.execute(
        "SELECT word, before, after FROM word_changes WHERE batch = ?", (number,)
    ).fetchall()


def _edits(database: Database, number: int) -> list[tuple[int, str, Value, Value]]:
    """(word, field, before, after) of the fields that a step changed."""
    rows = database.execute(
        "SELECT word, field, before, after FROM word_edits WHERE batch = ?", (number,)
    ).fetchall()
    return [(word, field, _value(field, before), _value(field, after)) for word, field, before, after in rows]


def _value(field: str, text: str | None) -> Value:
    return None if text is None else FIELDS[field](text)


def _texts(database: Database, words: Iterable[int]) -> tuple[str, ...]:
    query = "SELECT word FROM words WHERE id = ?"
    return tuple(sorted(database.execute(query, (word,)).fetchone()[0] for word in words))


def _restore(database: Database, word: int, field: str, before: Value, after: Value) -> bool:
    return bool(
        database.execute(
            f"UPDATE words SET {field} = ? WHERE id = ? AND {field} IS ?", (before, word, after)
        ).rowcount
    )


def _rewrite(database: Database, word: int) -> None:
    """A word that got another place in the tree, and all below it, is to be written there."""
    database.execute(
        "UPDATE written SET misplaced = 1 WHERE word IN (WITH RECURSIVE below (id) AS (VALUES (?) UNION "
        "SELECT words.id FROM words JOIN below ON words.parent = below.id) SELECT id FROM below)",
        (word,),
    )


def _text(value: Value) -> str | None:
    return None if value is None else str(value)
