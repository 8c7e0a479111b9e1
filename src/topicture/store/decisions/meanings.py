"""Verdicts go with the meaning of words: when one is merged into another, and when that is undone or done again.

A step takes its own verdicts back. But photos that were scanned since have theirs from what their files say, under the
meaning that words had at that moment.
"""

from collections.abc import Iterable

from topicture.store.database import Database
from topicture.store.decisions.conflicts import Conflicts
from topicture.store.decisions.log import OF_FILES, DecisionLog, Logged
from topicture.store.decisions.steps import Step
from topicture.store.decisions.word_edits import Meant

__all__ = ["follow_meanings", "move_verdicts", "settle_use"]

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


def follow_meanings(
    database: Database, log: DecisionLog, conflicts: Conflicts, changed: Iterable[Meant], step: Step
) -> list[tuple[int, str]]:
    """Bring verdicts in line with words that an undo or redo gave another meaning.

    Returned are the photos that have a word no longer because of that, with the word.
    """
    cleared: list[tuple[int, str]] = []
    for word, before, now in changed:
        if now is not None:
            move_verdicts(database, log, conflicts, [word], now, step)
        if before is not None:
            conflicts.give_back(word, before)
            (text,) = database.execute("SELECT word FROM words WHERE id = ?", (before,)).fetchone()
            images = _give_back(database, log, word, before, word if now is None else now, step)
            cleared += [(image, text) for image in images]
    return cleared


def settle_use(database: Database, log: DecisionLog, number: int, meant: Iterable[Meant], step: Step) -> None:
    """After an undo or redo of a step that deleted words or took them into use: no photo is left with half of it.

    A word that somebody gave to another photo since stays in use. What files say under a former name of a deleted word
    is not to be written; of a word in use, it is.
    """
    words = {word for (word,) in database.execute("SELECT word FROM word_changes WHERE batch = ?", (number,))}
    for word in sorted(words | {each.now for each in meant if each.now is not None}):
        database.execute(
            "UPDATE words SET deleted = NULL WHERE id = ? AND deleted IS NOT NULL AND merged IS NULL AND EXISTS "
            f"(SELECT 1 FROM tags WHERE word = words.id AND verdict = 'present' AND source NOT IN ({_FILES}))",
            (word,),
        )
        rows = database.execute(
            "SELECT image, CASE source WHEN 'merge' THEN 'file' ELSE 'merge' END FROM tags "
            "JOIN words ON words.id = tags.word WHERE tags.word = ? AND verdict = 'present' "
            "AND source = CASE WHEN deleted IS NULL THEN 'file' ELSE 'merge' END "
            f"AND EXISTS ({_SAID} AND said.merged = words.id) AND NOT EXISTS ({_SAID} AND said.id = words.id)",
            (word,),
        ).fetchall()
        for image, source in rows:
            log.add(image, word, "present", source, step)


def _give_back(
    database: Database, log: DecisionLog, word: int, former: int, meaning: int, step: Step
) -> list[int]:
    """Photos whose files say a word get what it means now; the photos that do not have what it meant any more."""
    rows = database.execute(
        f"SELECT image, source, EXISTS ({_SAID} AND coalesce(said.merged, said.id) = tags.word), "
        "EXISTS (SELECT 1 FROM decisions AS d WHERE d.image = tags.image AND d.word = :meaning), "
        "(SELECT deleted IS NULL FROM words WHERE id = :meaning) "
        f"FROM tags WHERE word = :former AND verdict = 'present' AND EXISTS ({_SAID} AND said.id = :word)",
        {"word": word, "former": former, "meaning": meaning},
    ).fetchall()
    cleared = []
    for image, source, is_said_otherwise, is_known, in_use in rows:
        standing = log.history(image, meaning).standing if is_known else None
        if not is_known or (standing is not None and standing[1:3] == ("cleared", "merge")):
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
