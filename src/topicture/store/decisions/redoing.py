"""Redo: what was undone is done again, as a step of its own that can be undone like any other."""

from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.conflicts import Conflicts
from topicture.store.decisions.log import NOTHING, OF_FILES, DecisionLog, History, Logged
from topicture.store.decisions.meanings import settle_words
from topicture.store.decisions.steps import (
    Step,
    done_first,
    not_done_again,
    steps_since,
    to_do_again,
    undoings,
    undone_steps,
)
from topicture.store.decisions.word_edits import changes_names, merges, redo_edits, refuse_out_of_turn

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
    step : the new one, for `undo`; None where nothing could be done again: then there is none
    decisions : verdicts that stand again
    words : words that were deleted, renamed, moved or given a policy again, or are in use again
    settled : conflicts that are settled again
    decided_anew : verdicts and places of words that were left alone, because something else was decided since
    already : the step that has done it again before, and that stands; None where there is none
    """

    source: str
    step: int | None
    decisions: tuple[DoneAgain, ...]
    words: tuple[str, ...] = ()
    settled: int = 0
    decided_anew: int = 0
    already: int | None = None


def redo(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int | None = None
) -> Redone | None:
    """Do the last undone step again of which something can be, or that one step.

    None where there is none, or it was not undone. Raises TopictureError for a step that renamed or merged a word that
    got another meaning since.
    """
    left_alone = None
    with database.transaction():
        for found in to_do_again(database, number):
            redone = _do_again(database, log, conflicts, *found)
            if number is not None or redone.step is not None:
                return redone
            if left_alone is None and redone.decided_anew:
                left_alone = redone
    return left_alone


def _do_again(
    database: Database, log: DecisionLog, conflicts: Conflicts, number: int, source: str, at: float
) -> Redone:
    undone, first = undone_steps(database), done_first(database)
    same = {first.get(number, number)}
    same |= {each for each, of in first.items() if of in same}
    again = same - undone
    already = max(again, default=None)
    if already is not None and changes_names(database, number):
        return Redone(source, None, (), already=already)  # a name is given once
    refuse_out_of_turn(database, number, again=True)
    step = Step(database, source, redoes=number)
    rows = database.execute(
        "SELECT d.image, d.word, words.word, verdict, source, model, probability FROM decisions AS d "
        "JOIN words ON words.id = d.word WHERE batch = ? AND undoes IS NULL ORDER BY d.id",
        (number,),
    ).fetchall()
    last = {(image, word): rest for image, word, *rest in rows}
    waiting = [(target, conflicts.of([word])) for word, target in merges(database, number)]
    undoing, since = undoings(database, same), steps_since(database, number, undone, first)
    done, stands = [], 0
    for (image, word), (text, verdict, of, model, probability) in last.items():
        history = log.history(image, word)
        standing = history.stands(undone | undoing)
        if standing is not None and standing.batch in again:
            stands += 1
            continue
        if standing is not None and standing.batch in since:
            continue  # although it may be what stood before, as a keyword of a file is that is there again
        if _said(standing, first) != _said(_before(history, number, undone, first), first):
            continue  # not as it was before the step: somebody has decided otherwise
        log.add(image, word, verdict, of, step, model=model, probability=probability)
        done.append(DoneAgain(image, text, verdict))
    edited = redo_edits(database, number, step, undone, first)
    if step.made is not None:  # else nothing has changed that words and conflicts are to go along with
        _take_back_settled(database, log, undoing, undone, step)
        for target, open_before in waiting:
            conflicts.take_over(target, open_before)
        settle_words(database, log, conflicts, number, step)
    settled = conflicts.settle_again(number, step)
    left = len(last) - len(done) - stands + edited.left
    return Redone(source, step.made, tuple(done), edited.words, settled, left, already)


def _take_back_settled(
    database: Database, log: DecisionLog, undoing: set[int], undone: set[int], step: Step
) -> None:
    """Verdicts that had to go along with the undoing are as before it, where nothing else was decided since."""
    for batch in sorted(undoing):
        rows = database.execute(
            "SELECT DISTINCT image, word FROM decisions WHERE batch = ? AND undoes IS NULL ORDER BY image, word",
            (batch,),
        ).fetchall()
        for image, word in rows:
            history = log.history(image, word)
            standing = history.stands(undone)
            if standing is None or standing.batch not in undoing:
                continue
            _, verdict, source, model, probability = history.stands(undone | undoing) or NOTHING
            log.add(image, word, verdict, source, step, model=model, probability=probability)


def _before(history: History, number: int, undone: set[int], first: dict[int, int]) -> Logged | None:
    """What stood before a step, apart from verdicts of steps that were undone and not done again."""
    return history.stood_before(number, not_done_again(history.before, undone, first))


def _said(logged: Logged | None, first: dict[int, int]) -> Logged | None:
    """The decision as it was made first: one that was done again stands under the number of another step.

    What files say is the same whenever and under whatever name: an undo notes anew whether it is to be written.
    """
    if logged is None:
        return None
    if logged.verdict == "present" and logged.source in OF_FILES:
        return Logged(0, "present", "file", None, None)
    return logged._replace(batch=first.get(logged.batch, logged.batch))
