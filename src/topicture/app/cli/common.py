"""What the commands share: options, finding the collection, and how a command ends."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from topicture.app.verbs.library import Library
from topicture.app.verbs.plain import as_plain
from topicture.collection.words import printable
from topicture.errors import TopictureError
from topicture.store import CatalogError

__all__ = [
    "CATALOG_VARIABLE",
    "SOMETHING_LEFT",
    "CatalogOption",
    "ClusterOption",
    "ForceOption",
    "JsonOption",
    "QuietOption",
    "ThresholdOption",
    "TlsOption",
    "TopOption",
    "WorkersOption",
    "collection_of",
    "find",
    "find_for",
    "finish",
    "print_json",
    "short_path",
    "tell_lines",
    "typed",
    "working_elsewhere",
]

SOMETHING_LEFT = 1
SHOWN_LINES = 20
CATALOG_VARIABLE = "TOPICTURE_CATALOG"

CatalogOption = Annotated[
    Path | None,
    typer.Option(
        "--catalog",
        "-c",
        envvar=CATALOG_VARIABLE,
        help="Folder of the photos or of the catalog; by default the nearest catalog above this folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Also replace a file that Topicture did not write; never a photo.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress, and only what was asked for.")
]
WorkersOption = Annotated[
    int, typer.Option(min=0, help="Processes that analyse photos; 0 uses only this one.")
]
ThresholdOption = Annotated[
    float | None, typer.Option("--threshold", help="Suggest words of at least this probability (0.25).")
]
TopOption = Annotated[
    int | None, typer.Option("--top", "-k", help="Suggest this many words per photo, however probable.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Let the workers of a cluster do it, such as tcp://127.0.0.1:8786 of 'topicture cluster start'.",
    ),
]
TlsOption = Annotated[
    Path | None,
    typer.Option(
        "--tls",
        metavar="FOLDER",
        envvar="TOPICTURE_TLS",
        help="Certificates of a cluster on other machines: ca.pem, cert.pem, key.pem.",
    ),
]
WORKERS = os.cpu_count() or 1


def find(catalog: Path | None, start: Path | None = None) -> Library:
    """The collection that a command is about; says where it came from, if all of it has moved."""
    return _telling(Library.find(start, catalog))


def find_for(catalog: Path | None, photos: Iterable[str]) -> Library:
    """The same for a command about photos: the collection that the first of them lies in, wherever one is."""
    return _telling(collection_of(catalog, photos))


def collection_of(catalog: Path | None, photos: Iterable[str]) -> Library:
    """The named collection, that of the first photo, or that of the working folder; raises CatalogError."""
    if catalog is None:
        for photo in photos:
            folder = Path(photo).parent
            if folder.is_dir():
                with suppress(CatalogError):
                    return Library.find(folder)
            break
    return Library.find(None, catalog)


def _telling(library: Library) -> Library:
    with suppress(TopictureError):  # what is wrong with a catalog is told by the command itself
        moved_from = library.moved_from()
        if moved_from is not None:
            moved = f"The collection was moved here from {moved_from}."
            print(printable(moved), file=sys.stderr)
    return library


@contextmanager
def working_elsewhere(library: Library, cluster: str | None, tls: Path | None) -> Iterator[None]:
    """Inside, large work goes to the cluster, if one is named: the only commands that then open a network socket."""
    if cluster is None:
        yield
        return
    from topicture.cluster.addresses import hush
    from topicture.cluster.engine import on_cluster

    hush()
    with on_cluster(cluster, library.folder / "cluster", tls):
        yield


def short_path(path: Path) -> str:
    """A path as one would type it from here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def typed(context: typer.Context) -> set[str]:
    """The options and arguments that were typed, rather than set for the collection or left as they are."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def print_json(value: Any) -> None:
    """One JSON document; characters outside ASCII as escapes, so that any terminal or pipe takes it."""
    sys.stdout.write(json.dumps(as_plain(value), allow_nan=False) + "\n")


def tell_lines(title: str, lines: tuple[str, ...] | list[str], *, quiet: bool = False) -> None:
    """Reasons on standard error, one line each; of many the first few."""
    if quiet or not lines:
        return
    print(f"{title}:", file=sys.stderr)
    for line in lines[:SHOWN_LINES]:
        print(f"  {printable(line)}", file=sys.stderr)
    if len(lines) > SHOWN_LINES:
        print(f"  ... and {len(lines) - SHOWN_LINES} more (--json has all)", file=sys.stderr)


def finish(*left: tuple[str, ...] | list[str]) -> None:
    """End a command: with code 1 where something was skipped or is pending."""
    if any(left):
        raise typer.Exit(SOMETHING_LEFT)
