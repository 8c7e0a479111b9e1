"""Commands about the collection and its catalog: init, scan, relocate, status, backup, check, doctor."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import (
    CatalogOption,
    JsonOption,
    QuietOption,
    find,
    finish,
    print_json,
    short_path,
    tell_lines,
)
from topicture.app.console.terminal import is_terminal
from topicture.app.counting import counted
from topicture.collection.words import printable

__all__ = ["register"]


ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        help="Leave out what matches, from now on ('Export/', '*.png'); may be repeated. '' forgets all patterns.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (init, scan, relocate, status, backup, check, doctor):
        app.command()(command)


def init(
    photos: Annotated[Path, typer.Argument(help="A folder of photos; its subfolders belong to it.")],
    catalog: Annotated[
        Path | None,
        typer.Option("--catalog", "-c", help="Where the catalog goes; PHOTOS/.topicture by default."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            help="Network for deep features: lite0, lite2 (slower, slightly better), or a manifest file, which may "
            "name a text encoder (see docs/vision.md)."
        ),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(help="What to measure on photos; may be repeated (see docs/vision.md)."),
    ] = None,
    exclude: ExcludeOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a catalog of a folder of photos, and scan it."""
    from topicture.app.console.progress_bars import Stages
    from topicture.app.console.tables import print_first_step, print_scan
    from topicture.app.learning.recipes import custom_recipe
    from topicture.app.verbs.library import Library

    library = Library.create(photos, catalog, recipe=custom_recipe(view, network))
    with Stages(quiet=quiet or as_json) as stages:
        result = library.scan(exclude=exclude, report=stages)
    if as_json:
        print_json({"catalog": library.folder, "scan": result})
    elif not quiet:
        print(f"Catalog: {printable(short_path(library.folder))}")
        print_scan(result)
        print_first_step(library.status())
    tell_lines("Skipped", result.skipped, quiet=quiet or as_json)
    finish(result.skipped)


def scan(
    photos: Annotated[
        Path | None, typer.Argument(help="A folder of the collection; the working folder by default.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Remove tags whose keywords are gone from the files, however many there are."
        ),
    ] = False,
    catalog: CatalogOption = None,
    root: Annotated[
        Path | None,
        typer.Option(
            help="Where the photos are now, if the catalog was copied or the photos were moved away from it."
        ),
    ] = None,
    exclude: ExcludeOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Bring the catalog up to date: new, changed, moved and missing photos, and keywords of other programs.

    'topicture undo' takes back what it changed.
    """
    from topicture.app.console.progress_bars import Stages
    from topicture.app.console.tables import print_scan

    library = find(catalog, photos)
    with Stages(quiet=quiet or as_json) as stages:
        result = library.scan(root=root, withdraw_many=yes, exclude=exclude, report=stages)
    if as_json:
        print_json(result)
    elif not quiet:
        print_scan(result)
    tell_lines("Skipped", result.skipped, quiet=quiet or as_json)
    tell_lines("Decided here, changed by another program", result.conflicts, quiet=quiet or as_json)
    tell_lines("Sidecars left behind", result.left_behind, quiet=quiet or as_json)
    if result.withheld and not as_json:
        tell_lines("Tags whose keywords are gone from the files", result.withheld)
        if _may_withdraw(len(result.withheld)):
            withdrawn = library.scan(withdraw_many=True).withdrawn
            print(f"Removed {counted(withdrawn, 'tag')}; 'topicture undo' restores them.")
            finish(result.skipped, result.conflicts)
            return
    finish(result.skipped, result.conflicts, result.withheld)


def relocate(
    photos: Annotated[Path, typer.Argument(help="The folder where the photos are now.")],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the catalog where its photos are now, if they were moved away from it; their tree must be as it was."""
    from topicture.app.verbs.relocating import relocate as turn_to

    moved = turn_to(find(catalog), photos)
    if as_json:
        print_json(moved)
        return
    print(printable(f"{moved.found} of {counted(moved.known, 'photo')} found in {moved.now}."))
    print("'topicture scan' finds what else has changed.")


def _may_withdraw(n: int) -> bool:
    """Ask, where somebody is there to answer."""
    if is_terminal():
        return typer.confirm(f"Remove {counted(n, 'tag')}?", default=False)
    print(
        f"topicture: {counted(n, 'tag')} would be removed, which is a lot: nothing was changed about them. "
        "'topicture scan --yes' removes them.",
        file=sys.stderr,
    )
    return False


def status(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Show where the collection stands: photos, tags, suggestions, and what is still to be written."""
    from topicture.app.console.tables import print_status

    result = find(catalog).status()
    if as_json:
        print_json(result)
    else:
        print_status(result)
        tell_lines("Could not be written (still pending)", result.troubles)
        tell_lines("Could not be read", result.unreadable)
    # What waits to be written is no trouble; what could not be, or contradicts another program, is.
    finish(result.troubles, ["conflict"] * result.conflicts)


def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder for the copy.")],
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy all decisions and models into a new folder, which is a catalog itself (--catalog)."""
    made = find(catalog).backup(folder)
    print_json({"backup": made}) if as_json else print(f"Backup: {printable(str(made))}")


def check(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Check the catalog for damage: database, log of decisions, models, search index."""
    problems = find(catalog).check()
    if as_json:
        print_json({"problems": problems})
    else:
        print("No problems found." if not problems else f"{counted(len(problems), 'problem')}:")
        for problem in problems:
            print(f"  {printable(problem)}")
    finish(problems)


def doctor(as_json: JsonOption = False) -> None:
    """Check that this machine has what Topicture needs, without contacting any other."""
    from topicture.app.verbs.doctor import examine

    findings = examine()
    missing = [finding for finding in findings if not finding.ok]
    needed = [finding.what for finding in missing if finding.needed]
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            mark = "ok" if finding.ok else "MISS" if finding.needed else "-"
            print(f"{mark:4}  {finding.what}: {printable(finding.detail)}")
        if missing and not needed:
            print("All that is needed is here; what has a dash can be added.")
    finish(needed)
