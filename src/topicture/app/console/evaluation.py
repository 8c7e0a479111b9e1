"""How far a model can be trusted, in a terminal. Words are printed as text, never as markup."""

import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicture.app.counting import counted
from topicture.app.promises import promises_line
from topicture.collection.words import printable

__all__ = ["print_evaluation"]

SHOWN_TAGS = 20
WORTH_KNOWING = 0.01  # of a difference that chance makes


def print_evaluation(report: dict[str, Any], all_tags: bool) -> None:
    """What was promised and what came true, and tag by tag; where nothing was measured, that, and what to do."""
    measured, by_answers = report.get("measured", True), report.get("by_answers", False)
    how = "judged by hidden tags of" if measured and not by_answers else "learned from the tags of"
    where = "; judged by answers about untagged photos" if by_answers else ""
    print(f"{printable(report['model'])}, {how} {counted(report['tagged'], 'photo')}{where}")
    if measured:
        _print_reliability(report)
    if report.get("warning"):
        print(printable(report["warning"]))
    if report.get("promises"):
        print(promises_line(report["promises"]))
    complete = report.get("completeness")
    if complete:
        print(
            f"Tags given, of those that are true: {complete['overall']:.0%} ± {complete['deviation']:.0%}, by "
            f"{counted(complete['questions'], 'random question')}"
        )
    elif measured and not by_answers:
        print("Judged as if no tag was left out; one in ten questions of 'topicture review' asks about that.")
    _print_tags(report, all_tags, measured)


def _print_reliability(report: dict[str, Any]) -> None:
    table = _table("probability", "pairs", "promised", "observed")
    for row in report["reliability"]:
        table.add_row(
            f"{row['low']:.0%} to {row['high']:.0%}",
            str(row["n"]),
            f"{row['promised']:.1%}",
            f"{row['observed']:.1%}" if row["n"] else "",
        )
    Console().print(table)
    error = report["calibration_error"]
    if error is not None and not math.isnan(error):
        print(f"Mean difference between promised and observed, from 10% on: {error:.1%}{_chance(report)}")


def _chance(report: dict[str, Any]) -> str:
    """What chance alone would make of it, where that is worth knowing."""
    from topicture.annotations.choice.presence import ReliabilityBin, error_by_chance

    bins = [ReliabilityBin(**row) for row in report["reliability"]]
    by_chance = error_by_chance(bins)
    if math.isnan(by_chance) or by_chance < WORTH_KNOWING:
        return ""
    n = sum(b.n for b in bins if b.low >= 0.1)
    return f" (with {counted(n, 'pair')}, about {by_chance:.1%} by chance alone)"


def _print_tags(report: dict[str, Any], all_tags: bool, measured: bool) -> None:
    told = ("suggested at 50%", "precision", f"{report['target_precision']:.0%} precise from")
    table = _table("tag", "photos", *(told if measured else ()))
    tags = sorted(report["tags"], key=lambda tag: (-tag["photos"], tag["word"]))
    for tag in tags if all_tags else tags[:SHOWN_TAGS]:
        table.add_row(Text(printable(tag["word"])), str(tag["photos"]), *(_trust_of(tag) if measured else ()))
    Console().print(table)
    if len(tags) > SHOWN_TAGS and not all_tags:
        print(f"... and {counted(len(tags) - SHOWN_TAGS, 'more tag')} (--all)")


def _trust_of(tag: dict[str, Any]) -> Sequence[str]:
    return (
        str(tag["suggested"]),
        "" if tag["precision"] is None or not tag["suggested"] else f"{tag['precision']:.0%}",
        "never" if tag["threshold"] is None else f"{tag['threshold']:.0%}",
    )


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", overflow="fold")
    return table
