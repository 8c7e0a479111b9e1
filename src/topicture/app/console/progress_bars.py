"""Progress in the terminal: a bar for each stage, with rate and remaining time."""

from datetime import timedelta
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from topicture.collection.words import printable

__all__ = ["Stages"]


class _Remaining(ProgressColumn):
    """Time left at the pace of all that is done; where nothing moves it rises, and does not stand still."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        if task.finished:
            return Text("", style="progress.remaining")
        if not task.total or not task.completed or task.elapsed is None:
            return Text("-:--:--", style="progress.remaining")
        seconds = task.elapsed * (task.total - task.completed) / task.completed
        return Text(str(timedelta(seconds=int(max(seconds, 0)))), style="progress.remaining")


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
            _Remaining(),
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
        name, _, what = stage.partition(": ")  # one bar for all that a stage goes through
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(stage, total=total, rate="")
        task = self._tasks[name]
        speed = None if what else self._progress.tasks[task].speed  # work that is foreseen has no unit
        rate = f"{speed:6.1f}/s" if speed else ""
        self._progress.update(task, description=stage, completed=done, total=total, rate=rate)

    def say(self, line: str) -> None:
        """A line above the bars, terminal or not."""
        self._progress.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
