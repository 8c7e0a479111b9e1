"""Helpers of the tool that its parts no longer share."""

import os
from pathlib import Path

from topicture.app.learning.labelling import Labelled, WordBox
from topicture.app.verbs.sidecar_stamps import sidecar_stamp
from topicture.atomic import write_atomically
from topicture.demo.page import page_of
from topicture.demo.run import DemoReport
from topicture.store import Catalog
from topicture.store.suggestions import LearnedModel

__all__ = ["boxes_of", "current_model", "stamp_of_file", "write_page"]


def boxes_of(labelled: Labelled) -> list[WordBox]:
    """Where the words of a photo are, which is now a part of what `label_photo` gives."""
    return list(labelled.boxes)


def current_model(catalog: Catalog) -> LearnedModel:
    """The newest model; raises NotFitted where nothing was learned yet."""
    return catalog.suggestions.newest()


def stamp_of_file(sidecar: Path) -> str:
    """The stamp of a photo whose only sidecar this is; of one that has none where the file is not there."""
    try:
        status = os.lstat(sidecar)
    except FileNotFoundError:
        return ""
    return sidecar_stamp([(sidecar.name, status.st_size, status.st_mtime_ns)])


def write_page(report: DemoReport, folder: Path) -> Path:
    """Write the report of the demonstration as one self-contained page, index.html."""
    path = folder / "index.html"
    write_atomically(path, page_of(report).encode("utf-8"))
    return path
