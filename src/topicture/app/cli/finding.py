"""Commands that look: search, similar, regions."""

from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, ForceOption, JsonOption, find, print_json
from topicture.collection.words import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (search, similar, regions):
        app.command()(command)


def search(
    query: Annotated[str, typer.Argument(help='Words, as in: tiger grass -water "golden gate".')],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many photos to show.")] = 20,
    paths: Annotated[
        bool, typer.Option("--paths", help="Print only paths, each followed by a NUL, for xargs -0.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find photos by words, tagged or not; the most probable first."""
    from topicture.app.console.tables import print_hits, print_paths

    hits = find(catalog).search(query, limit)
    if as_json:
        print_json(hits)
    elif paths:
        print_paths([hit.path for hit in hits])
    else:
        print_hits(hits)


def similar(
    image: Annotated[str, typer.Argument(help="A photo of the collection.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many photos to show.")] = 12,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find photos that look like a given one."""
    found = find(catalog).similar(image, limit)
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
    library = find(catalog)
    output = None if out is None else library.picture(out, force=force)
    labelled = library.regions(image, tags=tags)
    if out is not None and output is not None:
        from topicture.app.verbs.drawing import draw_regions

        output.write({out.name: draw_regions(labelled)})
    if as_json:
        print_json(labelled)
        return
    for region in sorted(labelled.regions, key=lambda region: -region.area):
        sure = f"{printable(region.word)}  ({region.probability:.0%})" if region.word else "no word"
        print(f"{region.area:5.0%} of the photo  {sure}")
    if out is not None:
        print(f"Drawn: {printable(str(out))}")
