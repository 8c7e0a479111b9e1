"""The rendered sample collection: its photos alone, or ready to be opened in the page, which then learns it."""

import re
from pathlib import Path

from topicture.app.progress import Report, silent
from topicture.app.verbs.library import Library
from topicture.app.web.site import bring_up_to_date
from topicture.demo.scenes.write import write_collection
from topicture.errors import TopictureError
from topicture.store.catalog import FOLDER_NAME

__all__ = ["sample_library", "write_sample"]

TAGGED = 0.5
_OURS = re.compile(r"scene-\d+\.jpg|captions\.csv")


def sample_library(
    folder: Path, images: int, *, seed: int = 0, workers: int = 1, report: Report = silent
) -> Library:
    """A collection of which half is tagged, rendered and scanned; what was done before is kept.

    Raises TopictureError where the folder holds anything else.
    """
    catalog = folder / FOLDER_NAME
    if not (catalog / "catalog.sqlite").exists():
        write_sample(folder, images, seed=seed, workers=workers, width=512, report=report)
        Library.create(folder)
    library = Library(catalog)
    bring_up_to_date(library)
    if library.status().scanned is None:
        library.scan(report=report)
    return library


def write_sample(
    folder: Path, images: int, *, seed: int = 0, workers: int = 1, width: int = 256, report: Report = silent
) -> int:
    """Render photos, half of them with keywords; how many.

    Raises TopictureError where the folder holds anything else.
    """
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in names if not _OURS.fullmatch(name)]
    if foreign:
        raise TopictureError(f"{folder}: holds other files ({foreign[0]!r}); choose an empty or a new folder")
    report("Rendering photos", 0, None)
    height = width * 3 // 4
    return len(
        write_collection(folder, images, seed, width=width, height=height, workers=workers, captioned=TAGGED)
    )
