"""How far a model can be trusted, in the words of today: tags may have been renamed or deleted since it was learned."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from topicture.app.counting import counted
from topicture.app.learning.reports import load_report
from topicture.app.promises import promises_line, promises_told
from topicture.store import Catalog

__all__ = ["evaluation", "names_today", "trust_in_words"]


def evaluation(catalog: Catalog) -> dict[str, Any]:
    """The report of the newest model, with its words as they are called now, and what people have answered since."""
    report = {"measured": True, **load_report(catalog.model_folder(catalog.suggestions.newest()))}
    told = report.get("tags", ())
    names = names_today(catalog, told)
    tags = [{**tag, "word": names[tag["word"]]} for tag in told if tag["word"] in names]
    return {**report, "tags": tags, "promises": promises_told(catalog)}


def trust_in_words(report: Mapping[str, Any]) -> list[str]:
    """What an evaluation says of how far promises hold, in sentences."""
    promises = report["promises"]
    said = [report.get("warning", ""), promises_line(promises) if promises else ""]
    if report["measured"]:
        error = _known(report.get("calibration_error"))
        off = (
            "no suggestion was promised more than 10%"
            if error is None
            else f"a probability is off by {100 * error:.1f} points on average"
        )
        by_answers = report.get("by_answers", False)
        said.append(
            f"Measured on {'answers about untagged photos' if by_answers else 'tags that were hidden'}: {off}."
        )
        if not by_answers:
            said.append(_ranking(report["trials"][0], report["tagged"]))
    return [line for line in said if line]


def _ranking(trial: Mapping[str, Any], n_tagged: int) -> str:
    mean, deviation = _known(trial["mean"]), _known(trial["standard_error"])
    if mean is None:
        return ""
    spread = "" if deviation is None else f", ± {100 * deviation:.1f} points"
    return (
        f"The model “{trial['model']}” reaches {mean:.0%} of a perfect ranking (mean average precision{spread}) on "
        f"{counted(n_tagged, 'tagged photo')}."
    )


def _known(figure: float | None) -> float | None:
    """None for what is not a number, as reports have it where there was nothing to measure."""
    return None if figure is None or math.isnan(figure) else figure


def names_today(catalog: Catalog, tags: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Word of a model -> its name of today; without deleted words.

    Of several that were merged into one, the word itself stands for it, else the one that was on most photos. `tags`
    are those of a model's report.
    """
    means, deleted = catalog.decisions.merged_words(), catalog.decisions.deleted_words()
    stands: dict[str, Mapping[str, Any]] = {}
    for tag in tags:
        name = means.get(tag["word"], tag["word"])
        former = stands.get(name)
        if name not in deleted and (former is None or _weight(tag, name) > _weight(former, name)):
            stands[name] = tag
    return {tag["word"]: name for name, tag in stands.items()}


def _weight(tag: Mapping[str, Any], name: str) -> tuple[bool, int]:
    return tag["word"] == name, tag.get("photos", 0)
