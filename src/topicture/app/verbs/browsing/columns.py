"""The collection in columns: one number per photo and question, kept while the server runs.

A list of a million photos can then be filtered, sorted and read at any place within milliseconds. Columns are made
when they are first asked for. After a decision only the photos that the log speaks of are looked at again; after a
scan, all are. Arrays are never changed once others may have them.
"""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import Any

import numpy as np

from topicture.app.verbs.browsing.pictures import dates_version, shown_path, taken_dates
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.files import stored_path
from topicture.store.listing import Listing, ListingState

__all__ = ["Columns", "columns_at_hand", "columns_of"]

MANY = 20_000  # photos decided since: looking at all of them anew is as quick
MOST_LISTS = 12  # that are kept, 4 bytes per photo each
AT_ONCE = 50_000  # photos whose columns nobody waits for long

_kept: OrderedDict[Path, "Columns"] = OrderedDict()
_in_the_making: set[Path] = set()
_lock = RLock()


def columns_of(catalog: Catalog) -> "Columns":
    """The columns of a catalog, up to date."""
    with _lock:
        columns = _kept.pop(catalog.folder, None) or Columns()
        _kept[catalog.folder] = columns
        while len(_kept) > 2:
            _kept.popitem(last=False)
    columns.refresh(catalog)
    return columns


def columns_at_hand(catalog: Catalog) -> "Columns | None":
    """The same, where nobody has to wait for them; else None, and those of a large collection are made meanwhile."""
    columns, files = _kept.get(catalog.folder), Listing(catalog.database).state().files
    known = columns.state if columns is not None else None
    if files[-1] is None or files[-1] <= AT_ONCE or (known is not None and known.files == files):
        return columns_of(catalog)
    with _lock:
        if catalog.folder not in _in_the_making:
            _in_the_making.add(catalog.folder)
            Thread(target=_make, args=(catalog.folder,), daemon=True).start()
    return None


def _make(folder: Path) -> None:
    try:
        with Catalog.open(folder) as catalog:
            columns_of(catalog)
    except (TopictureError, OSError):
        pass  # whoever asks next is told
    finally:
        with _lock:
            _in_the_making.discard(folder)


class Columns:
    """Arrays over the living photos, by ascending id; a position is a place in them."""

    def __init__(self) -> None:
        self.ids = np.zeros(0, np.int64)
        self.state: ListingState | None = None
        self._lock = RLock()  # held for moments only
        self._making: dict[
            str, RLock
        ] = {}  # a column is made by one thread, and waited for only by who needs it
        self._parts: dict[str, Any] = {}
        self._lists: OrderedDict[tuple, np.ndarray] = OrderedDict()
        self._warming = Lock()

    def refresh(self, catalog: Catalog) -> None:
        """Look at what changed since the last time."""
        listing = Listing(catalog.database)
        with self._lock:
            now, before = listing.state(), self.state
            if before == now:
                return
            self._lists.clear()
            if before is None or before.files != now.files:
                self.state, self._parts = None, {}  # nothing is kept if the next line fails
                self.ids = listing.living()
            else:
                for name in list(self._parts):
                    self._follow(catalog, name, before, now)
            self.state = now

    def _follow(self, catalog: Catalog, name: str, before: ListingState, now: ListingState) -> None:
        """Bring a column up to date with the log, or forget it."""
        if name not in ("tagged", "waiting", "words"):
            return
        if name == "words":  # quickly made anew
            if before.step != now.step or before.decision != now.decision:
                del self._parts[name]
        elif name == "waiting" and (before.model != now.model or before.words != now.words):
            del self._parts[name]
        elif before.step != now.step or before.decision != now.decision:
            listing = Listing(catalog.database)
            changed = listing.decided_since(before.decision)
            if not 0 < len(changed) <= MANY:
                del self._parts[name]
                return
            column = self._parts[name].copy()
            column[self.positions(changed)] = 0
            if name == "tagged":
                column[self.positions(listing.with_tags(changed))] = True
            else:
                self._count_waiting(catalog, column, now, changed)
            self._parts[name] = column

    # --- Columns -------------------------------------------------------------------------------------------

    def positions(self, images: np.ndarray) -> np.ndarray:
        """Where photos stand; those that are gone are left out."""
        ids = self.ids
        if not len(ids):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(ids, images), len(ids) - 1)
        return at[ids[at] == images]

    def mask(self, images: np.ndarray) -> np.ndarray:
        """True at some photos."""
        found = np.zeros(len(self.ids), bool)
        found[self.positions(images)] = True
        return found

    def tagged(self, catalog: Catalog) -> np.ndarray:
        """Which photos have a tag."""
        return self._part(catalog, "tagged", lambda: self.mask(Listing(catalog.database).with_tags()))

    def waiting(self, catalog: Catalog) -> np.ndarray:
        """How many undecided suggestions each photo has."""

        def find() -> np.ndarray:
            counts = np.zeros(len(self.ids), np.int32)
            self._count_waiting(catalog, counts, self.state)
            return counts

        return self._part(catalog, "waiting", find)

    def _count_waiting(
        self,
        catalog: Catalog,
        counts: np.ndarray,
        state: ListingState | None,
        among: np.ndarray | None = None,
    ) -> None:
        if state is None or not state.model:
            return
        rows = catalog.suggestions.open_counts(state.model[0], None if among is None else among.tolist())
        found = np.fromiter(rows, np.dtype((np.int64, 2)))
        known = np.isin(found[:, 0], self.ids)
        counts[self.positions(found[:, 0])] = found[known, 1]

    def word_counts(self, catalog: Catalog) -> dict[int, int]:
        """How many photos have the word of each id."""
        return self._part(catalog, "words", lambda: Listing(catalog.database).word_counts())

    def by_path(self, catalog: Catalog) -> np.ndarray:
        """Positions in the order of paths; a photo stands where its first file does."""

        def find() -> np.ndarray:
            images = Listing(catalog.database).by_path()
            first = np.sort(np.unique(images, return_index=True)[1])
            return self.positions(images[first]).astype(np.int32)

        return self._part(catalog, "paths", find)

    def folders(self, catalog: Catalog) -> list[tuple[str, int]]:
        """(folder, photos in it), by name."""

        def find() -> list[tuple[str, int]]:
            counts: dict[bytes, int] = {}
            for _, path in Listing(catalog.database).paths():
                folder = path.rpartition(b"/")[0]
                counts[folder] = counts.get(folder, 0) + 1
            return sorted(
                (shown_path(stored_path(folder)) if folder else "", n) for folder, n in counts.items()
            )

        return self._part(catalog, "folders", find)

    def dates(self, catalog: Catalog) -> np.ndarray:
        """Seconds when each photo was taken; where no camera noted it, when its file was written."""
        version = dates_version(catalog)

        def find() -> tuple[Any, np.ndarray]:
            seconds = np.full(len(self.ids), np.nan)
            self._put(seconds, *taken_dates(catalog))
            if np.isnan(seconds).any():
                written = np.zeros(len(self.ids))
                self._put(written, *Listing(catalog.database).modified())
                seconds = np.where(np.isnan(seconds), written, seconds)
            return version, seconds

        with self._lock:
            if self._parts.get("dates", (version,))[0] != version:
                del self._parts["dates"]
                self._lists.clear()
        return self._part(catalog, "dates", find)[1]

    def _put(self, column: np.ndarray, images: np.ndarray, values: np.ndarray) -> None:
        if len(self.ids) and len(images):
            known = np.isin(images, self.ids)
            column[self.positions(images)] = values[known]

    def _part(self, catalog: Catalog, name: str, find: Callable[[], Any]) -> Any:
        with self._lock:
            if name in self._parts:
                return self._parts[name]
            making = self._making.setdefault(name, RLock())
        with making:
            with self._lock:
                if name in self._parts:
                    return self._parts[name]
                ids, began = self.ids, self.state
            found = find()
            with self._lock:
                if self.ids is ids and began is not None and self.state is not None:
                    self._parts[name] = found
                    self._follow(catalog, name, began, self.state)  # what was decided meanwhile
                    if name in self._parts:
                        return self._parts[name]
        return self._part(catalog, name, find)

    # --- Lists ---------------------------------------------------------------------------------------------

    def kept_list(self, key: tuple, find: Callable[[], np.ndarray]) -> np.ndarray:
        """The photos of a list, whose positions are found once while nothing changes."""
        with self._lock:
            ids, state = self.ids, self.state
            if key in self._lists:
                self._lists.move_to_end(key)
                return self._lists[key]
        images = ids[find()]
        if len(ids) and ids[-1] < 1 << 31:
            images = images.astype(np.int32)
        with self._lock:
            if self.state == state:
                self._lists[key] = images
                while len(self._lists) > MOST_LISTS:
                    self._lists.popitem(last=False)
        return images

    # --- Ahead of time -------------------------------------------------------------------------------------

    def is_ready(self, catalog: Catalog) -> bool:
        """Whether tags and suggestions are counted; begins to count those of a large collection where they are not."""
        with self._lock:
            if len(self.ids) <= AT_ONCE or {"tagged", "waiting"} <= self._parts.keys():
                return True
        if self._warming.acquire(blocking=False):
            Thread(target=self._warm, args=(catalog.folder,), daemon=True).start()
        return False

    def _warm(self, folder: Path) -> None:
        try:
            with Catalog.open(folder) as catalog:
                self.tagged(catalog)
                self.waiting(catalog)
        except (TopictureError, OSError):
            pass  # whoever asks next is told
        finally:
            self._warming.release()
