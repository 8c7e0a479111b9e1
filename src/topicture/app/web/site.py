"""What one running server knows: the collection it shows."""

from dataclasses import dataclass
from pathlib import Path

from topicture.app.verbs.library import Library
from topicture.errors import DataNotFound

__all__ = ["Site"]


@dataclass
class Site:
    """The collection of a server; without a catalog yet where somebody begins with a folder of photos."""

    photos: Path | None
    library: Library | None

    def need_library(self) -> Library:
        if self.library is None:
            raise DataNotFound("there is no catalog yet; begin with a folder of photos")
        return self.library
