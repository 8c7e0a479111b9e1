"""Questions that were drawn at random, with the probability of being drawn: answers to them are a sample.

"Did you leave this out?" is asked about words that a tagged photo lacks, in strata of their probability. From the
answers follow how complete tags are, and figures that are judged by the truth instead of by what somebody happened to
write. The answers themselves are decisions like all others.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

from topicture.store.database import Database

__all__ = ["Drawn", "Questions"]

# What was asked under a name that was given up was about the word of today; that one's own question goes first.
_TODAY = (
    "FROM questions JOIN words AS asked ON asked.id = questions.word "
    "JOIN words ON words.id = coalesce(asked.merged, asked.id) ORDER BY asked.merged IS NULL"
)


class Drawn(NamedTuple):
    """A question about a word of an image.

    Attributes
    ----------
    presence : what the model said
    chance : probability of being drawn, given what there was to draw from
    """

    image: int
    word: str
    presence: float
    chance: float


class Questions:
    """The table `questions`."""

    def __init__(self, database: Database):
        self._db = database

    def note(self, drawn: Iterable[Drawn], model: int | None) -> None:
        """Keep questions that are going to be asked; one that was drawn before keeps its first chance."""
        now = time.time()
        with self._db.transaction():
            self._db.execute_many(
                "INSERT OR IGNORE INTO questions SELECT ?, id, ?, ?, ?, ? FROM words WHERE word = ?",
                [(q.image, model, q.presence, q.chance, now, q.word) for q in drawn],
            )

    def carry(self, old: int, new: int) -> None:
        """Questions about a picture go to the one that took its place, as the answers do."""
        with self._db.transaction():
            self._db.execute("UPDATE OR IGNORE questions SET image = ? WHERE image = ?", (new, old))

    def pairs(self) -> dict[tuple[int, str], float]:
        """(image, word by its name of today) -> chance, of all that was ever drawn."""
        rows = self._db.execute(f"SELECT image, words.word, chance {_TODAY}")
        return {(image, word): chance for image, word, chance in rows}

    def weights(self) -> dict[tuple[int, str], float]:
        """(image, word by its name of today) -> how many pairs a question stands for, 1 on average over one model's.

        Each model's questions are drawn in strata of their own: between models chances can't be compared. Of one model
        the chance goes with how many were drawn together: each stands for 1 / chance pairs, so many times over.
        """
        rows = list(
            self._db.execute(
                f"SELECT image, words.word, model, count(*) OVER (PARTITION BY model, at) / chance {_TODAY}"
            )
        )
        stands_for: dict[int | None, list[float]] = {}
        for _, _, model, pairs in rows:
            if pairs is not None:  # the chance is 0: not noted by every version
                stands_for.setdefault(model, []).append(pairs)
        mean = {model: sum(values) / len(values) for model, values in stands_for.items()}
        return {
            (image, word): 1.0 if pairs is None else pairs / mean[model] for image, word, model, pairs in rows
        }
