"""Steps in plain words: "Accepted tiger for 12 photos", "Took back: tiger for 12 photos"."""

from collections import Counter
from collections.abc import Iterable, Sequence

from topicture.app.counting import counted
from topicture.store.decisions.decisions import Undone
from topicture.store.decisions.past_steps import Said

__all__ = ["step_text", "undone_text"]

_DONE = {"present": "Accepted", "rejected": "Rejected", "cleared": "Took away the verdict on"}
_SOURCES = {
    "bulk": "Accepted in bulk",
    "import": "Imported",
    "delete": "Deleted",
    "scan": "Read from files",
    "conflict": "Settled with files",
    "rename": "Renamed",
    "merge": "Merged",
    "parent": "Moved a word",
    "policy": "Changed a policy",
}
# What a step did to words as such.
_OF_WORDS = {
    "delete": "the deletion",
    "rename": "the new name",
    "merge": "the merge",
    "parent": "the place",
    "policy": "the policy",
}
_SHOWN = 2


def step_text(source: str, said: Sequence[Said], decisions: int) -> str:
    """What a step did, in one sentence."""
    if not said:
        return _SOURCES.get(source, source.capitalize())
    if source in _SOURCES:
        text = f"{_SOURCES[source]}: {', '.join(_about(s.word, s.photos) for s in said[:_SHOWN])}"
    else:
        parts = [f"{_DONE[s.verdict]} {_about(s.word, s.photos)}" for s in said[:_SHOWN]]
        text = "; ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])
    more = decisions - sum(s.photos for s in said[:_SHOWN])
    return text + (f"; and {counted(more, 'more decision')}" if more > 0 else "")


def undone_text(undone: Undone) -> str:
    """What was taken back, in one sentence."""
    counts = Counter(decision.word for decision in undone.decisions)
    parts = [_about(word, n) for word, n in counts.most_common()]
    if undone.words and (undone.source in _OF_WORDS or not parts):
        what = _OF_WORDS.get(undone.source, "the place" if undone.source == "scan" else "the return")
        parts = [f"{what} of {_list(undone.words)}"]
    if undone.reopened:
        parts.append(f"the answer to {counted(undone.reopened, 'conflict')}")
    return f"Took back: {_list(parts)}" if parts else "Nothing of that step was left to take back."


def _about(word: str, photos: int) -> str:
    return f"{word} for {counted(photos, 'photo')}"


def _list(parts: Iterable[str]) -> str:
    parts = list(parts)
    more = len(parts) - _SHOWN
    return ", ".join(parts[:_SHOWN]) + (f", and {more} more" if more > 0 else "")
