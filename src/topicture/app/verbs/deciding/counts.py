"""How many suggestions are open, tag by tag."""

from pathlib import Path
from typing import Any

from topicture.store import Catalog
from topicture.store.suggestions import OpenOfWord

__all__ = ["open_tags"]

# By catalog: the scan that it is of, and the photos that were gone then. Finding them reads the list of all files.
_gone: dict[Path, tuple[Any, list[int]]] = {}


def open_tags(catalog: Catalog, word: str | None = None) -> list[OpenOfWord]:
    """The open suggestions of the newest model, of each word or of one; where one stroke settles most, first."""
    models = catalog.suggestions.models()
    if not models:
        return []
    scan = catalog.get("id"), catalog.get("scanned")
    known = _gone.get(catalog.folder)
    if known is None or known[0] != scan:  # only a scan finds out that a file is gone
        known = _gone[catalog.folder] = scan, catalog.files.gone_images()
    return catalog.suggestions.open_by_word(models[0].id, word, gone=known[1])
