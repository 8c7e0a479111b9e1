"""How far a model can be trusted, in the words of today: tags may have been renamed or deleted since it was learned."""

from collections.abc import Iterable, Mapping
from typing import Any

from topicture.app.learning.reports import load_report
from topicture.app.promises import promises_told
from topicture.store import Catalog

__all__ = ["evaluation", "names_today"]


def evaluation(catalog: Catalog) -> dict[str, Any]:
    """The report of the newest model, with its words as they are called now, and what people have answered since."""
    report = {"measured": True, **load_report(catalog.model_folder(catalog.suggestions.newest()))}
    told = report.get("tags", ())
    names = names_today(catalog, told)
    tags = [{**tag, "word": names[tag["word"]]} for tag in told if tag["word"] in names]
    return {**report, "tags": tags, "promises": promises_told(catalog)}


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
