"""A photo as the pages list it."""

from collections.abc import Iterable
from typing import Any

from topicture.app.verbs.browsing.listing import listed
from topicture.app.verbs.plain import as_plain
from topicture.store import Catalog

__all__ = ["cards"]


def cards(catalog: Catalog, images: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What a tile needs to know of each photo; photos that are gone are left out."""
    return {photo.id: as_plain(photo) for photo in listed(catalog, list(dict.fromkeys(images)))}
