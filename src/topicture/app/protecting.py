"""What no output of a command may ever replace: the photos of the catalog, and the catalog itself."""

from collections.abc import Callable
from pathlib import Path

from topicture.collection.outputs import Outputs
from topicture.store import Catalog

__all__ = ["never_written", "picture_output"]


def never_written(catalog: Catalog) -> Callable[[Path], str | None]:
    """Why a path must not be written, if so; for `Outputs`. It can be asked after the catalog was closed."""
    folder, root = catalog.folder.resolve(), catalog.root.resolve()
    photos = {root / path for path in catalog.files.known()}

    def reason(path: Path) -> str | None:
        if path in photos:
            return "a photo of the catalog"
        return "a file of the catalog" if path.is_relative_to(folder) else None

    return reason


def picture_output(catalog: Catalog, path: Path, *, force: bool) -> Outputs:
    """The output of a PNG file; raises OutputError where it must not be written."""
    output = Outputs(path.parent, force=force, pictures=True, never=never_written(catalog))
    output.check([path.name])
    return output
