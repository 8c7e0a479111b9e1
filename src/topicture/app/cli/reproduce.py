"""The command `reproduce`."""

import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from topicture.app.cli.common import ForceOption, JsonOption, QuietOption, print_json
from topicture.collection.words import printable
from topicture.errors import DataNotFound

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    papers: Annotated[
        list[str],
        typer.Argument(
            help="blei2003, liu2005, shao2009, shao2010, yang2010, auto, missing, regions; or all."
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(envvar="TOPICTURE_DATA", help="Folder of the benchmark sets.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the reports.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Fewer topics, folds and random starts.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = os.cpu_count() or 1,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps what was measured on the pictures.")
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="File of the summary; by default results.md in the folder of the reports."),
    ] = None,
    redo: Annotated[bool, typer.Option(help="Measure again what was measured before.")] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the papers' experiments on real data, and write a report for each: the published claims beside our figures.

    An interrupted run continues where it stopped.
    """
    from topicture.app.console.progress_bars import Stages

    experiments = _experiments()
    options = experiments.Options(
        out,
        data=None if data is None else str(data),
        cache=None if cache is None else str(cache),
        quick=quick,
        jobs=jobs,
        redo=redo,
    )
    with Stages(quiet=quiet) as stages:

        def told_of(report: str) -> Callable[[str, int, int], None]:
            def tell(line: str, done: int, total: int) -> None:
                stages(report, done, total or None)
                stages.say(f"{report}: {line}")

            return tell

        done = experiments.reproduce(papers, options, told_of, summary, force=force)
    if as_json:
        print_json(done)
    else:
        for report in done:
            print(printable(str(report.html)))
        print(printable(str(summary or out / "results.md")))


def _experiments() -> Any:
    """The package of the experiments, which owners of photos need not have."""
    for found in entry_points(group="topicture.experiments", name="reproduce"):
        return found.load()
    raise DataNotFound(
        "the papers' experiments are a package of their own: install 'topicture[papers]', or 'make install' in a clone"
    )
