"""The command `watch`."""

from typing import Annotated

import typer

from topicture.app.cli.common import (
    CatalogOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    find,
    finish,
    print_json,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(watch)


def watch(
    every: Annotated[float, typer.Option(min=1.0, help="Seconds between two looks at the folders.")] = 10.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end; for cron and its like.")] = False,
    workers: WorkersOption = 1,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Scan new photos and suggest words for them as they arrive, until interrupted (Ctrl-C).

    With --json, each look that found something is one line.
    """
    from topicture.app.console.progress_bars import Stages
    from topicture.app.console.watching import print_arrived
    from topicture.app.verbs.upkeep.watching import take_in
    from topicture.app.verbs.upkeep.watching import watch as watch_folders

    library = find(catalog)
    with Stages(quiet=quiet or as_json) as stages:
        if once:
            arrived = take_in(library, workers=workers, report=stages)
            print_json(arrived) if as_json else print_arrived(arrived, quiet=quiet)
            finish([arrived.trouble] if arrived.trouble else [], arrived.scan.skipped if arrived.scan else ())
            return
        if not (quiet or as_json):
            stages.say("Watching; Ctrl-C ends it.")
        for arrived in watch_folders(library, every=every, workers=workers, report=stages):
            print_json(arrived) if as_json else print_arrived(arrived, quiet=quiet)
