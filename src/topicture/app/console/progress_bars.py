"""Progress in the terminal: a bar for each stage, with rate and remaining time."""

from typing import Any, Self

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

from topicture.collection.words import printable

__all__ = ["Stages"]


class Stages:
    """Progress bars, one per stage, on standard error; nothing where that is not a terminal."""

    def __init__(self, *, quiet: bool = False):
        console = Console(stderr=True, quiet=quiet)
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

    def say(self, line: str) -> None:
        """A line above the bars, terminal or not."""
        self._progress.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
