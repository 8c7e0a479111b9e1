"""What one running server knows: the collection it shows, the work under way, and its pictures."""

from functools import cached_property
from pathlib import Path

from topicture.app.verbs.library import Library
from topicture.app.web.failures import NoCatalog
from topicture.app.web.jobs.board import JobBoard
from topicture.app.web.pictures.studio import Studio
from topicture.errors import TopictureError
from topicture.store import CatalogBusy, CatalogError

__all__ = ["Site", "bring_up_to_date"]


def bring_up_to_date(library: Library) -> None:
    """Change a catalog of an older version, where it may be written; raises what is wrong with an unreadable one."""
    try:
        library.writing("serve").close()
    except (CatalogBusy, CatalogError, OSError):
        library.reading().close()


class Site:
    """The collection of a server; without a catalog yet where somebody begins with a folder of photos."""

    def __init__(self, photos: Path | None, library: Library | None):
        self.photos = photos
        self.library = library

    def need_library(self) -> Library:
        if self.library is None:
            raise NoCatalog("There is no collection yet.")
        return self.library

    @property
    def collection(self) -> str:
        """What tells this catalog from one that was here before, or will be; "" while there is none to be read."""
        try:
            with self.need_library().reading() as catalog:
                return str(catalog.get("id") or "")
        except (TopictureError, OSError):  # the page's own questions tell what is wrong
            return ""

    @cached_property
    def jobs(self) -> JobBoard:
        """Long work, in processes of its own."""
        return JobBoard(self.need_library().folder)

    @cached_property
    def studio(self) -> Studio:
        """Small pictures of the photos."""
        return Studio(self.need_library())

    def close(self) -> None:
        """End what was begun; no process stays."""
        for name in ("jobs", "studio"):
            if name in self.__dict__:
                getattr(self, name).close()
