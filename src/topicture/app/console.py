"""What a person sees in the terminal: progress, tables, examples."""

import math
from pathlib import Path
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from topicture.app.demo import SHOWN, TITLES, DemoReport

__all__ = ["Stages", "print_demo"]


# Titles that leave room for the table in a terminal of eighty columns.
SHORT = {
    "accuracy": "acc.",
    "complete_length": "length",
    "f1": "F1@5",
    "normalised_score": "score",
    "perplexity": "perpl.",
    "region_accuracy": "regions",
}


class Stages:
    """Progress bars, one a stage, on standard error; nothing where that is not a terminal."""

    def __init__(self, *, quiet: bool = False):
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._progress.stop()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total, rate="")
        task = self._tasks[stage]
        speed = self._progress.tasks[task].speed
        self._progress.update(task, completed=done, total=total, rate=f"{speed:6.1f}/s" if speed else "")


def print_demo(report: DemoReport, page: Path) -> None:
    """Measures against the baseline, a handful of examples, and where the page is."""
    console = Console()
    table = Table(
        title=f"{report.n_images} photos, {report.n_tagged} tagged, {report.n_words} words: "
        f"the {report.n_images - report.n_tagged} hidden captions",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=0,
    )
    shown = [name for name in SHOWN if any(not math.isnan(score.measures[name]) for score in report.scores)]
    table.add_column("model", no_wrap=True)
    for name in shown:
        table.add_column(f"{SHORT[name]} {'↑' if TITLES[name][2] else '↓'}", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for score in report.scores:
        values = [_number(score.measures[name]) for name in shown]
        style = "bold" if score.model == report.best else ""
        table.add_row(score.model, *values, f"{score.seconds:.1f}", style=style)
    console.print(table)
    console.print(f"\nWhat {report.best} suggests (green: the owner's own word, hidden from the model):")
    for example in report.examples[:6]:
        line = Text(f"  {example.image_id}  ")
        for word, probability in example.suggestions:
            line.append(f"{word} {probability:.0%}  ", style="green" if word in example.true_words else "")
        missed = [word for word in example.true_words if word not in {s.word for s in example.suggestions}]
        line.append(f"(missed: {', '.join(missed)})" if missed else "(all found)", style="dim")
        console.print(line)
    console.print(f"\nPictures: {page}", soft_wrap=True, highlight=False)


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if value < 2 else f"{value:.1f}"
