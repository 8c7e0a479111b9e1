"""The part of `Library` that looks at files and keeps the collection in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicture.app.progress import Report, silent
from topicture.app.verbs.photos import AnyPath
from topicture.store import Catalog

if TYPE_CHECKING:
    from topicture.app.verbs.answering import Answered
    from topicture.app.verbs.browsing.listing import PhotoFilter, PhotoPage
    from topicture.app.verbs.browsing.suggesting import SuggestedFor
    from topicture.app.verbs.searching import SearchPage
    from topicture.app.verbs.upkeep.pruning import Pruned
    from topicture.store.decisions.decisions import Redone

__all__ = ["UpkeepVerbs"]


class UpkeepVerbs(ABC):
    """What a library can do about files, lists, its history and its models."""

    @abstractmethod
    def _read(self) -> Catalog: ...

    @abstractmethod
    def _write(self, command: str, root: Path | None = None) -> Catalog: ...

    def suggest(
        self,
        names: Iterable[AnyPath],
        *,
        threshold: float | None = None,
        top: int | None = None,
        workers: int = 0,
        report: Report = silent,
    ) -> "list[SuggestedFor]":
        """Words for files, of the collection or not; see `suggesting.suggest_for`."""
        from topicture.app.verbs.browsing.suggesting import suggest_for

        with self._read() as catalog:
            return suggest_for(catalog, names, threshold=threshold, top=top, workers=workers, report=report)

    def photos(self, only: "PhotoFilter | None" = None, order: str = "path", **which: Any) -> "PhotoPage":
        """Photos as a list; see `listing.photos`."""
        from topicture.app.verbs.browsing.listing import photos

        with self._read() as catalog:
            return photos(catalog, only, order, **which)

    def exact_paths(self, images: Iterable[int]) -> list[str]:
        """The first path of each photo, byte for byte; bytes that are no text as surrogates."""
        wanted = list(images)
        with self._read() as catalog:
            paths = catalog.files.first_paths(wanted)
            return [paths[image] for image in wanted if image in paths]

    def search_page(
        self, text: str, limit: int = 20, *, offset: int = 0, only: "PhotoFilter | None" = None
    ) -> "SearchPage":
        """A part of what answers a query, among some photos, and how many that are; see `searching.search_page`."""
        from topicture.app.verbs.searching import search_page

        with self._read() as catalog:
            return search_page(catalog, text, offset, limit, only=only)

    def decide_many(self, names: Iterable[AnyPath], words: Iterable[str], verdict: str) -> "Answered":
        """The same verdict on words of several photos, as one step."""
        from topicture.app.verbs.answering import answer_many
        from topicture.app.verbs.photos import find_photo

        with self._write("tag") as catalog:
            return answer_many(catalog, [find_photo(catalog, name) for name in names], words, verdict)

    def redo(self, step: int | None = None) -> "Redone | None":
        """Do again what was undone last, unless something was decided since, or the numbered step."""
        with self._write("redo") as catalog:
            return catalog.decisions.redo(step)

    def prune(self, keep: int = 1, *, dry_run: bool = False) -> "Pruned":
        """Remove models that newer ones have replaced; see `pruning.prune`."""
        from topicture.app.verbs.upkeep.pruning import prune

        with self._read() if dry_run else self._write("models") as catalog:
            return prune(catalog, keep, dry_run=dry_run)
