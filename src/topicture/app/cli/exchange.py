"""Commands that put tags where other programs find them, and take theirs: write, export, import."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicture.app.cli.common import (
    CatalogOption,
    ForceOption,
    JsonOption,
    QuietOption,
    find,
    finish,
    print_json,
    tell_lines,
)
from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.verbs.writing import PlannedWrite

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(write)
    app.command()(export)
    app.command("import")(import_)


def write(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")] = False,
    regions: Annotated[
        bool | None,
        typer.Option(
            "--regions/--no-regions",
            help="Which part of the photo a word belongs to; by default only from a model that has proved itself.",
            show_default=False,
        ),
    ] = None,
    certainty: Annotated[
        float, typer.Option(min=0, max=1, help="Write no region that is less certain.")
    ] = 0.7,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write accepted tags into XMP sidecars beside the photos. The photos themselves are never touched."""
    from topicture.app.console.progress_bars import Stages

    library = find(catalog)
    with Stages(quiet=quiet or as_json) as stages:
        result = library.write(dry_run=dry_run, regions=regions, certainty=certainty, report=stages)
    if as_json:
        print_json(result)
    elif not quiet:
        if dry_run:
            for change in result.changes:
                print(f"{printable(change.sidecar)}  {_told(change)}")
        print(
            f"{'Would write' if dry_run else 'Wrote'} {counted(result.written, 'sidecar')}"
            + (f", {result.unchanged} already up to date" if result.unchanged else "")
            + (f", {len(result.pending)} still pending" if result.pending else "")
            + "."
        )
    tell_lines("Pending", result.pending, quiet=quiet or as_json)
    tell_lines("Without regions", result.without_regions, quiet=quiet or as_json)
    finish(result.pending)


def _told(change: "PlannedWrite") -> str:
    """What a sidecar gains and loses, in one line."""
    words = [f"+{printable(word)}" for word in change.added]
    words += [f"-{printable(word)}" for word in change.removed]
    words += [f"{printable(word)} (no longer marked as the machine's)" for word in change.confirmed]
    words += [f"{printable(word)} (marked as the machine's)" for word in change.unconfirmed]
    return " ".join(words) or "(the same words; their regions, places in the tree of tags or probabilities)"


FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="coco, labelme, voc, cvat, csv-long, csv-wide, jsonl, arff; by default as the name says.",
    ),
]


def export(
    path: Annotated[Path, typer.Argument(help="The file (or folder, for labelme and voc) to write.")],
    format: FormatOption = None,
    suggestions: Annotated[
        float | None,
        typer.Option(
            help="Also undecided suggestions of at least this probability, with it (csv-long, jsonl, coco)."
        ),
    ] = None,
    force: ForceOption = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the tags of all photos to a file that other tools read."""
    result = find(catalog).export(path, format, suggestions=suggestions, force=force)
    print_json(result) if as_json else print(
        f"Exported {counted(result.tags, 'tag')}"
        + (f" and {counted(result.suggestions, 'suggestion')}" if result.suggestions else "")
        + f" of {counted(result.photos, 'photo')}: {printable(result.path)}"
    )
    tell_lines("Left out", result.refused, quiet=as_json)
    finish(result.refused)


def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="The file (or folder, for labelme and voc) to read; photos are known by their path."
        ),
    ],
    format: FormatOption = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take over the tags in a file of another tool, as decisions of yours."""
    result = find(catalog).import_tags(path, format)
    if as_json:
        print_json(result)
    else:
        print(f"{counted(result.decisions, 'new tag')} for {counted(result.photos, 'photo')}.")
        if result.boxes:
            boxes = counted(result.boxes, "box", "boxes")
            print(f"{boxes} kept: the next 'topicture learn' sets the regions of models against them.")
        if result.boxes_left_out:
            boxes = counted(result.boxes_left_out, "box", "boxes")
            print(f"Of {boxes} only the words were taken: they were drawn on a picture of another shape.")
        if result.suggestions_left_out:
            print(
                f"{counted(result.suggestions_left_out, 'suggestion')} in the file were not taken for tags."
            )
    tell_lines("Refused", result.refused, quiet=as_json)
    finish(result.refused)
