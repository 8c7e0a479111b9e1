"""A photo as the pages list it."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from topicture.collection.words import printable
from topicture.store import Catalog

__all__ = ["cards"]


def cards(catalog: Catalog, images: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What a tile needs to know of each photo; photos that are gone are left out."""
    return {
        image: {
            "id": image,
            "path": printable(path),
            "name": printable(PurePosixPath(path).name),
            "width": None,
            "height": None,
            "taken": None,
        }
        for image, path in catalog.files.first_paths(dict.fromkeys(images)).items()
    }
