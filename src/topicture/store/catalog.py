"""The catalog of one collection: a folder with a database, what was measured, what was learned, and a search index.

catalog.sqlite   images, places, decisions, suggestions (see `migrations`)
cache/           measurements of the pictures, which can be made again
models/          one folder a model
index/           one folder a search index; the database says which one counts
lock             held by the process that writes
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any, Self

from topicture.store.database import CatalogError, Database, open_database
from topicture.store.decisions import Decisions
from topicture.store.file_words import FileWords
from topicture.store.lock import WriterLock
from topicture.store.places import Places
from topicture.store.regions import Regions
from topicture.store.shards import FeatureShards
from topicture.store.suggestions import LearnedModel, Suggestions
from topicture.store.writes import Writes

__all__ = ["FOLDER_NAME", "Catalog"]

FOLDER_NAME = ".topicture"


class Catalog:
    """An open catalog; a context manager. `create` makes one, `open` opens it to read or to write.

    Attributes
    ----------
    folder : where it lies
    root : the folder of photos
    places, decisions, file_words, suggestions, regions, writes : its parts
    """

    def __init__(self, folder: Path, database: Database, lock: WriterLock | None):
        self.folder = folder
        self.database = database
        self._lock = lock
        self.places = Places(database)
        self.decisions = Decisions(database)
        self.file_words = FileWords(database, self.decisions)
        self.suggestions = Suggestions(database)
        self.regions = Regions(database)
        self.writes = Writes(database)

    # --- Opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, root: Path, folder: Path | None = None, settings: dict[str, Any] | None = None) -> Self:
        """A new catalog of the photos under `root`, in `folder` or in root/.topicture; opened to write.

        Raises
        ------
        CatalogError
            `root` is no folder, there is a catalog already, or the place can't be written.
        """
        root = root.resolve()
        if not root.is_dir():
            raise CatalogError(f"{root}: not a folder of photos")
        inside = folder is None or folder.resolve() == root / FOLDER_NAME
        folder = root / FOLDER_NAME if folder is None else folder.resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(folder / "lock").acquire("init")
        except OSError as error:
            raise CatalogError(
                f"{folder}: can't be written ({error.strerror}); choose another place with --catalog"
            ) from None
        try:
            catalog = cls(folder, open_database(folder / "catalog.sqlite", write=True, create=True), lock)
            if catalog.get("created") is not None:  # one that was killed before it came to this is made again
                raise CatalogError(
                    f"{folder}: there is a catalog already; bring it up to date with 'topicture scan'"
                )
            with catalog.database.transaction():
                catalog.set("root", "" if inside else str(root))
                for key, value in (settings or {}).items():
                    catalog.set(key, value)
                catalog.set("created", time.time())
        except BaseException:
            lock.release()
            raise
        return catalog

    @classmethod
    def open(cls, folder: Path, *, write: bool = False, command: str = "") -> Self:
        """Open an existing catalog; one process at a time may hold it open to write.

        Raises
        ------
        CatalogError, CatalogBusy
        """
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
        try:
            catalog = cls(folder, open_database(path, write=write), lock)
            if catalog.get("created") is None:
                raise CatalogError(f"{folder}: the catalog was never finished; run 'topicture init' again")
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return catalog

    def close(self) -> None:
        self.database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Settings and folders ------------------------------------------------------------------------------

    def get(self, key: str) -> Any:
        """A setting; None where it was never set."""
        row = self.database.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def set(self, key: str, value: Any) -> None:
        self.database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))

    @property
    def root(self) -> Path:
        """The photos; a catalog inside its collection moves along with it."""
        return Path(self.get("root")) if self.get("root") else self.folder.parent

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def model_folder(self, model: LearnedModel) -> Path:
        return self.folder / "models" / model.folder

    def index_folder(self) -> Path | None:
        """The search index that counts, if there is one."""
        name = self.get("index")
        return None if name is None else self.folder / "index" / name

    def features(self) -> FeatureShards | None:
        """What the photos of the index look like, a row a photo, memory-mapped; None where that was not measured."""
        folder = self.index_folder()
        if folder is None or not (folder / "features").exists():
            return None
        return FeatureShards(folder / "features")

    def new_folder(self, kind: str) -> Path:
        """A folder name under `models` or `index` that is not in use; what a killed run left there is removed."""
        parent = self.folder / kind
        parent.mkdir(exist_ok=True)
        used = (
            {model.folder for model in self.suggestions.models()} if kind == "models" else {self.get("index")}
        )
        numbers = [0]
        for path in parent.iterdir():
            if path.name in used:
                numbers.append(int(path.name))
            else:
                shutil.rmtree(path, ignore_errors=True)
        return parent / f"{max(numbers) + 1:04d}"
