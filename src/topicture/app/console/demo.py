"""What the demonstration prints: measures against the baseline, and a handful of examples."""

import math
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicture.collection.words import printable
from topicture.demo.run import NO_CHANCE, SHOWN, TITLES, DemoReport

__all__ = ["print_demo"]


# Titles that leave room for the table in a terminal of eighty columns.
SHORT = {
    "accuracy": "acc.",
    "complete_length": "length",
    "f1": "F1@5",
    "normalised_score": "score",
    "perplexity": "perpl.",
    "region_accuracy": "regions",
}


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
    if report.has_infinite:
        console.print(NO_CHANCE)
    console.print(f"\nWhat {report.best} suggests (green: the owner's own word, hidden from the model):")
    for example in report.examples[:6]:
        line = Text(f"  {example.image_id}  ")
        for word, probability in example.suggestions:
            line.append(f"{word} {probability:.0%}  ", style="green" if word in example.true_words else "")
        missed = [word for word in example.true_words if word not in {s.word for s in example.suggestions}]
        line.append(f"(missed: {', '.join(missed)})" if missed else "(all found)", style="dim")
        console.print(line)
    console.print(Text(f"\nPictures: {printable(str(page))}"), soft_wrap=True)


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞"
    return f"{value:.3f}" if value < 2 else f"{value:.1f}"
