"""`topicture serve`."""

from pathlib import Path
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, find

__all__ = ["register", "serve"]


def serve(
    photos: Annotated[Path | None, typer.Argument(help="A folder of photos to begin with.")] = None,
    catalog: CatalogOption = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8237,
) -> None:
    """Open the collection in the browser."""
    from topicture.app.web.server import serve as serve_page
    from topicture.app.web.site import Site

    serve_page(Site(photos, find(catalog, photos)), port)


def register(app: typer.Typer) -> None:
    app.command()(serve)
