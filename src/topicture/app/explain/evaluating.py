"""How far a model can be trusted, in the words of today: tags may have been renamed or deleted since it was learned."""

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
    promises, error = report["promises"], report["calibration_error"]
    said = [report.get("warning", ""), promises_line(promises) if promises else ""]
    if report["measured"]:
        off = (
            "no suggestion was promised more than 10%"
            if error is None
            else f"a probability is off by {100 * error:.1f} points on average"
        )
        if report.get("by_answers"):
            said.append(f"Measured on answers about untagged photos: {off}.")
        else:
            trial = report["trials"][0]
            said.append(
                f"Measured on tags that were hidden: {off}. The model “{trial['model']}” reaches {trial['mean']:.0%} "
                f"of a perfect ranking (mean average precision, ± {100 * trial['standard_error']:.1f} points) on "
                f"{counted(report['tagged'], 'tagged photo')}."
            )
    return [line for line in said if line]


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
