"""Which photos have a caption of their owner's: what is missing there was not wanted, or was left out.

The words of a file, or of a table, are a caption. Words that a person gave here one by one are not: a reviewed photo
tells only what was asked. Where hardly a photo has a caption of a file's, though, nobody would ever say what a photo
lacks; then photos with words that were typed, rather than suggested or asked about, are the captioned ones.
"""

import numpy as np

from topicture.store.database import Database

__all__ = ["CAPTIONING", "Captions"]

CAPTIONING = ("file", "import", "merge")
"""Sources of whole captions."""

FEWEST = 5  # photos with captions of files: fewer are too few
MANY_TIMES, MANY = 4, 800  # so many typed ones for each of those are needed, of as many as are looked at
_OF_FILES = f"own.verdict = 'present' AND own.source IN ({', '.join(repr(source) for source in CAPTIONING)})"
_TYPED = (
    "SELECT typed.image, typed.word FROM tags AS typed JOIN decisions AS d ON d.id = typed.decision "
    "WHERE typed.verdict = 'present' AND typed.source = 'review' AND d.probability IS NULL "
    # What was asked under a name that was given up was about the word of today.
    "AND NOT EXISTS (SELECT 1 FROM questions AS q JOIN words AS asked ON asked.id = q.word "
    "WHERE q.image = typed.image AND coalesce(asked.merged, asked.id) = typed.word)"
)


class Captions:
    """Read from the tables `tags`, `decisions` and `questions`."""

    def __init__(self, database: Database):
        self._db = database
        self._typed_count = (-1, False)

    @property
    def typed_count(self) -> bool:
        """Whether typed words are captions: files have hardly any, or far fewer."""
        last = self._db.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()[0]
        if self._typed_count[0] != last:
            n_files = self._count(f"SELECT DISTINCT image FROM tags AS own WHERE {_OF_FILES}")
            typed = (
                self._count(f"SELECT DISTINCT image FROM ({_TYPED})") if n_files < MANY / MANY_TIMES else 0
            )
            self._typed_count = last, typed > 0 and n_files < max(FEWEST, typed / MANY_TIMES)
        return self._typed_count[1]

    def where(self, image: str) -> str:
        """The condition, in SQL, that an image has a caption; `image` is the name of a column."""
        found = f"EXISTS (SELECT 1 FROM tags AS own WHERE own.image = {image} AND {_OF_FILES})"
        if self.typed_count:
            found = f"({found} OR EXISTS ({_TYPED} AND typed.image = {image}))"
        return found

    def images(self) -> np.ndarray:
        """The numbers of the images that have one, ascending."""
        query = f"SELECT image FROM tags AS own WHERE {_OF_FILES}"
        if self.typed_count:
            query += f" UNION ALL SELECT image FROM ({_TYPED})"
        return np.unique(np.fromiter((image for (image,) in self._db.execute(query)), np.int64))

    def typed_images(self) -> set[int]:
        """The images that words were typed for, where these are captions."""
        if not self.typed_count:
            return set()
        return {image for (image,) in self._db.execute(f"SELECT DISTINCT image FROM ({_TYPED})")}

    def _count(self, query: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM ({query} LIMIT {MANY})").fetchone()[0])
