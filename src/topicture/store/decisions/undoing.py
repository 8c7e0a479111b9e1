"""Undo: one step is taken back, as far as it still stands, and the log says so."""

from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.conflicts import Conflicts
from topicture.store.decisions.log import DecisionLog
from topicture.store.decisions.meanings import follow_files, move_back, settle_words
from topicture.store.decisions.steps import Step, last_step, undone_steps
from topicture.store.decisions.word_edits import merges, refuse_out_of_turn, undo_edits

__all__ = ["TakenBack", "Undone", "undo"]


class TakenBack(NamedTuple):
    """A verdict that no longer stands."""

    image: int
    word: str
    verdict: str


class Undone(NamedTuple):
    """What an undo took back.

    Attributes
    ----------
    source, at : of the step that was undone
    decisions : verdicts that no longer stand
    words : words whose deletion, return into use, name, place or policy was undone
    reopened : conflicts that are to be settled again
    decided_anew : verdicts and places of words that were left alone, because something else was decided since
    """

    source: str
    at: float
    decisions: tuple[TakenBack, ...]
    words: tuple[str, ...] = ()
    reopened: int = 0
    decided_anew: int = 0


def undo(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int | None = None
) -> Undone | None:
    """Take back the last step that changed something that still stands; or that one step. None where there is none.

    Raises TopictureError for a step that renamed or merged a word that got yet another meaning since.
    """
    with database.transaction():
        while (last := last_step(database, number)) is not None:
            undone, left = _take_back(database, log, conflicts, *last)
            if number is not None or undone.decisions or undone.words or undone.reopened or left:
                return undone
    return None


def _take_back(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int, source: str, at: float
) -> tuple[Undone, int]:
    """What was taken back, and how many places of words stand but can't be: that is to be said, too."""
    refuse_out_of_turn(database, number)
    gone = undone_steps(database)
    step = Step(database, "undo", undoes=number)
    assert step.number  # even where nothing is left to take back, the step counts as undone
    rows = database.execute(
        "SELECT image, decisions.word, words.word, verdict FROM decisions JOIN words ON words.id = decisions.word "
        "WHERE batch = ? ORDER BY decisions.id",
        (number,),
    ).fetchall()
    last = {(image, word): rest for image, word, *rest in rows}
    taken = []
    for (image, word), (text, verdict) in last.items():
        history = log.history(image, word)
        standing = history.stands(gone)
        if standing is None or standing.batch != number:
            continue
        earlier = history.stood_before(number, gone)
        if earlier is None:
            log.add(image, word, "cleared", "undo", step, undoes=number)
        else:
            log.add(
                image,
                word,
                earlier.verdict,
                earlier.source,
                step,
                undoes=number,
                model=earlier.model,
                probability=earlier.probability,
            )
        taken.append(TakenBack(image, text, verdict))
    moved_back = move_back(database, log, merges(database, number), number, step)
    edited = undo_edits(database, number, gone)
    anew = len(last) - len(taken) + edited.left
    for image, text in [*moved_back, *follow_files(database, log, conflicts, edited.meant, number, step)]:
        taken.append(TakenBack(image, text, "present"))
    settle_words(database, log, conflicts, number, step)
    undone = Undone(source, at, tuple(taken), edited.words, conflicts.reopen(number), anew)
    return undone, edited.left
