"""Words in the terminal: counts, changes, proposals of merges."""

from typing import TYPE_CHECKING

from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.verbs.words.editing import WordEdit
    from topicture.app.verbs.words.listing import WordPolicy, WordSummary
    from topicture.app.verbs.words.policies import PolicyReport
    from topicture.app.verbs.words.proposals import Proposal

__all__ = ["print_edit", "print_policies", "print_proposals", "print_words", "print_words_policies"]


def print_words(words: "list[WordSummary]") -> None:
    """As a tree: words below others stand behind them, indented; counts are of photos with the word or any below."""
    shown = {word.word for word in words}
    below: dict[str | None, list[WordSummary]] = {}
    for word in words:
        below.setdefault(word.parent if word.parent in shown else None, []).append(word)
    waiting = [(word, 0) for word in reversed(below.get(None, ()))]
    while waiting:
        word, depth = waiting.pop()
        notes = _notes(word, shown)
        line = f"{word.photos_below:7}  {'  ' * depth}{word.word}" + (
            f"  ({'; '.join(notes)})" if notes else ""
        )
        print(printable(line))
        waiting += [(each, depth + 1) for each in reversed(below.get(word.word, ()))]


def _notes(word: "WordSummary", shown: set[str]) -> list[str]:
    notes = [f"{word.by_machine} by machine"] if word.by_machine else []
    if word.rejected:
        notes.append(f"rejected for {counted(word.rejected, 'photo')}")
    if word.parent is not None and word.parent not in shown:
        notes.append(f"below {word.parent}")
    if word.policy == "never":
        notes.append("never suggested")
    elif word.policy == "accept":
        notes.append(f"accepted from {word.accept_from:.0%} precision on")
    if word.merged:
        notes.append(f"was {', '.join(word.merged)}")
    return notes


def print_edit(edit: "WordEdit") -> None:
    if edit.step is None:
        print(printable(f"Nothing to do: {edit.text}."))
        return
    touched = f" ({counted(edit.photos, 'photo')})" if edit.photos else ""
    print(printable(f"{edit.text}{touched}; 'topicture undo' takes it back."))
    if edit.photos:
        print("'topicture write' updates the sidecars.")


def print_proposals(proposals: "list[Proposal]") -> None:
    if not proposals:
        print("No tags look as if they were one.")
    for each in proposals:
        former = [word for word in each.words if word != each.into]
        print(
            printable(
                f"{', '.join(former)} -> {each.into}  ({each.reason}; "
                f"{', '.join(f'{word}: {n}' for word, n in each.photos.items())})"
            )
        )


def print_policies(report: "PolicyReport") -> None:
    if report.accepted:
        tags = ", ".join(f"{n} {word} (from {least:.0%})" for word, least, n in report.tags)
        accepted = f"{counted(report.accepted, 'suggestion')} for {counted(report.photos, 'photo')}"
        print(printable(f"Accepted by policy: {accepted}: {tags}. 'topicture undo' takes this back."))


def print_words_policies(policies: "list[WordPolicy]") -> None:
    if not policies:
        print("All tags are suggested, and none is accepted by itself.")
    for each in policies:
        least = "" if each.accept_from is None else f" {each.accept_from:g}"
        print(printable(f"{each.policy}{least}  {each.word}"))
