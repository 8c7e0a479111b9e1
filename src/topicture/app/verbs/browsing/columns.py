"""The collection in columns: one number per photo and question, kept while the server runs.

A list of a million photos can then be filtered, sorted and read at any place within milliseconds. Columns are made
when they are first asked for. After a decision only the photos that the log speaks of are looked at again; after a
scan, all are.
"""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from topicture.app.verbs.browsing.pictures import dates_version, shown_path, taken_dates
from topicture.store import Catalog
from topicture.store.files import stored_path
from topicture.store.listing import Listing, ListingState

__all__ = ["Columns", "columns_of"]

MANY = 20_000  # photos decided since: looking at all of them anew is as quick
MOST_ORDERS = 12  # lists that are kept, 4 bytes per photo each

_kept: OrderedDict[Path, "Columns"] = OrderedDict()
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


class Columns:
    """Arrays over the living photos, by ascending id; `position` below is a place in them."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.state: ListingState | None = None
        self._forget()

    def _forget(self) -> None:
        self.ids = np.zeros(0, np.int64)
        self._parts: dict[str, Any] = {}
        self._lists: OrderedDict[tuple, np.ndarray] = OrderedDict()

    def refresh(self, catalog: Catalog) -> None:
        """Look at what changed since the last time."""
        with self.lock:
            listing = Listing(catalog.database)
            now = listing.state()
            if self.state == now:
                return
            before, self.state = self.state, None  # nothing is kept if this fails half-way
            if before is None or before.files != now.files:
                self._forget()
                self.ids = listing.living()
            else:
                self._lists.clear()
                self._follow(catalog, listing, before, now)
            self.state = now

    def _follow(self, catalog: Catalog, listing: Listing, before: ListingState, now: ListingState) -> None:
        """Bring the columns of tags and suggestions up to date."""
        if before.model != now.model or before.words != now.words:
            self._parts.pop("suggested", None)
        if before.step == now.step and before.decision == now.decision:
            return
        changed = listing.decided_since(before.decision)
        if len(changed) > MANY or not len(changed):
            self._parts.pop("suggested", None)
            self._parts.pop("tagged", None)
            return
        mine = self.positions(changed)
        if "tagged" in self._parts:
            self._parts["tagged"][mine] = False
            self._parts["tagged"][self.positions(listing.with_tags(changed))] = True
        if "suggested" in self._parts and now.model:
            self._parts["suggested"][mine] = False
            waiting = catalog.suggestions.open_images(now.model[0], images=changed.tolist())
            self._parts["suggested"][self.positions(np.fromiter(waiting, np.int64))] = True

    # --- Columns -------------------------------------------------------------------------------------------

    def positions(self, images: np.ndarray) -> np.ndarray:
        """Where photos stand; those that are gone are left out."""
        if not len(self.ids):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(self.ids, images), len(self.ids) - 1)
        return at[self.ids[at] == images]

    def mask(self, images: np.ndarray) -> np.ndarray:
        """True at some photos."""
        found = np.zeros(len(self.ids), bool)
        found[self.positions(images)] = True
        return found

    def tagged(self, catalog: Catalog) -> np.ndarray:
        return self._part("tagged", lambda: self.mask(Listing(catalog.database).with_tags()))

    def suggested(self, catalog: Catalog) -> np.ndarray:
        def find() -> np.ndarray:
            assert self.state is not None
            if not self.state.model:
                return np.zeros(len(self.ids), bool)
            return self.mask(np.fromiter(catalog.suggestions.open_images(self.state.model[0]), np.int64))

        return self._part("suggested", find)

    def by_path(self, catalog: Catalog) -> np.ndarray:
        """Positions in the order of paths."""
        return self._paths(catalog)[0]

    def folders(self, catalog: Catalog) -> list[tuple[str, int]]:
        """(folder, photos whose first file lies in it), by name."""
        return self._paths(catalog)[1]

    def _paths(self, catalog: Catalog) -> tuple[np.ndarray, list[tuple[str, int]]]:
        def find() -> tuple[np.ndarray, list[tuple[str, int]]]:
            rows = Listing(catalog.database).by_path()
            images = np.fromiter((image for image, _ in rows), np.int64, len(rows))
            first = np.sort(
                np.unique(images, return_index=True)[1]
            )  # a photo stands where its first file does
            counts: dict[bytes, int] = {}
            for row in first.tolist():
                folder = rows[row][1].rpartition(b"/")[0]
                counts[folder] = counts.get(folder, 0) + 1
            named = sorted(
                (shown_path(stored_path(folder)) if folder else "", n) for folder, n in counts.items()
            )
            return self.positions(images[first]).astype(np.int32), named

        return self._part("paths", find)

    def dates(self, catalog: Catalog) -> np.ndarray:
        """Seconds when each photo was taken; where no camera noted it, when its file was written."""
        version = dates_version(catalog)

        def find() -> tuple[int, np.ndarray]:
            seconds = np.zeros(len(self.ids))
            for rows in (Listing(catalog.database).modified(), taken_dates(catalog)):
                images = np.fromiter((image for image, _ in rows), np.int64, len(rows))
                at = np.fromiter((at for _, at in rows), np.float64, len(rows))
                known = self.mask(images)[np.minimum(np.searchsorted(self.ids, images), len(self.ids) - 1)]
                seconds[self.positions(images)] = at[known]
            return version, seconds

        if self._parts.get("dates", (version,))[0] != version:
            self._parts.pop("dates")
            self._lists.clear()
        return self._part("dates", find)[1]

    def _part(self, name: str, find: Callable[[], Any]) -> Any:
        with self.lock:
            if name not in self._parts:
                self._parts[name] = find()
            return self._parts[name]

    # --- Lists ---------------------------------------------------------------------------------------------

    def kept_list(self, key: tuple, find: Callable[[], np.ndarray]) -> np.ndarray:
        """The positions of a list, made once while nothing changes."""
        with self.lock:
            if key not in self._lists:
                self._lists[key] = find()
                while len(self._lists) > MOST_ORDERS:
                    self._lists.popitem(last=False)
            self._lists.move_to_end(key)
            return self._lists[key]
