"""The command `list`."""

from dataclasses import replace
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, find, print_json
from topicture.app.cli.looking.filters import (
    FolderOption,
    FromOption,
    LimitOption,
    PathsOption,
    ToOption,
    UntaggedOption,
    only,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_photos)


def list_photos(
    untagged: UntaggedOption = False,
    of_tag: Annotated[
        str | None,
        typer.Option("--tag", "-t", help="Only photos with this tag, or one below it in the tree."),
    ] = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="Only photos with suggestions that wait for an answer.")
    ] = False,
    folder: FolderOption = None,
    first_day: FromOption = None,
    last_day: ToOption = None,
    order: Annotated[
        str, typer.Option("--order", help="path, taken (by the camera, or when written), or added.")
    ] = "path",
    reverse: Annotated[bool, typer.Option("--reverse", help="The last first.")] = False,
    limit: LimitOption = 50,
    everything: Annotated[bool, typer.Option("--all", help="Show all of them, however many.")] = False,
    paths: PathsOption = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """List photos: all, those without a tag, with one, of a folder or of some days."""
    from topicture.app.console.photos import print_photos
    from topicture.app.console.tables import print_paths
    from topicture.app.verbs.browsing.listing import MOST_PHOTOS

    library = find(catalog)
    wanted = only(
        library,
        untagged=untagged,
        folder=folder,
        first_day=first_day,
        last_day=last_day,
        word=of_tag,
        suggested=suggested,
    )
    page = library.photos(wanted, order, descending=reverse, limit=min(limit, MOST_PHOTOS))
    while len(page.photos) < page.total and (everything or len(page.photos) < limit):
        rest = MOST_PHOTOS if everything else min(limit - len(page.photos), MOST_PHOTOS)
        more = library.photos(wanted, order, descending=reverse, offset=len(page.photos), limit=rest)
        if not more.photos:  # the catalog has changed meanwhile
            break
        page = replace(page, photos=(*page.photos, *more.photos))
    if as_json:
        print_json(page)
    elif paths:
        print_paths(library.exact_paths([photo.id for photo in page.photos]))
    else:
        print_photos(page)
