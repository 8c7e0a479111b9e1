"""Changes to words themselves, each a part of a step and undone with it.

A word has a policy and perhaps a parent, and may have been merged into another; and it is deleted or in use (see
`words_in_use`). What stands is what comes of the steps that were not undone, one after the other: a step may be undone
while a later one stands.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from topicture.errors import TopictureError
from topicture.store.database import Database
from topicture.store.decisions.steps import Step, not_done_again, steps_since
from topicture.store.decisions.words_in_use import settle_use, use_again
from topicture.store.lending import lend

__all__ = [
    "FIELDS",
    "Edited",
    "Meant",
    "ancestors",
    "changes_names",
    "merges",
    "redo_edits",
    "refuse_out_of_turn",
    "set_field",
    "undo_edits",
]

FIELDS = {"policy": str, "precision": float, "parent": int, "merged": int}
"""The columns of `words` that are changed here, with the type that their text stands for."""

_TOGETHER = {"policy": "precision", "precision": "policy"}
"""Two halves of one thing: a step says both, even where only one of them is news."""

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


def changes_names(database: Database, number: int) -> bool:
    """Whether a step changed what any word means."""
    return any(field == "merged" for _, field, _, _ in _edits(database, number))


def redo_edits(
    database: Database, number: int, step: Step, undone: Collection[int], first: dict[int, int]
) -> Edited:
    """Change words again as an undone step did, where they are as they were before it, and nobody spoke since.

    That is apart from steps before it that were undone as well, and not done again: `undone` are all that were, and
    `first` leads from a step to the one that it did again.
    """
    since = steps_since(database, number, undone, first)
    changed = use_again(database, number, step, since)
    edits: list[tuple[int, str, Value, Value]] = []
    for word, field, _, after in _edits(database, number):
        query = "SELECT batch FROM word_edits WHERE word = ? AND field IN (?, ?)"
        steps = {batch for (batch,) in database.execute(query, (word, field, _TOGETHER.get(field)))}
        if field != "merged" and not steps.isdisjoint(since):
            continue  # names are changed all or not at all: see `refuse_out_of_turn`
        gone = not_done_again(steps, undone, first)
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
    changed = settle_use(database, number)
    return edited._replace(words=tuple(sorted({*edited.words, *_texts(database, changed)})))


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
