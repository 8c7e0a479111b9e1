"""The command `suggest`."""

from typing import Annotated

import typer

from topicture.app.cli.common import (
    CatalogOption,
    JsonOption,
    QuietOption,
    ThresholdOption,
    TopOption,
    WorkersOption,
    find_for,
    finish,
    print_json,
    tell_lines,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(suggest)


def suggest(
    images: Annotated[
        list[str],
        typer.Argument(metavar="IMAGE", help="Picture files, of the collection or from anywhere else."),
    ],
    threshold: ThresholdOption = None,
    top: TopOption = None,
    workers: WorkersOption = 1,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say at once which words the newest model finds in picture files; nothing is stored.

    A photo's own collection is asked, wherever you are; other files are shown to that of the working folder.
    """
    from topicture.app.console.photos import print_suggested
    from topicture.app.console.progress_bars import Stages

    library = find_for(catalog, images)
    with Stages(quiet=quiet or as_json or len(images) == 1) as stages:
        found = library.suggest(images, threshold=threshold, top=top, workers=workers, report=stages)
    unread = [f"{each.path}: {each.reason}" for each in found if each.reason]
    print_json(found) if as_json else print_suggested(found)
    tell_lines("Could not be read", unread, quiet=quiet or as_json)
    finish(unread)
