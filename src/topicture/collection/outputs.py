"""One guard for all that is written where the user says: never onto a photo, never over a file of someone else's.

A file counts as Topicture's where it is, to the byte, what Topicture wrote there last: what a person has changed since
is theirs. The hashes of what was written are kept in the user's cache, by folder and without names; where they are
lost, a file counts as someone else's.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath

from topicture.atomic import make_folder, remove_leftovers, sync_folder, write_atomically
from topicture.atomic.files import mode_for, put_in_place
from topicture.atomic.leftovers import work_folder
from topicture.collection.precious import is_precious_name, looks_like_a_picture
from topicture.collection.words import printable
from topicture.errors import TopictureError
from topicture.user_cache import user_cache_folder

__all__ = ["LONGEST_NAME", "OutputError", "Outputs"]

LONGEST_NAME = 255  # bytes, on all common file systems


class OutputError(TopictureError, OSError):
    """A file that is not written: it is a photo, someone else's, or there is no room."""


class Outputs:
    """Files to be written into a folder, by names relative to it.

    Parameters
    ----------
    folder : where the files go; it is made where it is missing
    force : also over files that Topicture did not write; never over a photo
    pictures : the files are pictures themselves (.png), so a new one may be named like a photo
    never : why a path must not be written whatever the user says, if so; given paths whose folder is free of links
    """

    def __init__(
        self,
        folder: Path,
        *,
        force: bool = False,
        pictures: bool = False,
        never: Callable[[Path], str | None] = lambda path: None,
    ):
        self.folder = folder.absolute()
        self._force, self._pictures, self._never = force, pictures, never

    def check(self, names: Iterable[str]) -> None:
        """Raise OutputError where one of the files must not be written: before hours of work, and before the first."""
        written = self._written()
        for name in names:
            self._check(name, written)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write all files, durably: every one is checked and every content on disk before the first takes its place.

        Raises OutputError; where it is for want of room, nothing was written.
        """
        written = self._written()
        hashes = {name: self._check(name, written) for name in files}
        is_new = not self.folder.exists()
        folders = {self.folder, *((self.folder / name).parent for name in files)}
        done = 0
        try:
            make_folder(self.folder)
            for folder in folders:
                remove_leftovers(folder)
            with work_folder(self.folder) as work:
                prepared = [_prepared(work / str(n), content) for n, content in enumerate(files.values())]
                self._remember(written, hashes, files)
                for temporary, name in zip(prepared, files, strict=True):
                    path = self.folder / name
                    make_folder(path.parent)
                    temporary.chmod(mode_for(path))
                    put_in_place(temporary, path, partial(self._check, name, written))
                    done += 1
                for folder in folders:
                    sync_folder(folder)
        except OutputError:
            raise
        except OSError as error:
            if is_new:
                with suppress(OSError):  # it is not empty
                    self.folder.rmdir()
            extent = f"{done} of {len(files)} files were written" if done else "nothing was written"
            where = self.folder / next(iter(files)) if len(files) == 1 else self.folder
            raise OutputError(
                f"{printable(str(where))}: can't be written ({error.strerror or error}); {extent}"
            ) from None

    # --- May it be written? --------------------------------------------------------------------------------

    def _check(self, name: str, written: Mapping[str, list[str]]) -> str | None:
        """The hash of the file of ours that is there, if one is; raises OutputError where it must not be written."""
        path, shown = self.folder / name, printable(str(self.folder / name))
        parts = PurePath(name).parts
        if not parts or PurePath(name).is_absolute() or ".." in parts:
            raise OutputError(f"{shown}: leads out of the folder that is to be written")
        if max(len(os.fsencode(part)) for part in parts) > LONGEST_NAME:
            raise OutputError(f"{shown}: a name longer than the {LONGEST_NAME} bytes that file systems take")
        for depth in range(1, len(parts)):
            if self.folder.joinpath(*parts[:depth]).is_symlink():
                raise OutputError(f"{shown}: a link lies on the way; links are not followed")
        real = path.parent.resolve() / path.name
        if ".topicture" in real.parts:
            raise OutputError(f"{shown}: belongs to a catalog; choose another folder")
        if (reason := self._never(real)) is not None:
            raise OutputError(f"{shown}: {reason}; choose another name")
        is_picture_name = self._pictures and path.suffix.lower() == ".png"
        if self._pictures and not is_picture_name:
            raise OutputError(f"{shown}: pictures are written as PNG; choose a name that ends in .png")
        if is_precious_name(path.name) and not is_picture_name:
            raise OutputError(f"{shown}: named like a photo, video or sidecar; choose another name")
        return self._check_existing(path, shown, written.get(_key(name), []))

    def _check_existing(self, path: Path, shown: str, known: list[str]) -> str | None:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise OutputError(
                f"{shown}: a file stands where a folder must be; choose another folder"
            ) from None
        except OSError as error:
            raise OutputError(f"{shown}: can't be looked at ({error.strerror})") from None
        if not stat.S_ISREG(mode):
            kind = (
                "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device or pipe"
            )
            raise OutputError(f"{shown}: {kind}, not a file; choose another name")
        try:
            with open(path, "rb") as file:
                start = file.read(32)
                file.seek(0)
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:  # not even readable: certainly not ours
            start, found = b"", ""
        if found in known:
            return found
        if is_precious_name(path.name) or looks_like_a_picture(start):
            raise OutputError(f"{shown}: a photo or video; those are never replaced, choose another name")
        if not self._force:
            raise OutputError(
                f"{shown}: exists and is not as Topicture wrote it; choose another name, or --force to replace it"
            )
        return None

    # --- What was written ------------------------------------------------------------------------------------

    def _record(self) -> Path:
        return user_cache_folder() / "outputs" / f"{_key(os.fspath(self.folder.resolve()))}.json"

    def _written(self) -> dict[str, list[str]]:
        """Hash of a name -> hashes of what was written there: the last, and the one before."""
        try:
            record = json.loads(self._record().read_bytes())
            return {str(name): [str(found) for found in hashes] for name, hashes in record.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _remember(
        self, written: dict[str, list[str]], there: Mapping[str, str | None], files: Mapping[str, bytes]
    ) -> None:
        """Before the files change, so that one that a crash leaves old or new is known either way."""
        for name, content in files.items():
            hashes = {there[name], hashlib.sha256(content).hexdigest()} - {None}
            written[_key(name)] = sorted(filter(None, hashes))
        with suppress(OSError):  # no cache: next time the files count as someone else's
            write_atomically(self._record(), json.dumps(written).encode())


def _key(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:32]


def _prepared(path: Path, content: bytes) -> Path:
    """A file whose content is on disk."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return path
