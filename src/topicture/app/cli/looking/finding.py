"""Commands that look: search, similar, regions."""

from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, ForceOption, JsonOption, find, find_for, print_json
from topicture.app.cli.looking.filters import (
    FolderOption,
    FromOption,
    LimitOption,
    PathsOption,
    ToOption,
    UntaggedOption,
    only,
)
from topicture.collection.words import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (search, similar, regions):
        app.command()(command)


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="As in: tiger OR lion, grass -water, golden gate."),
    ] = None,
    untagged: UntaggedOption = False,
    folder: FolderOption = None,
    first_day: FromOption = None,
    last_day: ToOption = None,
    limit: LimitOption = 20,
    paths: PathsOption = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find photos by words, tagged or not; the most probable first.

    All words are wanted; OR wants one of two, a minus leaves one out, a comma keeps apart what would be one tag.
    """
    from topicture.app.console.tables import print_hits, print_paths

    library = find(catalog)
    among = only(library, untagged=untagged, folder=folder, first_day=first_day, last_day=last_day)
    if not words and among is not None:
        raise typer.BadParameter("what to look for is missing; 'topicture list' lists photos without words")
    page = library.search_page(" ".join(words or ()), limit, only=among)
    if as_json:
        print_json(page)
    elif paths:
        print_paths([hit.path for hit in page.hits])
    else:
        print_hits(page)


def similar(
    image: Annotated[str, typer.Argument(help="A photo of the collection.")],
    limit: LimitOption = 12,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find photos that look like a given one."""
    found = find_for(catalog, [image]).similar(image, limit)
    if as_json:
        print_json(found)
    else:
        for photo in found:
            print(f"{photo.likeness:5.2f}  {printable(photo.path)}")


def regions(
    image: Annotated[str, typer.Argument(help="A photo of the collection.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw the regions into this PNG file.")
    ] = None,
    tags: Annotated[bool, typer.Option(help="Prefer the photo's own tags, where it has some.")] = True,
    force: ForceOption = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which word belongs to which part of a photo, in print or as a picture."""
    from topicture.app.console.photos import print_regions

    library = find_for(catalog, [image])
    output = None if out is None else library.picture(out, force=force)
    labelled = library.regions(image, tags=tags)
    if out is not None and output is not None:
        from topicture.app.verbs.drawing import draw_regions

        output.write({out.name: draw_regions(labelled)})
    if as_json:
        print_json(labelled)
        return
    print_regions(labelled.regions)
    if out is not None:
        print(f"Drawn: {printable(str(out))}")
