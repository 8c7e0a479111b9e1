"""Many decisions as one step, and taking a step back."""

from collections.abc import Sequence
from dataclasses import dataclass

from topicture.app.verbs.answering import VERDICTS, Answered
from topicture.app.verbs.deciding.wording import step_text, undone_text
from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.decisions.past_steps import PastSteps
from topicture.store.decisions.undoing import Undone

__all__ = ["StepInWords", "TookBack", "Verdict", "decide", "history", "undo"]


@dataclass(frozen=True)
class Verdict:
    """What somebody says of a word of a photo: `present`, `rejected` or `cleared`."""

    image: int
    word: str
    verdict: str


@dataclass(frozen=True)
class TookBack:
    """A step that was taken back, and a sentence about it."""

    text: str
    undone: Undone


@dataclass(frozen=True)
class StepInWords:
    """A step of the past; `undone` where it was taken back since."""

    step: int
    source: str
    at: float
    decisions: int
    text: str
    undone: bool


def decide(catalog: Catalog, verdicts: Sequence[Verdict]) -> Answered:
    """Log verdicts as one step, with what the newest model had said.

    Raises BadWord for a text that can't be a tag, DataNotFound for a photo that there is none of.
    """
    for verdict in verdicts:
        if verdict.verdict not in VERDICTS:
            raise TopictureError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict.verdict!r}")
    models = catalog.suggestions.models()
    model = models[0].id if models else None
    decisions = []
    for verdict in verdicts:
        word = clean_word(verdict.word)
        if not catalog.files.has(verdict.image):
            raise DataNotFound(f"there is no photo {verdict.image} in the catalog; reload the page")
        said = None if model is None else catalog.suggestions.probability(model, verdict.image, word)
        decisions.append(Decision(verdict.image, word, verdict.verdict, model, said))
    step = catalog.decisions.step("review")
    return Answered(catalog.decisions.decide(decisions, "review", step), step.made)


def undo(catalog: Catalog, step: int | None = None) -> TookBack | None:
    """Take back the last step, or a given one; None where there is nothing left to take back."""
    undone = catalog.decisions.undo(step)
    return None if undone is None else TookBack(undone_text(undone), undone)


def history(catalog: Catalog, limit: int = 50, before: int | None = None) -> list[StepInWords]:
    """The last steps, the newest first."""
    return [
        StepInWords(
            past.step,
            past.source,
            past.at,
            past.decisions,
            step_text(past.source, past.said, past.decisions),
            past.undone,
        )
        for past in PastSteps(catalog.database).last(limit, before)
    ]
