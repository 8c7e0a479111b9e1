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

from topicture.app.counting import counted
from topicture.app.promises import promises_line
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.annotations.choice.trials import Trial
    from topicture.app.learning.learning import LearnReport
    from topicture.app.verbs.reviewing import BulkReport, Question
    from topicture.app.verbs.scanning import ScanReport
    from topicture.app.verbs.searching import SearchPage
    from topicture.app.verbs.status import ModelSummary, Status
    from topicture.app.verbs.upkeep.pruning import Pruned
    from topicture.store.decisions.conflicts import Conflict

__all__ = [
    "print_bulk",
    "print_conflicts",
    "print_first_step",
    "print_hits",
    "print_learned",
    "print_learned_models",
    "print_models",
    "print_paths",
    "print_pruned",
    "print_questions",
    "print_scan",
    "print_status",
    "when",
]

SHOWN_TAGS = 20
SHOWN_MEMBERS = 3


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
    print(f"{counted(report.files, 'photo')}: {', '.join(parts)}." if parts else "No photos found.")
    if report.decisions:
        print(f"{counted(report.decisions, 'new keyword')}.")
    if report.withdrawn:
        print(
            f"Removed {counted(report.withdrawn, 'tag')} whose keywords other programs had removed; "
            "'topicture undo' restores them."
        )
    if report.conflicts:
        print(f"{_conflicts_line(len(report.conflicts))}.")
    if report.left_out:
        kinds = " and ".join(
            f"{n:,} {kind}{'s' * (n != 1)}" for kind, n in sorted(report.left_out.items(), reverse=True)
        )
        verb = "was" if sum(report.left_out.values()) == 1 else "were"
        print(f"{kinds} {verb} left out; 'topicture doctor' says why.")
    if report.missing_sidecars:
        print(f"{_missing_line(report.missing_sidecars)}; 'topicture write' writes them again.")


def print_first_step(status: "Status") -> None:
    """Where a collection that was just scanned stands, and what comes next."""
    if status.tagged:
        print(
            f"{counted(status.tagged, 'photo is', 'photos are')} tagged, with {counted(status.words, 'word')}: "
            "'topicture learn' learns them."
        )
    elif status.photos:
        print(
            "No photo has tags yet. Some fifty are enough to begin: from your photo program, by "
            "'topicture import',\nor in the browser ('topicture serve')."
        )


def print_status(status: "Status") -> None:
    rows = [
        (
            "photos",
            f"{status.photos} in {counted(status.files, 'file')}"
            + (f" ({status.gone} gone)" if status.gone else ""),
        ),
        (
            "tagged",
            f"{counted(status.tagged, 'photo')} with {counted(status.present, 'tag')}, {counted(status.words, 'word')}",
        ),
        ("decided here", f"{status.accepted_here} accepted, {status.rejected} rejected"),
        ("model", "none; run 'topicture learn'" if status.model is None else _model_line(status.model)),
        (
            "suggestions",
            f"{status.open_suggestions} open, for {counted(status.photos_with_suggestions, 'photo')}",
        ),
        ("to be written", counted(status.pending_writes, "sidecar")),
        *([("conflicts", _conflicts_line(status.conflicts))] * bool(status.conflicts)),
        *([("missing", _missing_line(status.missing_sidecars))] * bool(status.missing_sidecars)),
        ("last scan", when(status.scanned)),
        ("root", printable(status.root)),
    ]
    for name, value in rows:
        print(f"{name:14} {value}")


def _conflicts_line(n: int) -> str:
    return f"{counted(n, 'conflict')} with other programs (see 'topicture conflicts')"


def _missing_line(n: int) -> str:
    return counted(n, "sidecar that Topicture wrote is missing", "sidecars that Topicture wrote are missing")


def _model_line(model: "ModelSummary") -> str:
    name = printable(f"{model.name} {model.folder}")
    tagged = model.facts.get("tagged")  # a damaged catalog may lack it
    return f"{name}, learned {when(model.learned)}" + (
        f" from {counted(tagged, 'tagged photo')}" if tagged else ""
    )


def when(at: float | None) -> str:
    """A time as people read it."""
    if at is None:
        return "never"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (TypeError, ValueError, OverflowError, OSError):  # the catalog has something else there
        return "at an unknown time"


def print_learned(report: "LearnReport", *, verbose: bool = False) -> None:
    if verbose and len(report.trials) > 1:
        _print_members(report)
    print(
        f"Learned {counted(report.words, 'word')} from {report.tagged} tagged photos of {report.photos} "
        f"(model: {report.model}"
        + (f"; regions: {report.region_model}" if report.region_model else "")
        + ")."
    )
    learned, *members = report.trials
    if report.measured and not report.by_answers:
        print(
            f"Tested on hidden tags: of as many guesses as a photo has tags, {learned.accuracy:.0%} are right\n"
            f"(mean average precision {learned.mean:.3f} ± {learned.standard_error:.3f})."
        )
    best = sorted((member for member in members if _weight(member)), key=_weight, reverse=True)
    if best and not verbose:
        whole = sum(abs(_weight(member)) for member in best)  # weights need not sum to one
        shown = ", ".join(f"{member.model} {_weight(member) / whole:.0%}" for member in best[:SHOWN_MEMBERS])
        more = len(members) - min(SHOWN_MEMBERS, len(best))
        print(f"Blended: {shown}" + (f"; --verbose shows {more} more." if more else "."))
    if report.warning:
        print(report.warning)
    if report.completeness is not None:
        print(
            f"By random questions, {report.completeness:.0%} of the tags that are true of tagged photos were given."
        )
    if report.promises is not None:
        print(promises_line(report.promises))
    if report.too_rare:
        print(f"{counted(len(report.too_rare), 'word is', 'words are')} on too few photos to be learned.")
    if report.tagged < report.photos:
        print("'topicture annotate' now suggests words for the other photos.")


def _print_members(report: "LearnReport") -> None:
    """All that was tried on hidden tags, what is used first; how the blend was made, and what was left out and why."""
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
    print(f"Time limit for trying and learning: {report.budget_seconds / 60:g} minutes (--budget).")
    for member in members:
        if math.isnan(member.mean):
            print(f"{member.model}: {getattr(member, 'note', '')}")


def _weight(trial: "Trial") -> float:
    """The weight of a member of a blend; 0 for what is not in it."""
    return getattr(trial, "weight", 0.0)


def print_models(rows: list[dict[str, Any]]) -> None:
    table = Table()
    for title in ("name", "needs", "regions", "about"):
        table.add_column(title)
    for row in rows:
        needs = ", ".join(row["needs"]) or "captions only"
        table.add_row(row["name"], needs, "yes" if row["labels_regions"] else "", row["about"])
    Console().print(table)


def print_pruned(pruned: "Pruned") -> None:
    verb = "Would remove" if pruned.dry_run else "Removed"
    room = f"{pruned.bytes / 1e6:.1f} MB"
    print(
        f"{verb} {counted(len(pruned.removed), 'model')} ({room}); {counted(len(pruned.kept), 'model')} kept."
    )
    for model in pruned.removed:
        print(f"  {_model_line(model)}")


def print_learned_models(models: "list[ModelSummary]") -> None:
    if not models:
        print("Nothing has been learned yet; run 'topicture learn'.")
    for model in models:
        print(
            _model_line(model) + ("" if model.annotated is None else f", annotated {when(model.annotated)}")
        )


def print_hits(page: "SearchPage") -> None:
    if not page.hits:
        print("No photos found.")
    for hit in page.hits:
        words = ", ".join(
            f"{printable(word)} {'yes' if word in hit.said and p else 'no' if word in hit.said else f'{p:.0%}'}"
            + (" by machine" if word in hit.by_machine else "")
            for word, p in hit.words.items()
        )
        print(f"{hit.probability:5.0%}  {printable(hit.path)}  ({words})")
    if len(page.hits) < page.total:
        print(
            f"{len(page.hits)} of {counted(page.total, 'photo')}, {page.probable} of them more likely than not; "
            "--limit shows more."
        )


def print_paths(paths: list[str]) -> None:
    """Exact bytes, ended by NUL: a name may hold anything else."""
    sys.stdout.buffer.write(b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths))


def print_questions(questions: "list[Question]") -> None:
    for question in questions:
        asked = f"{question.probability:5.0%}  {printable(question.path)}  {printable(question.word)}"
        print(f"{asked}  (left out?)" if question.left_out else asked)


def print_bulk(report: "BulkReport") -> None:
    print(
        f"{'Would accept' if report.dry_run else 'Accepted'} {counted(report.accepted, 'suggestion')} "
        f"for {counted(report.photos, 'photo')} at {report.precision:.0%} precision."
    )
    for word, threshold, n in report.tags[:SHOWN_TAGS]:
        print(f"{n:6}  {printable(word)} (from {threshold:.0%})")
    if more := report.tags[SHOWN_TAGS:]:
        print(f"{sum(n for _, _, n in more):6}  ({counted(len(more), 'more tag')})")
    short = counted(report.not_reached, "tag does not", "tags do not") + " reach it"
    doubt = f"too little evidence for {counted(report.too_little, 'tag')}; answers in 'topicture review' give more"
    if told := [short] * (report.not_reached > 0) + [doubt] * (report.too_little > 0):
        print(f"Asked for {report.precision:.0%}: {', '.join(told)}.")
    if report.accepted and not report.dry_run:
        print("'topicture undo' takes this back; 'topicture write' writes it into sidecars.")


def print_conflicts(conflicts: "list[Conflict]") -> None:
    if not conflicts:
        print("No conflicts.")
        return
    for conflict in conflicts:
        verb, done = ("accepted", "removed") if conflict.kind == "removed" else ("rejected", "added")
        print(
            f"{printable(conflict.path)}  {printable(conflict.word)}  {verb} here ({conflict.source}), "
            f"{done} by another program"
        )
    print("--keep keeps what was decided here; --follow does what the other program did.")
