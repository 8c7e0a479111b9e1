"""The catalog of one collection: a folder with a database, what was measured, what was learned, and a search index.

catalog.sqlite   images, files, decisions, suggestions (see `migrations`)
cache/           measurements of the pictures, which can be made again
models/          one folder per model
index/           one folder per search index; the database says which one counts
lock             held by the process that writes
"""

import json
import math
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from topicture.atomic import make_folder, new_folder
from topicture.errors import TopictureError
from topicture.moved import renamed
from topicture.store.database import CatalogError, Database, in_plain_words, open_database
from topicture.store.decisions.decisions import Decisions
from topicture.store.decisions.file_words import FileWords
from topicture.store.files import Files
from topicture.store.questions import Questions
from topicture.store.regions import Regions
from topicture.store.safety.damage import damaged_rows
from topicture.store.safety.lock import WriterLock
from topicture.store.safety.own_files import (
    bears_mark,
    is_plain_name,
    mark,
    refuse_links,
    refuse_others_files,
)
from topicture.store.safety.roots import file_inside, settle
from topicture.store.shards import FeatureShards, read_image_numbers
from topicture.store.sidecar_record import SidecarRecord
from topicture.store.suggestions import LearnedModel, Suggestions
from topicture.store.tree import Tree
from topicture.store.words import Words

__all__ = ["FOLDER_NAME", "Catalog"]

FOLDER_NAME = ".topicture"


class Catalog:
    """An open catalog; a context manager. `create` makes one, `open` opens it to read or to write.

    Attributes
    ----------
    folder : where it lies
    root : the folder of photos
    moved_from : where the whole collection was when the catalog was last written, if that was elsewhere
    files, decisions, file_words, suggestions, words, tree, regions, questions, sidecar_record : its parts
    """

    def __init__(self, folder: Path, database: Database, lock: WriterLock | None):
        self.folder = folder
        self.database = database
        self.moved_from: Path | None = None
        self._lock = lock
        self.files = Files(database)
        self.decisions = Decisions(database)
        self.file_words = FileWords(database, self.decisions)
        self.suggestions = Suggestions(database)
        self.words = Words(database, self.decisions)
        self.tree = Tree(database, self.decisions)
        self.regions = Regions(database)
        self.questions = Questions(database)
        self.sidecar_record = SidecarRecord(database)

    @property
    def places(self) -> Files:
        """The earlier name of `files`."""
        return renamed(self, "places", "files")

    @property
    def writes(self) -> SidecarRecord:
        """The earlier name of `sidecar_record`."""
        return renamed(self, "writes", "sidecar_record")

    # --- Opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, root: Path, folder: Path | None = None, settings: dict[str, Any] | None = None) -> Self:
        """A new catalog of the photos under `root`, in `folder` or in root/.topicture; opened to write.

        Raises
        ------
        CatalogError
            `root` is not a folder, there is a catalog already, or its folder can't be written.
        """
        root = _folder_of_photos(root)
        folder = root / FOLDER_NAME if folder is None else folder
        refuse_links(folder)
        folder = folder.resolve()
        try:
            refuse_others_files(folder)
            make_folder(folder)
            lock = WriterLock(folder / "lock").acquire("init")
        except OSError as error:
            raise CatalogError(
                f"{folder}: can't be written ({error.strerror}); choose another folder with --catalog"
            ) from None
        try:
            catalog = cls(folder, open_database(folder / "catalog.sqlite", write=True, create=True), lock)
            if catalog.get("created") is not None:  # one that was killed before it came to this is made again
                raise CatalogError(
                    f"{folder}: there is a catalog already; bring it up to date with 'topicture scan'"
                )
            with catalog.database.transaction():
                catalog.set("id", uuid.uuid4().hex)
                catalog._set_root(root)
                for key, value in (settings or {}).items():
                    catalog.set(key, value)
                catalog.set("created", time.time())
        except BaseException:
            lock.release()
            raise
        return catalog

    @classmethod
    def open(cls, folder: Path, *, write: bool = False, command: str = "", root: Path | None = None) -> Self:
        """Open an existing catalog; one process at a time may hold it open to write.

        `root` says where the photos are now, for a catalog that was copied or that they moved away from; needs `write`.

        Raises
        ------
        CatalogError, CatalogBusy
        """
        refuse_links(folder)
        folder = folder.resolve()
        path = folder / "catalog.sqlite"
        lock = None
        if write:
            if not path.exists():
                raise CatalogError(f"{folder}: no catalog here; make one with 'topicture init PHOTOS'")
            try:
                lock = WriterLock(folder / "lock").acquire(command)
            except OSError as error:
                raise CatalogError(
                    f"{folder}: can't be written ({error.strerror}); copy the catalog elsewhere, use --catalog"
                ) from None
        catalog = None
        try:
            catalog = cls(folder, open_database(path, write=write), lock)
            if catalog.get("created") is None:
                raise CatalogError(f"{folder}: the catalog was never finished; run 'topicture init' again")
            catalog._settle(write, root)
        except BaseException:
            if catalog is not None:
                catalog.database.close()
            if lock is not None:
                lock.release()
            raise
        return catalog

    def _settle(self, write: bool, root: Path | None) -> None:
        """Find out where the photos are, and note it if they have moved."""
        stored, home, own_id = (self._text(key) for key in ("root", "home", "id"))
        if root is None and stored:
            self.root = Path(stored)
        elif root is None:
            self.moved_from = settle(self.folder, home, own_id, self.files)
            self.root = self.folder.parent
        if not write:
            return
        with self.database.transaction():
            if own_id is None:
                self.set("id", uuid.uuid4().hex)
            if root is not None:
                self._set_root(_folder_of_photos(root))
            elif not stored and home != str(self.root):
                self._set_root(self.root)

    def _set_root(self, root: Path) -> None:
        inside = self.folder == root / FOLDER_NAME
        self.set("root", "" if inside else str(root))
        self.set("home", str(root) if inside else None)
        self.root = root

    def close(self) -> None:
        self.database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, Exception) and not isinstance(error, TopictureError | OSError):
                self._explain(error)
        finally:
            self.close()

    def _explain(self, error: Exception) -> None:
        """Say that the database is damaged where that is why something failed that relies on its rows."""
        with in_plain_words(self.database.path):
            if isinstance(error, sqlite3.DatabaseError):
                raise error
            damage = damaged_rows(self.database)
        if damage:
            raise CatalogError(
                f"{self.database.path}: damaged ({damage[0]}); restore a backup, or see 'topicture check'"
            ) from error

    @contextmanager
    def others_may_write(self, command: str) -> Iterator[None]:
        """Let go of the lock for long work that only reads; afterwards it is waited for, however long that takes.

        Whatever was read before may have changed by then. Where the work fails, the lock stays free.
        """
        held = self._lock
        if held is not None:
            held.release()
        yield
        if held is not None:
            held.acquire(command, patience=math.inf)

    # --- Settings and folders ------------------------------------------------------------------------------

    def get(self, key: str) -> Any:
        """A setting; None where it was never set."""
        row = self.database.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else json.loads(row[0])
        except (TypeError, ValueError, RecursionError):
            raise CatalogError(
                f"{self.database.path}: damaged (setting {key!r}); restore a backup, or see 'topicture check'"
            ) from None

    def _text(self, key: str) -> str | None:
        value = self.get(key)
        if value is not None and not isinstance(value, str):
            raise CatalogError(
                f"{self.database.path}: damaged (setting {key!r}); restore a backup of the catalog"
            )
        return value

    def set(self, key: str, value: Any) -> None:
        self.database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))

    def file_of(self, path: str) -> Path:
        """The file of a path in the catalog, for whoever writes beside it.

        Raises CatalogError where it lies, or a link leads, outside the collection.
        """
        return file_inside(self.root, path)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def model_folder(self, model: LearnedModel) -> Path:
        return self._folder("models", model.folder)

    def index_folder(self) -> Path | None:
        """The current search index, if there is one."""
        name = self.get("index")
        return None if name is None else self._folder("index", name)

    def _folder(self, kind: str, name: object) -> Path:
        if not is_plain_name(name):
            raise CatalogError(
                f"{self.database.path}: damaged or tampered with ({name!r} is not a folder of '{kind}'); "
                "restore a backup of the catalog"
            )
        return self.folder / kind / str(name)

    def features(self) -> FeatureShards | None:
        """What the photos of the index look like, one row per photo, memory-mapped; None where not measured."""
        folder = self.index_folder()
        if folder is None or not (folder / "features").exists():
            return None
        rows = FeatureShards(folder / "features")
        rows.check_length(len(self.index_images()))
        return rows

    def index_images(self) -> np.ndarray:
        """The images of the search index, ascending; raises ShardError where their list is damaged."""
        folder = self.index_folder()
        return np.zeros(0, np.int64) if folder is None else read_image_numbers(folder / "images.npy")

    @contextmanager
    def new_folder(self, kind: str) -> Iterator[tuple[str, Path]]:
        """A new folder under `models` or `index` to fill: its name, and where it is until it takes its place.

        Folders there that bear this catalog's mark and are not in use are removed; nothing else is.
        """
        parent, own_id = self.folder / kind, self._text("id")
        assert own_id is not None
        make_folder(parent)
        used = (
            {model.folder for model in self.suggestions.models()} if kind == "models" else {self.get("index")}
        )
        numbers = [0]
        for path in list(parent.iterdir()):
            if path.name not in used and bears_mark(path, own_id):
                shutil.rmtree(path, ignore_errors=True)
            elif is_plain_name(path.name):
                numbers.append(int(path.name))
        name = f"{max(numbers) + 1:04d}"
        with new_folder(parent / name) as new:
            yield name, new
            mark(new, own_id)


def _folder_of_photos(root: Path) -> Path:
    root = root.resolve()
    if not root.is_dir():
        raise CatalogError(f"{root}: not a folder of photos")
    return root
