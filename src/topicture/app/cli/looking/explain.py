"""The command `explain`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import (
    WORKERS,
    CatalogOption,
    ForceOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    find,
    finish,
    print_json,
    short_path,
    tell_lines,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def explain(
    model: Annotated[
        str | None,
        typer.Argument(
            help="Number or name of a learned model, or the folder of a saved one; by default the newest."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the page; by default one inside the catalog.")
    ] = None,
    curves: Annotated[
        bool,
        typer.Option("--curves", help="Also what more tagged photos or topics would bring; takes minutes."),
    ] = False,
    minutes: Annotated[float, typer.Option(min=0.1, help="Time limit for --curves.")] = 10.0,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="A word counts as suggested from this probability on (0.25)."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    force: ForceOption = False,
    workers: WorkersOption = WORKERS,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a page that shows what a model has learned and how far it can be trusted, in pictures."""
    from topicture.app.console.explain import print_explanation
    from topicture.app.console.progress_bars import Stages

    library = find(catalog)
    with Stages(quiet=quiet or as_json) as stages:
        explanation = library.explain(
            model,
            out,
            threshold=threshold,
            curve_minutes=minutes if curves else None,
            force=force,
            workers=workers,
            report=stages,
        )
    if as_json:
        print_json(explanation)
    elif not quiet:
        print_explanation(explanation, short_path(Path(explanation.page)))
    if open_page:
        webbrowser.open(Path(explanation.page).as_uri())
    tell_lines("Skipped", explanation.skipped, quiet=quiet or as_json)
    finish(explanation.skipped)
