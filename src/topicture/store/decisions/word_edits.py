"""Changes to words themselves, each a part of a step and undone with it.

A word is deleted or in use, has a policy and perhaps a parent, and may have been merged into another. What stands is
what comes of the steps that were not undone, one after the other: a step may be undone while a later one stands.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from topicture.errors import TopictureError
from topicture.store.database import Database
from topicture.store.decisions.log import OF_FILES
from topicture.store.decisions.steps import UNDOABLE, Step, not_done_again
from topicture.store.lending import lend

__all__ = [
    "FIELDS",
    "Edited",
    "Meant",
    "ancestors",
    "merges",
    "redo_edits",
    "refuse_out_of_turn",
    "set_deleted",
    "set_field",
    "undo_edits",
]

FIELDS = {"policy": str, "precision": float, "parent": int, "merged": int}
"""The columns of `words` that are changed here, with the type that their text stands for."""

_TOGETHER = {"policy": "precision", "precision": "policy"}
"""Two halves of one thing: a step says both, even where only one of them is news."""

_FILES, _UNDOABLE = (", ".join(f"'{source}'" for source in sources) for sources in (OF_FILES, UNDOABLE))
_STANDS = f"b.source IN ({_UNDOABLE}) AND NOT EXISTS (SELECT 1 FROM batches AS u WHERE u.undoes = b.id)"

Value = str | float | int | None


class Meant(NamedTuple):
    """A word that meant one word and means another now; None is the word itself."""

    word: int
    before: int | None
    now: int | None


class Edited(NamedTuple):
    """What an undo or redo changed about words.

    Attributes
    ----------
    words : their texts, in order
    meant : those that mean another word now
    left : how many kept their place in the tree: the other would have made a ring
    """

    words: tuple[str, ...]
    meant: tuple[Meant, ...]
    left: int


def set_deleted(database: Database, word: int, after: float | None, step: Step) -> None:
    """Stop suggesting a word, or begin again; where that is news it is a part of the step.

    A step that does more than that deletes a word that is deleted already, too: the first deletion may be undone.
    """
    before = _deleted_at(database, word)
    if (before is None) == (after is None):
        if after is None or step.made is None:
            return
        after = before
    database.execute("UPDATE words SET deleted = ? WHERE id = ?", (after, word))
    database.execute(
        "INSERT OR IGNORE INTO word_changes VALUES (?, ?, ?, ?)", (step.number, word, before, after)
    )


def set_field(database: Database, word: int, field: str, after: Value, step: Step) -> bool:
    """Change a field of a word; False where it says that already, or the word would come to lie below itself."""
    before = _now(database, word, field)
    if before == after or not _put(database, word, field, after):
        return False
    database.execute(
        "INSERT INTO word_edits VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET after = excluded.after",
        (step.number, word, field, _text(before), _text(after)),
    )
    if (other := _TOGETHER.get(field)) is not None:
        text = _text(_now(database, word, other))
        database.execute(
            "INSERT OR IGNORE INTO word_edits VALUES (?, ?, ?, ?, ?)", (step.number, word, other, text, text)
        )
    return True


def ancestors(database: Database, word: int) -> list[int]:
    """The parent of a word, its parent, and so on: in use or not, for a deleted word may come back."""
    found: list[int] = []
    while isinstance(parent := _now(database, word, "parent"), int) and parent not in found:
        found.append(parent)
        word = parent
    return found


def refuse_out_of_turn(database: Database, number: int, *, again: bool = False) -> None:
    """Raise TopictureError where a step can't be undone, or done `again`, because names of words changed since.

    Half of it would be worse than nothing: a photo would have a word under two names, or a word two meanings.
    """
    moved = {
        word: (before, after) for word, field, before, after in _edits(database, number) if field == "merged"
    }
    changed = set()
    for word, (before, after) in moved.items():
        stands, wanted = (before, after) if again else (after, before)
        if _now(database, word, "merged") != stands or not (
            again or _is_last(database, number, word, "merged")
        ):
            changed.add(word)
        if isinstance(wanted, int):  # it must not be a name of a name, nor have one
            names = database.execute("SELECT id FROM words WHERE merged = ?", (word,)).fetchall()
            changed.update(name for (name,) in names if name not in moved)
            if wanted not in moved and _now(database, wanted, "merged") is not None:
                changed.add(wanted)
    if not changed:
        return
    row = database.execute(
        "SELECT b.id, words.word FROM word_edits AS e JOIN batches AS b ON b.id = e.batch "
        f"JOIN words ON words.id = e.word WHERE field = 'merged' AND e.word IN ({', '.join(map(str, changed))}) "
        "AND b.id != ? AND NOT EXISTS (SELECT 1 FROM batches WHERE undoes = b.id) ORDER BY b.id DESC LIMIT 1",
        (number,),
    ).fetchone()
    what = f"step {number} can't be {'done again' if again else 'undone'} by itself: "
    if row is not None and (again or row[0] > number):
        raise TopictureError(f"{what}step {row[0]} gave {row[1]!r} another meaning; undo that one first")
    if again:
        words = ", ".join(map(repr, _texts(database, changed)))
        raise TopictureError(f"{what}{words} had another meaning then; redo the steps before it first")


def merges(database: Database, number: int) -> list[tuple[int, int]]:
    """(word, word that it came to mean) of a step."""
    rows = _edits(database, number)
    return [(word, after) for word, field, _, after in rows if field == "merged" and isinstance(after, int)]


def redo_edits(
    database: Database, number: int, step: Step, undone: Collection[int], first: dict[int, int]
) -> Edited:
    """Change words again as an undone step did, where they are as they were before it.

    That is apart from steps before it that were undone as well, and not done again: `undone` are all that were, and
    `first` leads from a step to the one that it did again.
    """
    changed: set[int] = set()
    for word, deleted in _changes(database, number):
        was_in_use = _deleted_at(database, word) is None
        set_deleted(database, word, deleted, step)
        if was_in_use != (deleted is None):
            changed.add(word)
    edits: list[tuple[int, str, Value, Value]] = []
    for word, field, _, after in _edits(database, number):
        rows = database.execute("SELECT batch FROM word_edits WHERE word = ? AND field = ?", (word, field))
        gone = not_done_again([batch for (batch,) in rows], undone, first)
        edits.append((word, field, _stood_before(database, number, word, field, gone), after))
    return _change(
        database, edits, lambda word, field, value: set_field(database, word, field, value, step), changed
    )


def undo_edits(database: Database, number: int, gone: Collection[int]) -> Edited:
    """Take back what a step changed about words, as far as it still stands; `gone` are steps undone before.

    The step itself counts as undone by now, and so do its verdicts.
    """
    edits: list[tuple[int, str, Value, Value]] = [
        (word, field, after, _stood_before(database, number, word, field, gone))
        for word, field, _, after in _edits(database, number)
        if _is_last(database, number, word, field)
    ]
    edited = _change(database, edits, lambda *edit: _put(database, *edit), set())
    changed = _settle_use(database, number)
    return edited._replace(words=tuple(sorted({*edited.words, *_texts(database, changed)})))


def _settle_use(database: Database, number: int) -> set[int]:
    """Words of a step that was undone are deleted, or in use, as the other steps say; those of which this is news."""
    rows = database.execute(
        "SELECT word FROM (SELECT word FROM word_changes WHERE batch = :step "
        "UNION SELECT word FROM decisions WHERE batch = :step UNION SELECT CAST(after AS INTEGER) FROM word_edits "
        "WHERE batch = :step AND after IS NOT NULL AND field IN ('merged', 'parent')) "
        "WHERE word IN (SELECT word FROM word_changes)",
        {"step": number},
    ).fetchall()
    changed = set()
    for (word,) in rows:
        before, after = _deleted_at(database, word), _deleted_by_steps(database, word)
        database.execute("UPDATE words SET deleted = ? WHERE id = ?", (after, word))
        if (before is None) != (after is None):
            changed.add(word)
    return changed


def _deleted_by_steps(database: Database, word: int) -> float | None:
    """When a word was deleted, by the steps that stand; None where it is in use.

    It is since somebody gave it to a photo, put a word below it, or made another word mean it: such a step says so in
    no table where the word was in use already.
    """
    by_people = f"verdict = 'present' AND source NOT IN ({_FILES})"
    used = f"SELECT 1 FROM tags WHERE word = ? AND {by_people}"
    if database.execute(used, (word,)).fetchone() is not None:
        return None
    last = database.execute(
        "SELECT batch, after FROM (SELECT batch, after, 1 AS says_so FROM word_changes WHERE word = :word "
        "UNION ALL SELECT batch, NULL, 0 FROM word_edits JOIN batches AS b ON b.id = batch "
        "WHERE after = CAST(:word AS TEXT) AND (field = 'merged' OR field = 'parent' AND b.source = 'parent')) "
        f"JOIN batches AS b ON b.id = batch WHERE {_STANDS} ORDER BY batch DESC, says_so DESC LIMIT 1",
        {"word": word},
    ).fetchone()
    if last is None:
        query = "SELECT 0, before FROM word_changes WHERE word = ? ORDER BY batch LIMIT 1"
        last = database.execute(query, (word,)).fetchone()
    number, deleted = last
    if deleted is None:
        return None
    given = (
        "SELECT 1 FROM decisions AS d JOIN batches AS b ON b.id = d.batch WHERE d.word = ? AND d.batch > ? "
        f"AND d.verdict = 'present' AND d.source NOT IN ({_FILES}) AND d.undoes IS NULL AND {_STANDS}"
    )
    return None if database.execute(given, (word, number)).fetchone() is not None else float(deleted)


def _is_last(database: Database, number: int, word: int, field: str) -> bool:
    """Whether no later step that stands changed a field, or the one that goes with it."""
    later = (
        "SELECT 1 FROM word_edits AS e WHERE word = ? AND field IN (?, ?) AND batch > ? "
        "AND NOT EXISTS (SELECT 1 FROM batches WHERE undoes = e.batch)"
    )
    return database.execute(later, (word, field, _TOGETHER.get(field), number)).fetchone() is None


def _stood_before(database: Database, number: int, word: int, field: str, gone: Collection[int]) -> Value:
    """What a field was before a step, apart from steps that are `gone`.

    What a step found may be of one that was undone since; then it is what that one had found, and so on.
    """
    rows = database.execute(
        "SELECT batch, before, after, (SELECT min(id) FROM batches WHERE undoes = e.batch) FROM word_edits AS e "
        "WHERE word = ? AND field = ? AND batch <= ? ORDER BY batch DESC",
        (word, field, number),
    ).fetchall()
    at, found = number, rows[0][1]
    for batch, before, after, undone in rows[1:]:
        if undone is not None and undone < at:
            continue  # it did not stand then
        if batch not in gone or after != found:
            break
        at, found = batch, before
    return _value(field, found)


def _change(
    database: Database,
    edits: list[tuple[int, str, Value, Value]],
    put: Callable[[int, str, Value], bool],
    changed: set[int],
) -> Edited:
    """Change fields (word, field, from, to) that are as expected; `changed` are words that were changed otherwise."""
    others = {
        (word, _TOGETHER.get(field)) for word, field, was, _ in edits if _now(database, word, field) != was
    }
    edits = [
        edit for edit in edits if edit[:2] not in others and _now(database, *edit[:2]) == edit[2] != edit[3]
    ]
    meant: list[Meant] = []
    for word, field, before, after in edits:
        if field != "parent":
            put(word, field, after)
        if field == "merged":
            meant.append(Meant(word, *(each if isinstance(each, int) else None for each in (before, after))))
    lend(database, sorted({each for row in meant for each in row if each is not None}))
    waiting, n = [edit for edit in edits if edit[1] == "parent"], 0
    while len(waiting) != n:  # one may have to move away before another can take its place
        n = len(waiting)
        waiting = [edit for edit in waiting if not put(edit[0], "parent", edit[3])]
    changed.update(edit[0] for edit in edits if edit not in waiting)
    return Edited(_texts(database, changed), tuple(meant), len(waiting))


def _put(database: Database, word: int, field: str, value: Value) -> bool:
    """Write a field; False where the word would come to lie below itself."""
    if field == "parent" and isinstance(value, int) and word in (value, *ancestors(database, value)):
        return False
    database.execute(f"UPDATE words SET {field} = ? WHERE id = ?", (value, word))
    if field == "parent":
        _rewrite(database, word)
    return True


def _now(database: Database, word: int, field: str) -> Value:
    return database.execute(f"SELECT {field} FROM words WHERE id = ?", (word,)).fetchone()[0]


def _deleted_at(database: Database, word: int) -> float | None:
    return database.execute("SELECT deleted FROM words WHERE id = ?", (word,)).fetchone()[0]


def _changes(database: Database, number: int) -> list[tuple[int, float | None]]:
    """(word, when it was deleted, None for in use) of the words that a step deleted or took into use."""
    return database.execute("SELECT word, after FROM word_changes WHERE batch = ?", (number,)).fetchall()


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


def _rewrite(database: Database, word: int) -> None:
    """A word that got another place in the tree, and all below it, is to be written there."""
    database.execute(
        "UPDATE written SET misplaced = 1 WHERE word IN (WITH RECURSIVE below (id) AS (VALUES (?) UNION "
        "SELECT words.id FROM words JOIN below ON words.parent = below.id) SELECT id FROM below)",
        (word,),
    )


def _text(value: Value) -> str | None:
    return None if value is None else str(value)
