"""Steps of the past, undone and done again, in the terminal."""

from typing import TYPE_CHECKING

from topicture.app.console.tables import when
from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.verbs.deciding.decide import StepInWords
    from topicture.store.decisions.decisions import Redone, Undone

__all__ = ["print_redone", "print_steps", "print_undone"]

SHOWN_WORDS = 10


def print_steps(steps: "list[StepInWords]") -> None:
    if not steps:
        print("Nothing was decided yet.")
    for step in steps:
        undone = "  (undone)" if step.undone else ""
        print(printable(f"{step.step:6}  {when(step.at)}  {step.text}{undone}"))


# What a step did to words, by its source.
UNDONE = {
    "delete": "the deletion",
    "rename": "the new name",
    "merge": "the merge",
    "parent": "the place",
    "scan": "the place",
    "policy": "the policy",
}


def print_undone(undone: "Undone") -> None:
    """What an undo took back, in one line."""
    parts = _parts(undone)
    if undone.reopened:
        parts.append(f"{counted(undone.reopened, 'answer')} to conflicts (open again)")
    print(f"Undid {'; '.join(parts)}" if parts else "Nothing of that step was left to undo.")
    _print_decided_anew(undone.decided_anew)


def print_redone(redone: "Redone") -> None:
    """What a redo brought back, in one line."""
    parts = _parts(redone)
    if redone.settled:
        parts.append(f"{counted(redone.settled, 'answer')} to conflicts")
    if parts:
        print(f"Did again: {'; '.join(parts)}")
    elif redone.already is not None:
        print(f"That was done again already, as step {redone.already}.")
    else:
        print("Nothing of that step could be done again.")
    _print_decided_anew(redone.decided_anew)


def _parts(step: "Undone | Redone") -> list[str]:
    """The decisions of a step, and the words that it changed."""
    parts = []
    if step.decisions:
        words = sorted({printable(decision.word) for decision in step.decisions})
        more = f" and {len(words) - SHOWN_WORDS} more" if len(words) > SHOWN_WORDS else ""
        named = f"{', '.join(words[:SHOWN_WORDS])}{more}"
        parts.append(f"{counted(len(step.decisions), 'decision')} ({step.source}): {named}")
    if step.words:
        verb = UNDONE.get(step.source, "the return")
        parts.append(f"{verb} of {', '.join(map(printable, step.words[:SHOWN_WORDS]))}")
    return parts


def _print_decided_anew(n: int) -> None:
    if n:
        print(f"{counted(n, 'decision')} of that step stayed: something else was decided since.")
