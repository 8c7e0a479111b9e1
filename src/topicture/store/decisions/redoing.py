"""Redo: what was undone is done again, as a step of its own that can be undone like any other."""

from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.conflicts import Conflicts
from topicture.store.decisions.log import OF_FILES, DecisionLog, Logged
from topicture.store.decisions.meanings import settle_words
from topicture.store.decisions.steps import Step, last_undone
from topicture.store.decisions.word_edits import merges, redo_edits, refuse_out_of_turn

__all__ = ["DoneAgain", "Redone", "redo"]


class DoneAgain(NamedTuple):
    """A verdict that stands again."""

    image: int
    word: str
    verdict: str


class Redone(NamedTuple):
    """What a redo brought back.

    Attributes
    ----------
    source : of the step that had been undone, and of the one that did it again
    step : the new one, for `undo`
    decisions : verdicts that stand again
    words : words that were deleted, renamed, moved or given a policy again, or are in use again
    settled : conflicts that are settled again
    decided_anew : verdicts and places of words that were left alone, because something else was decided since
    """

    source: str
    step: int
    decisions: tuple[DoneAgain, ...]
    words: tuple[str, ...] = ()
    settled: int = 0
    decided_anew: int = 0


def redo(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int | None = None
) -> Redone | None:
    """Do the last undone step again, or that one step; None where there is none, or it was not undone.

    Raises TopictureError for a step that renamed or merged a word that got another meaning since.
    """
    with database.transaction():
        found = last_undone(database, number)
        return None if found is None else _do_again(database, log, conflicts, *found)


def _do_again(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int, source: str, at: float
) -> Redone:
    refuse_out_of_turn(database, number, again=True)
    step = Step(database, source, redoes=number)
    assert step.number  # even where nothing can be done again, the next redo is about the step before
    rows = database.execute(
        "SELECT d.image, d.word, words.word, verdict, source, model, probability FROM decisions AS d "
        "JOIN words ON words.id = d.word WHERE batch = ? AND undoes IS NULL ORDER BY d.id",
        (number,),
    ).fetchall()
    last = {(image, word): rest for image, word, *rest in rows}
    waiting = [(target, conflicts.of([word])) for word, target in merges(database, number)]
    done = []
    for (image, word), (text, verdict, of, model, probability) in last.items():
        history = log.history(image, word)
        if _said(database, history.standing) != _said(database, history.before[number]):
            continue  # not as it was before the step: somebody has decided otherwise
        log.add(image, word, verdict, of, step, model=model, probability=probability)
        done.append(DoneAgain(image, text, verdict))
    edited = redo_edits(database, number, step)
    for target, open_before in waiting:
        conflicts.take_over(target, open_before)
    settle_words(database, log, conflicts, number, step)
    settled = conflicts.settle_again(number, step)
    left = len(last) - len(done) + edited.left
    return Redone(source, step.number, tuple(done), edited.words, settled, left)


def _said(database: Database, logged: Logged | None) -> Logged | None:
    """The decision as it was made first: one that was done again stands under the number of another step.

    What files say is the same whenever and under whatever name: an undo notes anew whether it is to be written.
    """
    if logged is not None and logged.verdict == "present" and logged.source in OF_FILES:
        return Logged(0, "present", "file", None, None)
    while logged is not None:
        row = database.execute("SELECT redoes FROM batches WHERE id = ?", (logged.batch,)).fetchone()
        if row is None or row[0] is None or row[0] >= logged.batch:  # a damaged catalog may lead in a circle
            break
        logged = logged._replace(batch=row[0])
    return logged
