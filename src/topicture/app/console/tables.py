"""Results as tables and lines in a terminal. Names from files are printed as text, never as markup."""

import math
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicture.app.console.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.annotations.choice.trials import Trial
    from topicture.app.learning.learning import LearnReport
    from topicture.app.verbs.reviewing import BulkReport, Question
    from topicture.app.verbs.scanning import ScanReport
    from topicture.app.verbs.searching import SearchHit
    from topicture.app.verbs.status import ModelSummary, Status
    from topicture.store.decisions.conflicts import Conflict
    from topicture.store.decisions.decisions import Undone

__all__ = [
    "print_bulk",
    "print_conflicts",
    "print_evaluation",
    "print_hits",
    "print_learned",
    "print_learned_models",
    "print_models",
    "print_paths",
    "print_questions",
    "print_scan",
    "print_status",
    "print_undone",
]

SHOWN_TAGS = 20
SHOWN_WORDS = 10


def _table(*titles: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right" if title in right else "left", overflow="fold")
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)


def print_scan(report: "ScanReport") -> None:
    parts = [
        f"{n} {what}"
        for n, what in (
            (report.new, "new"),
            (report.moved, "moved or copied"),
            (report.changed, "changed"),
            (report.unchanged, "unchanged"),
            (report.gone, "gone"),
        )
        if n
    ]
    print(f"{counted(report.files, 'photo')}: {', '.join(parts) or 'none'}.")
    if report.decisions:
        print(f"{counted(report.decisions, 'keyword is', 'keywords are')} news.")
    if report.withdrawn:
        print(
            f"{counted(report.withdrawn, 'tag')} went with keywords that other programs removed; "
            "'topicture undo' takes that back."
        )
    if report.conflicts:
        print(f"{_conflicts_line(len(report.conflicts))}: topicture conflicts")
    if report.missing_sidecars:
        print(f"{_missing_line(report.missing_sidecars)}; 'topicture write' writes them again.")


def print_status(status: "Status") -> None:
    rows = [
        (
            "photos",
            f"{status.photos} in {status.files} files" + (f" ({status.gone} gone)" if status.gone else ""),
        ),
        ("tagged", f"{status.tagged} photos, {status.words} words, {status.present} tags"),
        ("decided here", f"{status.accepted_here} accepted, {status.rejected} rejected"),
        ("model", "none: topicture learn" if status.model is None else _model_line(status.model)),
        ("suggestions", f"{status.open_suggestions} open, for {status.photos_with_suggestions} photos"),
        ("to be written", counted(status.pending_writes, "sidecar")),
        *(
            [("conflicts", f"{_conflicts_line(status.conflicts)}: topicture conflicts")]
            * bool(status.conflicts)
        ),
        *([("missing", _missing_line(status.missing_sidecars))] * bool(status.missing_sidecars)),
        ("last scan", _when(status.scanned)),
        ("root", printable(status.root)),
    ]
    for name, value in rows:
        print(f"{name:14} {value}")


def _conflicts_line(n: int) -> str:
    return f"{counted(n, 'word')} decided here that another program changed"


def _missing_line(n: int) -> str:
    return counted(n, "sidecar that Topicture wrote is missing", "sidecars that Topicture wrote are missing")


def _model_line(model: "ModelSummary") -> str:
    name, when = printable(f"{model.name} {model.folder}"), _when(model.learned)
    return f"{name}, learned {when} from {model.facts['tagged']} tagged photos"


def _when(at: float | None) -> str:
    if at is None:
        return "never"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (TypeError, ValueError, OverflowError, OSError):  # the catalog holds something else
        return "at an unknown time"


def print_learned(report: "LearnReport") -> None:
    if len(report.trials) > 1:
        _print_members(report)
    print(
        f"Learned {report.model} from {report.tagged} tagged of {report.photos} photos, {report.words} words"
        + (f"; regions by {report.region_model}" if report.region_model else "")
        + "."
    )
    if report.too_rare:
        print(f"{len(report.too_rare)} words are on too few photos to be learned.")


def _print_members(report: "LearnReport") -> None:
    """What was tried on hidden tags, that which is used first, and what was made of it."""
    titles = ("mean average precision", "accuracy", "weight")
    table = _table("model", *titles, right=titles)
    learned, *members = report.trials
    tried = [member for member in members if not math.isnan(member.mean)]
    for trial in (learned, *sorted(tried, key=lambda member: _weight(member) == 0)):
        weight = _weight(trial)
        table.add_row(
            trial.model,
            f"{trial.mean:.3f} ± {trial.standard_error:.3f}",
            f"{trial.accuracy:.3f}",
            f"{weight:.2f}" if weight else "",
            style="bold" if trial is learned else "",
        )
    Console().print(table)
    print(f"{report.choice[:1].upper()}{report.choice[1:]}.")
    print(f"auto may take {report.budget_seconds / 60:g} minutes to try and to learn (--budget).")
    for member in members:
        if math.isnan(member.mean):
            print(f"{member.model}: {getattr(member, 'note', '')}")


def _weight(trial: "Trial") -> float:
    """In a blend; 0 for what has none."""
    return getattr(trial, "weight", 0.0)


def print_evaluation(report: dict[str, Any], all_tags: bool) -> None:
    console = Console()
    print(f"{printable(report['model'])}, judged on held-out tags of {report['tagged']} photos")
    table = _table("probability", "pairs", "promised", "observed", right=("pairs", "promised", "observed"))
    for row in report["reliability"]:
        span = f"{row['low']:.0%} to {row['high']:.0%}"
        table.add_row(span, str(row["n"]), f"{row['promised']:.1%}", f"{row['observed']:.1%}")
    console.print(table)
    if report["calibration_error"] is not None:
        print(f"Mean distance of promised and observed above 10%: {report['calibration_error']:.1%}")
    target = f"from here {report['target_precision']:.0%} precise"
    table = _table(
        "tag",
        "photos",
        "suggested at 50%",
        "precise",
        target,
        right=("photos", "suggested at 50%", "precise", target),
    )
    tags = sorted(report["tags"], key=lambda tag: (-tag["photos"], tag["word"]))
    for tag in tags if all_tags else tags[:SHOWN_TAGS]:
        table.add_row(
            _text(tag["word"]),
            str(tag["photos"]),
            str(tag["suggested"]),
            "" if tag["precision"] is None else f"{tag['precision']:.0%}",
            "never" if tag["threshold"] is None else f"{tag['threshold']:.0%}",
        )
    console.print(table)
    if len(tags) > SHOWN_TAGS and not all_tags:
        print(f"... and {len(tags) - SHOWN_TAGS} more tags (--all)")


def print_models(rows: list[dict[str, Any]]) -> None:
    table = Table()
    for title in ("name", "needs", "regions", "about"):
        table.add_column(title)
    for row in rows:
        needs = ", ".join(row["needs"]) or "captions only"
        table.add_row(row["name"], needs, "yes" if row["labels_regions"] else "", row["about"])
    Console().print(table)


def print_learned_models(models: "list[ModelSummary]") -> None:
    if not models:
        print("Nothing was learned yet: topicture learn")
    for model in models:
        print(
            _model_line(model) + ("" if model.annotated is None else f", annotated {_when(model.annotated)}")
        )


def print_hits(hits: "list[SearchHit]") -> None:
    if not hits:
        print("No photo answers that.")
    for hit in hits:
        words = ", ".join(
            f"{printable(word)} {'yes' if word in hit.said and p else 'no' if word in hit.said else f'{p:.0%}'}"
            for word, p in hit.words.items()
        )
        print(f"{hit.probability:5.0%}  {printable(hit.path)}  ({words})")


def print_paths(paths: list[str]) -> None:
    """Exact bytes, ended by NUL: a name may hold anything else."""
    sys.stdout.buffer.write(b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths))


def print_questions(questions: "list[Question]") -> None:
    if not questions:
        print("Nothing to review; 'topicture annotate' makes suggestions.")
    for question in questions:
        print(f"{question.probability:5.0%}  {printable(question.path)}  {printable(question.word)}")


def print_bulk(report: "BulkReport") -> None:
    verb = "would be accepted" if report.dry_run else "accepted"
    print(
        f"{report.accepted} suggestions for {report.photos} photos {verb} at {report.precision:.0%} precision."
    )
    for word, threshold, n in report.tags[:SHOWN_TAGS]:
        print(f"{n:6}  {printable(word)} (from {threshold:.0%})")
    if report.accepted and not report.dry_run:
        print("'topicture undo' takes it back; 'topicture write' puts it into sidecars.")


def print_conflicts(conflicts: "list[Conflict]") -> None:
    if not conflicts:
        print("No file says otherwise than was decided here.")
        return
    for conflict in conflicts:
        verb, done = ("accepted", "taken out") if conflict.kind == "removed" else ("rejected", "put in")
        print(
            f"{printable(conflict.path)}  {printable(conflict.word)}  {verb} here ({conflict.source}), "
            f"{done} by another program"
        )
    print("--keep stands by what was decided here, --follow does as the other program did.")


def print_undone(undone: "Undone") -> None:
    """What an undo took back, in one line."""
    parts = []
    if undone.decisions:
        words = sorted({printable(decision.word) for decision in undone.decisions})
        more = f" and {len(words) - SHOWN_WORDS} more" if len(words) > SHOWN_WORDS else ""
        parts.append(
            f"{counted(len(undone.decisions), 'decision')} ({undone.source}): {', '.join(words[:SHOWN_WORDS])}{more}"
        )
    if undone.words:
        verb = "the deletion" if undone.source == "delete" else "the return"
        parts.append(f"{verb} of {', '.join(map(printable, undone.words[:SHOWN_WORDS]))}")
    if undone.reopened:
        parts.append(f"{counted(undone.reopened, 'answer')} to conflicts, open again")
    print(f"Undid {'; '.join(parts)}" if parts else "Nothing of it was left to undo.")
    if undone.decided_anew:
        print(f"{counted(undone.decided_anew, 'decision')} of it stayed: decided anew since.")
