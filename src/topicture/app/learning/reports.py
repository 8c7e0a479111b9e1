"""What was found when a model was learned: `report.json` in its folder; and what the next `learn` takes from it.

As long as the collection is much the same, only models that helped are tried again, with the settings they had.
Learning twice from the very same photos and decisions starts from the same place both times, and so ends at the same
model.
"""

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs, calibration_error, reliability, thresholds
from topicture.annotations.choice.trials import Trial
from topicture.annotations.shift.completeness import Completeness
from topicture.corpus import Corpus
from topicture.corpus.digests import corpus_digest
from topicture.errors import DataNotFound, ModelFileError, TopictureError
from topicture.models.blends.members import FormerRow
from topicture.models.blends.race import RULES
from topicture.store import Catalog

__all__ = [
    "TOLD_PRECISION",
    "Former",
    "former_choice",
    "learning_told",
    "load_report",
    "not_measured",
    "race_told",
]

# So many times as many tagged photos or words, or as few, and everything is tried again.
MOST_CHANGE = 1.5
TOLD_PRECISION = 0.95


def load_report(folder: Path) -> dict[str, Any]:
    """What was found when the model was learned."""
    path = folder / "report.json"
    try:
        report = json.loads(path.read_bytes())
        if isinstance(report, dict):
            return report
        raise ValueError("not a report")
    except FileNotFoundError:
        raise DataNotFound(f"{os.fspath(path)}: missing; learn again") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{os.fspath(path)}: damaged; learn again") from None


class Former(NamedTuple):
    """What `auto` is told of an earlier race, and what is noted of the next one."""

    inputs: str  # digest of what is learned from now
    rows: tuple[FormerRow, ...] = ()  # of an earlier race; none: everything is tried
    tagged: int = 0  # photos at that race
    words: int = 0
    region_model: str | None = None  # that was chosen then
    same: bool = False  # whether that model learned from the very same
    went_on: bool = False  # whether it went on from one before it
    completed: bool = True  # whether it completed captions as the next one does, or neither does

    @property
    def may_go_on(self) -> bool:
        """Whether answers of the earlier model may be taken over: learning twice from the same ends at the same."""
        return bool(self.rows) and self.completed and (self.went_on or not self.same)


def former_choice(catalog: Catalog, corpus: Corpus, *, afresh: bool = False) -> Former:
    """What the newest model says, if it is a blend and the collection is much as it was at its race."""
    start = Former(corpus_digest(corpus))
    if afresh:
        return start
    try:
        report = load_report(catalog.model_folder(catalog.suggestions.newest()))
        race = report["race"]
        if race["rules"] != RULES:
            return start
        same = race["inputs"] == start.inputs
        if same:  # nothing changed: from where that one started
            rows, region_model = _rows(race["former"]), race["former_region_model"]
        else:
            rows, region_model = _rows(race["rows"]), (report["regions"] or {}).get("model")
        found = Former(
            start.inputs,
            rows,
            int(race["tagged"]),
            int(race["words"]),
            region_model,
            same=same,
            went_on=race.get("went_on") is True,
            completed=(race.get("completed") is True) == (corpus.completeness is not None),
        )
    except (TopictureError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return start  # a named model, an earlier version's, or one that is damaged: `check` tells that
    alike = _alike(found.tagged, corpus.n_with_words) and _alike(found.words, corpus.n_words)
    return found if alike and found.rows else start


def race_told(annotator: Any, former: Former, corpus: Corpus, photos: int) -> dict[str, Any] | None:
    """What the report of a model tells the next `learn`; None of a model that is no blend.

    `photos` is how many there were when the way from photos to numbers was learned.
    """
    if annotator.name != "auto":
        return None
    raced = (corpus.n_with_words, corpus.n_words) if not former.rows else (former.tagged, former.words)
    return {
        "rules": RULES,
        "inputs": former.inputs,
        "tagged": raced[0],
        "words": raced[1],
        "rows": [[row.member, row.settings, row.weight, row.note] for row in annotator.report_],
        "former": [list(row) for row in former.rows],
        "former_region_model": former.region_model,
        "went_on": annotator.went_on_,
        "completed": corpus.completeness is not None,
        "photos": photos,
    }


def _rows(told: Any) -> tuple[FormerRow, ...]:
    return tuple(
        FormerRow(
            str(member), {str(name): value for name, value in settings.items()}, float(weight), str(note)
        )
        for member, settings, weight, note in told
    )


def _alike(one: int, other: int) -> bool:
    return max(one, other) <= MOST_CHANGE * min(one, other)


# --- What was found ---------------------------------------------------------------------------------------------


def learning_told(
    trial: Trial,
    members: list[Any],
    pairs: JudgedPairs,
    corpus: Corpus,
    min_count: int,
    n_tagged: int,
    completeness: Completeness | None,
    n_photos: NDArray[np.int64],
    *,
    measured: bool = True,
    by_answers: bool = False,
) -> dict[str, Any]:
    """The report that goes into the model's folder; `n_photos` (V,) have each word by what people said.

    Where nothing was measured, `pairs` are only told by the model: no figure is read from them. `by_answers`: they are
    answers about untagged photos, and no hidden tags.
    """
    bins = [each for each in reliability(pairs) if each.n] if measured else []
    enough = thresholds(pairs, corpus.n_words, TOLD_PRECISION)
    return {
        "model": trial.model,
        "tagged": n_tagged,
        "min_count": min_count,
        "trials": [asdict(trial)],
        "members": [_finite(asdict(member)) for member in members],
        "measured": measured,
        "by_answers": by_answers,
        "reliability": [b._asdict() for b in bins],
        "calibration_error": calibration_error(bins) if measured else None,
        "target_precision": TOLD_PRECISION,
        "completeness": None if completeness is None else _completeness(completeness),
        "tags": [
            {
                "word": corpus.vocabulary[word],
                "photos": int(n_photos[word]),
                **(_suggested(word, pairs, float(enough[word])) if measured else _UNKNOWN),
                **_completeness_of(completeness, word),
            }
            for word in range(corpus.n_words)
        ],
    }


def not_measured(n_answers: int, needed: int, possible: float = math.inf, *, what: str = "tags") -> str:
    """One line for people where nothing tells what is not true of a photo, and so many answers would.

    `possible` is how many there could be, about the photos that are untagged; `what` never occurs together.
    """
    why = f"no two {what} occur together, so no photo says what it lacks"
    if n_answers < needed and possible < needed:
        return (
            f"Nothing was measured: {why}, and too few photos are without tags to ask about; probabilities are "
            "guesses."
        )
    if n_answers >= needed:
        return (
            f"Nothing was measured: {why}, and hardly a photo is without tags, to compare with those that have some; "
            "probabilities are guesses."
        )
    questions = (
        f"{needed - n_answers} {'more ' if n_answers else ''}question{'s' * (needed - n_answers != 1)}"
    )
    return (
        f"Nothing was measured yet: {why}, and probabilities are guesses. Answer {questions} about untagged photos "
        "('topicture review --order random'), then learn again."
    )


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """None in place of what was not measured: JSON has no NaN."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}


def _completeness(found: Completeness) -> dict[str, Any]:
    return {
        "overall": found.overall,
        "deviation": found.overall_deviation,
        "questions": found.n_questions,
    }


def _completeness_of(found: Completeness | None, word: int) -> dict[str, Any]:
    """None of a word that no caption has: there is no share of given tags to tell."""
    if found is None or not found.words[word]:
        return {"completeness": None, "completeness_deviation": None}
    return {
        "completeness": float(found.words[word]),
        "completeness_deviation": float(found.deviation[word]),
    }


_UNKNOWN = dict.fromkeys(("suggested", "precision", "threshold", "accepted"))


def _suggested(number: int, pairs: JudgedPairs, threshold: float) -> dict[str, Any]:
    mine = pairs.word == number
    weights = pairs.weights
    suggested = mine & (pairs.presence >= 0.5) & (weights > 0)
    above = mine & (pairs.presence >= threshold)
    n_suggested = round(float(weights[suggested].sum()))
    return {
        "suggested": n_suggested,
        "precision": float(np.average(pairs.truth[suggested], weights=weights[suggested]))
        if n_suggested
        else None,
        "threshold": threshold if np.isfinite(threshold) else None,
        "accepted": round(float(weights[above].sum())),
    }
