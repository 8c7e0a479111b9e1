"""Photos as people name them: by a path, from here or from the root, or by the beginning of their content's hash."""

import os
from collections.abc import Iterable
from pathlib import Path

from topicture.collection.words import clean_word
from topicture.errors import DataNotFound
from topicture.store import Catalog
from topicture.store.decisions.conflicts import Conflict

__all__ = ["AnyPath", "file_of_photo", "find_folder", "find_photo", "open_conflicts"]

AnyPath = str | os.PathLike
FEWEST_DIGITS = 8


def find_photo(catalog: Catalog, name: AnyPath) -> int:
    """The id of a photo; raises DataNotFound."""
    name, root = os.fspath(name), catalog.root
    for candidate in (Path(name), root / name):
        # The folder is resolved, not the file: a link is not followed to a photo elsewhere.
        absolute = candidate.parent.resolve() / candidate.name
        if absolute.is_relative_to(root):
            file = catalog.files.at(absolute.relative_to(root).as_posix())
            if file is not None:
                return file.image
    digits = name.lower()
    if len(digits) >= FEWEST_DIGITS and set(digits) <= set("0123456789abcdef"):
        found = catalog.files.by_content(digits)
        if len(found) == 1:
            return found[0]
    raise DataNotFound(f"{name}: not a photo of the catalog at {root}; run 'topicture scan' if it is new")


def find_folder(catalog: Catalog, name: AnyPath) -> str | None:
    """A folder of the collection, from here or from the root, relative to that; None for the root itself."""
    root = catalog.root
    for candidate in (Path(name).absolute(), root / name):
        folder = candidate.resolve()
        if folder.is_relative_to(root) and (folder.is_dir() or candidate == root / name):
            inside = folder.relative_to(root).as_posix()
            if inside == ".":
                return None
            if folder.is_dir() or catalog.files.any_in(inside):  # a folder may be gone, and its photos known
                return inside
    raise DataNotFound(f"{os.fspath(name)}: not a folder of the collection at {root}")


def file_of_photo(catalog: Catalog, image: int) -> Path:
    """A file of a photo; raises DataNotFound where it is gone."""
    paths = catalog.files.paths_of(image)
    if not paths:
        raise DataNotFound(f"photo {image}: its file is gone; bring it back and run 'topicture scan'")
    return catalog.file_of(paths[0])


def open_conflicts(catalog: Catalog, names: Iterable[AnyPath], tag: str | None) -> list[Conflict]:
    """The conflicts of some photos (all where none is named), of one word or of any."""
    images = {find_photo(catalog, name) for name in names}
    word = None if tag is None else clean_word(tag)
    return [
        conflict
        for conflict in catalog.decisions.conflicts.open()
        if (not images or conflict.image in images) and word in (None, conflict.word)
    ]
