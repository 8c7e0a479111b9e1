"""Files and folders of a tree that are not looked at: other programs' caches, and what the owner names.

Patterns are those of `.gitignore`: `*.png`, `/Export/`, `**/drafts`, `!keep.png`; the later one counts. The owner's
stand in the file `.topictureignore` in the folder of photos, and in the catalog (`--exclude`).
"""

import os
from collections.abc import Iterable
from pathlib import Path

from pathspec import GitIgnoreSpec

from topicture.collection.words import printable
from topicture.errors import TopictureError

__all__ = ["CACHES", "FILE_NAME", "Excluded"]

FILE_NAME = ".topictureignore"
LARGEST = 1 << 20  # bytes; a longer list is none

CACHES = (
    *("$RECYCLE.BIN/", "System Volume Information/", "lost+found/", "__MACOSX/"),  # systems
    *("@eaDir/", r"\#recycle/", r"\#snapshot/", "@Recycle/", "@Recently-Snapshot/"),  # network storage
    *("*.lrdata/", "*.lrlibrary/"),  # Lightroom
    *("**/*.cocatalog/Cache/", "**/CaptureOne/Cache/"),  # Capture One
    *(
        "**/*.photoslibrary/resources/",
        "**/*.photoslibrary/private/",
        "**/*.photoslibrary/scopes/",
    ),  # Apple Photos
    *("**/*.photolibrary/Thumbnails/", "**/*.photolibrary/Previews/", "*.migratedphotolibrary/"),  # iPhoto
    *("*.dtrash/", "**/*.aplibrary/Previews/", "**/*.aplibrary/Thumbnails/"),  # digiKam, Aperture
)
"""Folders of other programs that hold copies of photos, not photos. A pattern that begins with `!` brings one back."""


class Excluded:
    """What is excluded by patterns; paths are relative to the folder of photos.

    Raises TopictureError for a pattern that is none.
    """

    def __init__(self, patterns: Iterable[str] = ()):
        own = tuple(patterns)
        self._names_files = bool(own)
        try:
            self._spec = GitIgnoreSpec.from_lines([*CACHES, *own])
        except ValueError as error:
            raise TopictureError(
                f"a pattern to exclude is not understood ({printable(str(error))})"
            ) from None

    @classmethod
    def below(cls, root: str | os.PathLike, patterns: Iterable[str] = ()) -> "Excluded":
        """What is excluded in a folder of photos: by its own list, then by `patterns`."""
        path = Path(root, FILE_NAME)
        try:
            if path.is_symlink() or not path.is_file():
                return cls(patterns)
            if path.stat().st_size > LARGEST:
                raise TopictureError(f"{FILE_NAME}: too long for a list of patterns; shorten it")
            lines = path.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise TopictureError(f"{FILE_NAME}: can't be read ({error}); make it UTF-8 text") from None
        return cls((*lines, *patterns))

    def folder(self, path: str) -> bool:
        """Whether a folder, and all in it, is left out; `path` ends in a slash."""
        return self._spec.match_file(path)

    def file(self, path: str) -> bool:
        return self._names_files and self._spec.match_file(path)
