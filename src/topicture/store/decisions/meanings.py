"""Verdicts go with the meaning of words: when one is merged into another, and when that is undone or done again.

A step takes its own verdicts back. But photos that were scanned since have theirs from what their files say, under the
meaning that words had at that moment.
"""

from collections.abc import Iterable

from topicture.store.database import Database
from topicture.store.decisions.conflicts import Conflicts
from topicture.store.decisions.log import NOTHING, OF_FILES, DecisionLog, Logged
from topicture.store.decisions.steps import Step, undone_steps
from topicture.store.decisions.word_edits import Meant

__all__ = ["follow_files", "move_back", "move_verdicts", "settle_words"]

_FILES = ", ".join(f"'{source}'" for source in OF_FILES)
# What the files of the photos in `tags` say, apart from what we wrote there ourselves.
_SAID = """SELECT 1 FROM file_words AS f JOIN words AS said ON said.id = f.word WHERE f.image = tags.image
AND NOT EXISTS (SELECT 1 FROM written WHERE written.path = f.path AND written.word = f.word)"""


def move_verdicts(
    database: Database,
    log: DecisionLog,
    conflicts: Conflicts,
    former: Iterable[int],
    target: int,
    step: Step,
) -> set[int]:
    """Give photos the verdict on `target` that those on former words come to, and clear those; the photos."""
    former = list(former)
    waiting = conflicts.of(former)
    best = dict(_verdicts(database, target))
    own = dict(best)
    touched: set[int] = set()
    for number in former:
        for image, verdict in _verdicts(database, number):
            touched.add(image)
            log.add(image, number, "cleared", "merge", step)
            if verdict.source != "delete" and (image not in best or _weight(verdict) > _weight(best[image])):
                best[image] = verdict
    for image in sorted(touched & best.keys()):
        verdict = best[image]
        if verdict is not own.get(image):
            source = "merge" if verdict.source in OF_FILES else verdict.source
            log.add(
                image,
                target,
                verdict.verdict,
                source,
                step,
                model=verdict.model,
                probability=verdict.probability,
            )
    conflicts.take_over(target, waiting)
    return touched


def follow_files(
    database: Database,
    log: DecisionLog,
    conflicts: Conflicts,
    changed: Iterable[Meant],
    undone: int,
    step: Step,
) -> list[tuple[int, str]]:
    """Give photos what their files say since the undoing of a step gave words another meaning.

    (Photo, word) that it has no longer.
    """
    cleared: list[tuple[int, str]] = []
    for word, before, now in changed:
        if before is not None:
            conflicts.give_back(word, before)
            (text,) = database.execute("SELECT word FROM words WHERE id = ?", (before,)).fetchone()
            images = _give_back(database, log, word, before, word if now is None else now, undone, step)
            cleared += [(image, text) for image in images]
    return cleared


def move_back(
    database: Database,
    log: DecisionLog,
    merged: Iterable[tuple[int, int]],
    undone: int,
    step: Step,
) -> list[tuple[int, str]]:
    """Before the undoing of a step that `merged` words (word, target): some verdicts go back that it did not move.

    Those that were brought back by an undo since, and given to the target at once. (Photo, target) that it has no
    longer.
    """
    gone = undone_steps(database)
    cleared: list[tuple[int, str]] = []
    for word, target in merged:
        (text,) = database.execute("SELECT word FROM words WHERE id = ?", (target,)).fetchone()
        rows = database.execute(
            "SELECT DISTINCT d.image, d.batch FROM decisions AS d CROSS JOIN batches AS b ON b.id = d.batch "
            "WHERE d.word = ? AND d.batch > ? AND b.source = 'undo' "
            "AND d.verdict = 'cleared' AND d.source = 'merge' AND d.undoes IS NULL ORDER BY d.image",
            (word, undone),
        ).fetchall()
        for image, moved in rows:
            for each in (word, target):
                history = log.history(image, each)
                if history.standing is None or history.standing.batch != moved:
                    continue
                _, verdict, source, model, probability = history.stood_before(moved, gone) or NOTHING
                log.add(
                    image, each, verdict, source, step, undoes=moved, model=model, probability=probability
                )
                if each == target and history.standing.verdict == "present" != verdict:
                    cleared.append((image, text))
    return cleared


def settle_words(database: Database, log: DecisionLog, conflicts: Conflicts, number: int, step: Step) -> None:
    """After an undo or redo of a step, by `step`: nothing is left of it that does not fit what was done since.

    A verdict on a word that means another one now is about that one. A word that somebody has given to a photo is in
    use. What files say under a former name is written for a word in use, and not for a deleted one.
    """
    query = "SELECT word FROM decisions WHERE batch = :step UNION SELECT word FROM word_changes WHERE batch = :step "
    query += "UNION SELECT word FROM word_edits WHERE batch = :step "
    query += "UNION SELECT CAST(after AS INTEGER) FROM word_edits WHERE batch = :step AND after IS NOT NULL "
    query += "AND field IN ('merged', 'parent')"
    words = {word for (word,) in database.execute(query, {"step": number})}
    for word in sorted(words):
        query = "SELECT merged FROM words WHERE id = ? AND merged IS NOT NULL"
        for (meaning,) in database.execute(query, (word,)).fetchall():
            database.execute("UPDATE words SET deleted = coalesce(deleted, ?) WHERE id = ?", (step.at, word))
            move_verdicts(database, log, conflicts, [word], meaning, step)
            words.add(meaning)
    meanings = {word for (word,) in database.execute("SELECT DISTINCT merged FROM words")}
    for word in sorted(words):
        database.execute(
            "UPDATE words SET deleted = NULL WHERE id = ? AND deleted IS NOT NULL AND merged IS NULL AND EXISTS "
            f"(SELECT 1 FROM tags WHERE word = words.id AND verdict = 'present' AND source NOT IN ({_FILES}))",
            (word,),
        )
        _write_or_not(database, log, word, word in meanings, step)


def _write_or_not(database: Database, log: DecisionLog, word: int, has_names: bool, step: Step) -> None:
    """What files say of a word under a former name is there to be written, or not: as the word is in use, or not."""
    (in_use,) = database.execute("SELECT deleted IS NULL FROM words WHERE id = ?", (word,)).fetchone()
    tags = "SELECT image FROM tags WHERE word = :word AND verdict = 'present' AND source"
    if not in_use:
        rows = database.execute(f"{tags} = 'merge'", {"word": word}).fetchall()
    elif has_names:
        by_former_name = (
            f"EXISTS ({_SAID} AND said.merged = :word) AND NOT EXISTS ({_SAID} AND said.id = :word)"
        )
        rows = database.execute(f"{tags} = 'file' AND {by_former_name}", {"word": word}).fetchall()
    else:
        return
    for (image,) in rows:
        log.add(image, word, "present", "merge" if in_use else "file", step)


def _give_back(
    database: Database, log: DecisionLog, word: int, former: int, meaning: int, undone: int, step: Step
) -> list[int]:
    """Photos whose files say a word get what it means now; the photos that do not have what it meant any more."""
    rows = database.execute(
        f"SELECT image, source, EXISTS ({_SAID} AND coalesce(said.merged, said.id) = tags.word), "
        "EXISTS (SELECT 1 FROM decisions AS d WHERE d.image = tags.image AND d.word = :meaning), "
        "(SELECT deleted IS NULL FROM words WHERE id = :meaning) "
        f"FROM tags WHERE word = :former AND verdict = 'present' AND EXISTS ({_SAID} AND said.id = :word)",
        {"word": word, "former": former, "meaning": meaning},
    ).fetchall()
    gone = undone_steps(database) - {undone}
    cleared = []
    for image, source, is_said_otherwise, is_known, in_use in rows:
        standing = log.history(image, meaning).stands(gone) if is_known else None
        went = None if standing is None else standing[1:3]
        went_since = standing is not None and standing.batch >= undone and went == ("cleared", "merge")
        if went_since or went == ("cleared", "file") or not is_known:  # the file says it by now
            log.add(image, meaning, "present", "merge" if meaning != word and in_use else "file", step)
        if source in OF_FILES and not is_said_otherwise:
            log.add(image, former, "cleared", "merge", step)
            cleared.append(image)
    return cleared


def _verdicts(database: Database, word: int) -> list[tuple[int, Logged]]:
    rows = database.execute(
        "SELECT t.image, d.batch, t.verdict, t.source, d.model, d.probability FROM tags AS t "
        "JOIN decisions AS d ON d.id = t.decision WHERE t.word = ? ORDER BY t.image",
        (word,),
    ).fetchall()
    return [(image, Logged(*rest)) for image, *rest in rows]


def _weight(verdict: Logged) -> int:
    if verdict.verdict == "present":
        return 1 if verdict.source == "bulk" else 3
    return 0 if verdict.source == "delete" else 2
