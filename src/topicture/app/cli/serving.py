"""`topicture serve`, and the sample collection."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, find, print_json
from topicture.app.counting import counted
from topicture.collection.words import printable
from topicture.errors import TopictureError
from topicture.store import CatalogError

__all__ = ["register", "serve", "serve_sample", "write_sample_photos"]


def serve(
    photos: Annotated[Path | None, typer.Argument(help="A folder of photos to begin with.")] = None,
    catalog: CatalogOption = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on (8237, or the next that is free); 0 takes any.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that other machines reach needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            help="A password of your own in place of a new token for each start.", envvar="TOPICTURE_TOKEN"
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Open the collection in the browser."""
    from topicture.app.web.server import serve as serve_page
    from topicture.app.web.server import tell
    from topicture.app.web.site import Site, bring_up_to_date

    if photos is not None and not photos.is_dir():
        raise TopictureError(f"{photos}: not a folder of photos")
    try:
        library = find(catalog, photos)
    except CatalogError:
        if catalog is not None:
            raise
        library = None  # the page leads from a folder to its first suggestions
    if library is not None:
        bring_up_to_date(library)
    serve_page(
        Site(None if photos is None else photos.resolve(), library),
        port,
        host=host,
        token=token,
        open_browser=browser,
        tell=_tell_as_json if as_json else tell,
    )


def serve_sample(
    folder: Path,
    images: int,
    seed: int,
    workers: int,
    *,
    as_json: bool = False,
    quiet: bool = False,
    browser: bool = True,
) -> None:
    """The sample collection in the browser; made first, where it is not there yet."""
    from topicture.app.console.progress_bars import Stages
    from topicture.app.web.sample import sample_library
    from topicture.app.web.server import serve as serve_page
    from topicture.app.web.server import tell
    from topicture.app.web.site import Site

    with Stages(quiet=quiet or as_json) as stages:
        library = sample_library(folder, images, seed=seed, workers=workers, report=stages)
    told = _tell_as_json if as_json else tell
    serve_page(Site(folder.resolve(), library), open_browser=browser, learn_at_once=True, tell=told)


def _tell_as_json(address: str) -> None:
    print_json({"address": address, "pid": os.getpid()})
    sys.stdout.flush()  # who waits for the address may read from a pipe


def write_sample_photos(
    folder: Path, images: int, seed: int, workers: int, *, as_json: bool = False, quiet: bool = False
) -> None:
    """The photos of a sample collection and nothing else, as if they were somebody's."""
    from topicture.app.console.progress_bars import Stages
    from topicture.app.web.sample import write_sample

    with Stages(quiet=quiet or as_json) as stages:
        written = write_sample(folder, images, seed=seed, workers=workers, report=stages)
    print_json({"folder": str(folder), "photos": written}) if as_json else print(
        f"Rendered {counted(written, 'photo')} into {printable(str(folder))}; about half of them are tagged."
    )


def register(app: typer.Typer) -> None:
    app.command()(serve)
