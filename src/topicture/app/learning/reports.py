"""What was found when a model was learned: `report.json` in its folder; and what the next `learn` takes from it.

As long as the collection is much the same, only models that helped are tried again, with the settings they had.
Learning twice from the very same photos and decisions starts from the same place both times, and so ends at the same
model.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from topicture.corpus import Corpus
from topicture.errors import DataNotFound, ModelFileError, TopictureError
from topicture.models.blends.digests import corpus_digest
from topicture.models.blends.members import FormerRow
from topicture.models.blends.race import RULES
from topicture.store import Catalog

__all__ = ["Former", "former_choice", "load_report", "race_told"]

# So many times as many tagged photos or words, or as few, and everything is tried again.
MOST_CHANGE = 1.5


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
        if race["inputs"] == start.inputs:  # nothing changed: from where that one started
            rows, region_model = _rows(race["former"]), race["former_region_model"]
        else:
            rows, region_model = _rows(race["rows"]), (report["regions"] or {}).get("model")
        found = Former(start.inputs, rows, int(race["tagged"]), int(race["words"]), region_model)
    except (TopictureError, KeyError, TypeError, ValueError, AttributeError):
        return start  # a named model, an earlier version's, or one that is damaged: `check` tells that
    alike = _alike(found.tagged, corpus.n_with_words) and _alike(found.words, corpus.n_words)
    return found if alike and found.rows else start


def race_told(annotator: Any, former: Former, corpus: Corpus) -> dict[str, Any] | None:
    """What the report of a model tells the next `learn`; None of a model that is no blend."""
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
