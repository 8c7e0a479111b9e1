"""Which words are deleted and which are in use, by the steps that stand."""

from collections.abc import Collection
from operator import itemgetter

from topicture.store.database import Database
from topicture.store.decisions.log import OF_FILES
from topicture.store.decisions.steps import UNDOABLE, Step, done_first

__all__ = ["set_deleted", "settle_use", "use_again"]

_FILES, _UNDOABLE = (", ".join(f"'{source}'" for source in sources) for sources in (OF_FILES, UNDOABLE))
_STANDS = f"b.source IN ({_UNDOABLE}) AND NOT EXISTS (SELECT 1 FROM batches AS u WHERE u.undoes = b.id)"
# What puts a word below another, or makes it mean another, has that one in use.
_USES = "(field = 'merged' OR field = 'parent' AND b.source = 'parent')"
_ABOUT = (
    "SELECT batch, after, 1 AS says_so FROM word_changes WHERE word = :word "
    "UNION ALL SELECT batch, NULL, 0 FROM word_edits JOIN batches AS b ON b.id = batch "
    f"WHERE after = CAST(:word AS TEXT) AND {_USES}"
)


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


def use_again(database: Database, number: int, step: Step, since: Collection[int]) -> set[int]:
    """Delete words again, or use them again, as an undone step did, where no step `since` did; those that this changes.

    A word that comes to mean another one again is deleted in any case.
    """
    query = "SELECT word FROM word_edits WHERE batch = ? AND field = 'merged' AND after IS NOT NULL"
    given_up = {word for (word,) in database.execute(query, (number,))}
    changed = set()
    for word, deleted in _changes(database, number):
        steps = {batch for batch, *_ in database.execute(_ABOUT, {"word": word})}
        if word not in given_up and not steps.isdisjoint(since):
            continue
        was_in_use = _deleted_at(database, word) is None
        set_deleted(database, word, deleted, step)
        if was_in_use != (deleted is None):
            changed.add(word)
    return changed


def settle_use(database: Database, number: int) -> set[int]:
    """Words of a step that was undone are deleted, or in use, as the other steps say; those of which this is news."""
    rows = database.execute(
        "SELECT word FROM (SELECT word FROM word_changes WHERE batch = :step "
        "UNION SELECT word FROM decisions WHERE batch = :step UNION SELECT CAST(after AS INTEGER) FROM word_edits "
        "WHERE batch = :step AND after IS NOT NULL AND field IN ('merged', 'parent')) "
        "WHERE word IN (SELECT word FROM word_changes)",
        {"step": number},
    ).fetchall()
    changed, first = set(), done_first(database) if rows else {}
    for (word,) in rows:
        before, after = _deleted_at(database, word), _deleted_by_steps(database, word, first)
        database.execute("UPDATE words SET deleted = ? WHERE id = ?", (after, word))
        if (before is None) != (after is None):
            changed.add(word)
    return changed


def _deleted_by_steps(database: Database, word: int, first: dict[int, int]) -> float | None:
    """When a word was deleted, by the steps that stand; None where it is in use.

    What did an earlier step again is as old as that: `first` leads from one to the other.

    It is since somebody gave it to a photo, put a word below it, or made another word mean it: such a step says so in
    no table where the word was in use already.
    """
    by_people = f"verdict = 'present' AND source NOT IN ({_FILES})"
    used = f"SELECT 1 FROM tags WHERE word = ? AND {by_people}"
    if database.execute(used, (word,)).fetchone() is not None:
        return None
    rows = database.execute(
        f"SELECT batch, says_so, after FROM ({_ABOUT}) JOIN batches AS b ON b.id = batch WHERE {_STANDS}",
        {"word": word},
    ).fetchall()
    if rows:
        age, *_, deleted = max(
            ((first.get(batch, batch), batch, says_so, after) for batch, says_so, after in rows),
            key=itemgetter(0, 1, 2),
        )
    else:
        query = "SELECT before FROM word_changes WHERE word = ? ORDER BY batch LIMIT 1"
        age, (deleted,) = 0, database.execute(query, (word,)).fetchone()
    if deleted is None:
        return None
    given = database.execute(
        "SELECT DISTINCT d.batch FROM decisions AS d JOIN batches AS b ON b.id = d.batch WHERE d.word = ? "
        f"AND d.batch > ? AND d.verdict = 'present' AND d.source NOT IN ({_FILES}) AND d.undoes IS NULL AND {_STANDS}",
        (word, age),
    )
    return None if any(first.get(batch, batch) > age for (batch,) in given) else float(deleted)


def _deleted_at(database: Database, word: int) -> float | None:
    return database.execute("SELECT deleted FROM words WHERE id = ?", (word,)).fetchone()[0]


def _changes(database: Database, number: int) -> list[tuple[int, float | None]]:
    """(word, when it was deleted, None for in use) of the words that a step deleted, or that it took or had in use."""
    changed = database.execute("SELECT word, after FROM word_changes WHERE batch = ?", (number,)).fetchall()
    used = database.execute(
        f"SELECT DISTINCT CAST(after AS INTEGER) FROM word_edits JOIN batches AS b ON b.id = batch "
        f"WHERE batch = ? AND after IS NOT NULL AND {_USES}",
        (number,),
    ).fetchall()
    return [*changed, *((word, None) for (word,) in used if word not in dict(changed))]
