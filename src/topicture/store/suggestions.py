"""What was learned, and what it suggests: kept for every model, apart from what people decided."""

import heapq
import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from topicture.errors import NotFitted
from topicture.store.database import CatalogError, Database
from topicture.store.lending import lend

__all__ = ["LearnedModel", "Open", "OpenOfWord", "Suggestions", "in_gain_order"]


class LearnedModel(NamedTuple):
    """A model that was learned from this collection."""

    id: int
    folder: str  # under `models`
    name: str
    version: int
    learned: float
    facts: dict[str, Any]
    annotated: float | None


class Open(NamedTuple):
    """A suggestion that nobody has decided yet."""

    image: int
    word: str
    probability: float


class OpenOfWord(NamedTuple):
    """The undecided suggestions of a word in numbers."""

    word: str
    open: int
    likely: int  # those with even odds or better
    right: float  # how many of the likely ones are expected to be right
    mean: float


def in_gain_order(tags: Iterable[OpenOfWord]) -> list[OpenOfWord]:
    """Words by how much one stroke settles, most first."""
    return sorted(tags, key=lambda each: (-each.right, -each.open, each.word))


# Suggestions of one model without a verdict, for images that have a file and words that may be suggested.
_OPEN = """
FROM suggestions AS s JOIN words ON words.id = s.word
WHERE s.model = :model AND words.deleted IS NULL AND words.policy != 'never'
AND NOT EXISTS (SELECT 1 FROM tags WHERE tags.image = s.image AND tags.word = s.word)
AND EXISTS (SELECT 1 FROM places WHERE places.image = s.image AND gone IS NULL)
"""
_FALLING = "ORDER BY s.probability DESC, s.image"
_RISING = "ORDER BY s.probability, s.image"
_AFTER = "AND s.probability <= :below AND (s.probability < :below OR s.image > :image)"

# Closed suggestions, and images that have no others: looking for these is a fraction of looking at each open one.
_CLOSED = """
WITH closed (image, word) AS (
SELECT s.image, s.word FROM tags CROSS JOIN suggestions AS s
WHERE s.model = :model AND s.image = tags.image AND s.word = tags.word
UNION SELECT s.image, s.word FROM words CROSS JOIN suggestions AS s
WHERE (words.deleted IS NOT NULL OR words.policy = 'never') AND s.model = :model AND s.word = words.id
UNION SELECT s.image, s.word FROM images AS i CROSS JOIN suggestions AS s
WHERE i.id NOT IN (SELECT image FROM places WHERE gone IS NULL) AND s.model = :model AND s.image = i.id),
counted (image, n) AS (SELECT image, count(*) FROM closed GROUP BY image)
SELECT coalesce(sum(n), 0),
coalesce(sum(n = (SELECT count(*) FROM suggestions AS s WHERE s.model = :model AND s.image = counted.image)), 0)
FROM counted
"""

_COUNTS = """SELECT s.word, count(*), sum(s.probability >= 0.5),
total(CASE WHEN s.probability >= 0.5 THEN s.probability END), total(s.probability)"""
_ALL = f"{_COUNTS} FROM suggestions AS s WHERE s.model = :model"
_DECIDED = f"""{_COUNTS} FROM tags CROSS JOIN suggestions AS s
WHERE s.model = :model AND s.image = tags.image AND s.word = tags.word"""
_GONE = f"""{_COUNTS} FROM json_each(:images) AS gone CROSS JOIN suggestions AS s
WHERE s.model = :model AND s.image = gone.value
AND NOT EXISTS (SELECT 1 FROM tags WHERE tags.image = s.image AND tags.word = s.word)"""


class Suggestions:
    """The tables `models` and `suggestions`."""

    def __init__(self, database: Database):
        self._db = database

    def add_model(self, folder: str, name: str, version: int, facts: dict[str, Any]) -> int:
        """Note a model whose files are complete."""
        cursor = self._db.execute(
            "INSERT INTO models (folder, name, version, learned, facts) VALUES (?, ?, ?, ?, ?)",
            (folder, name, version, time.time(), json.dumps(facts)),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def models(self) -> list[LearnedModel]:
        """All models, the newest first."""
        rows = self._db.execute(
            "SELECT id, folder, name, version, learned, facts, annotated FROM models ORDER BY id DESC"
        )
        return [
            LearnedModel(number, folder, name, version, learned, self._facts(facts), annotated)
            for number, folder, name, version, learned, facts, annotated in rows
        ]

    def _facts(self, text: str) -> dict[str, Any]:
        try:
            facts = json.loads(text)
            if isinstance(facts, dict):
                return facts
        except (TypeError, ValueError, RecursionError):
            pass
        raise CatalogError(
            f"{self._db.path}: damaged (facts of a model); restore a backup, or see 'topicture check'"
        )

    def newest(self) -> LearnedModel:
        """The newest model; raises NotFitted where nothing was learned yet."""
        models = self.models()
        if not models:
            raise NotFitted("nothing was learned yet: run 'topicture learn'")
        return models[0]

    def replace(
        self, model: int, rows: Iterable[tuple[int, int, float]], *, keep: Iterable[int] = ()
    ) -> None:
        """Store (image, word id, probability) rows as the suggestions of a model, beside those of images to keep."""
        listed = json.dumps(sorted(keep))
        with self._db.transaction():
            for table in ("lent", "suggestions"):
                self._db.execute(
                    f"DELETE FROM {table} WHERE model = ? AND image NOT IN (SELECT value FROM json_each(?))",
                    (model, listed),
                )
            self.add(model, rows)

    def withdraw(self, model: int, images: Iterable[int]) -> None:
        """Forget what a model suggests for some images."""
        listed = json.dumps(sorted(images))
        for table in ("lent", "suggestions"):
            self._db.execute(
                f"DELETE FROM {table} WHERE model = ? AND image IN (SELECT value FROM json_each(?))",
                (model, listed),
            )

    def add(self, model: int, rows: Iterable[tuple[int, int, float]]) -> None:
        """Store rows beside those that a model has."""
        with self._db.transaction():
            self._db.execute_many(
                "INSERT OR REPLACE INTO suggestions VALUES (?, ?, ?, ?)",
                [(model, image, word, probability) for image, word, probability in rows],
            )
            targets = self._db.execute(
                "SELECT DISTINCT merged FROM words WHERE merged IS NOT NULL"
            ).fetchall()
            lend(self._db, [word for (word,) in targets], model)
            self._db.execute("UPDATE models SET annotated = ? WHERE id = ?", (time.time(), model))

    def forget(self, models: Iterable[int]) -> None:
        """Forget models, with what they suggested and where they found it; what people decided stays."""
        with self._db.transaction():
            for model in models:
                for table in ("lent", "suggestions", "regions"):
                    self._db.execute(f"DELETE FROM {table} WHERE model = ?", (model,))
                self._db.execute("DELETE FROM models WHERE id = ?", (model,))

    def open(self, model: int, *, word: str | None = None, image: int | None = None) -> list[Open]:
        """Undecided suggestions, of one word or image where it is named; by image, then the surest first."""
        query = f"SELECT s.image, words.word, s.probability {_OPEN}"
        if word is not None:
            query += " AND words.word = :word"
        if image is not None:
            query += " AND s.image = :image"
        query += " ORDER BY s.image, s.probability DESC, words.word"
        rows = self._db.execute(query, {"model": model, "word": word, "image": image})
        return [Open(*row) for row in rows]

    def count_open(self, model: int) -> tuple[int, int]:
        """Number of undecided suggestions, and of the images they are for."""
        values = {"model": model}
        n, images = self._db.execute(
            "SELECT count(*), count(DISTINCT image) FROM suggestions WHERE model = :model", values
        ).fetchone()
        closed, without_any = self._db.execute(_CLOSED, values).fetchone()
        return n - closed, images - without_any

    def open_counts(self, model: int, images: Iterable[int] | None = None) -> Iterator[tuple[int, int]]:
        """(image, number of undecided suggestions) of the images that have any; of some images, or of all."""
        among = "" if images is None else "AND s.image IN (SELECT value FROM json_each(:images))"
        values = {"model": model, "images": "[]" if images is None else json.dumps([int(i) for i in images])}
        return self._db.execute(f"SELECT s.image, count(*) {_OPEN} {among} GROUP BY s.image", values)

    def open_images(self, model: int, word: str | None = None) -> Iterator[int]:
        """Images with an undecided suggestion, of one word or of any."""
        of_word = "" if word is None else "AND s.word = (SELECT id FROM words WHERE word = :word)"
        query = f"SELECT DISTINCT s.image {_OPEN} {of_word}"
        return (image for (image,) in self._db.execute(query, {"model": model, "word": word}))

    def open_by_word(
        self, model: int, word: str | None = None, *, gone: Iterable[int] = ()
    ) -> list[OpenOfWord]:
        """The undecided suggestions of each word, or of one; where one stroke settles most, first.

        `gone` names the images without a file. All suggestions, which one index has, less those that are closed: that
        is a fraction of looking at each.
        """
        (number,) = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone() or (-1,)
        values = {"model": model, "word": number, "images": json.dumps(list(gone))}
        of_word = "" if word is None else "AND s.word = :word"
        counts = {
            number: list(row)
            for number, *row in self._db.execute(f"{_ALL} {of_word} GROUP BY s.word", values)
        }
        of_tags = of_word.replace("s.", "tags.")  # their index by word is then the way in
        for closed in (f"{_DECIDED} {of_tags}", f"{_GONE} {of_word}"):
            for number, *row in self._db.execute(f"{closed} GROUP BY s.word", values):
                counts[number] = [all_ - less for all_, less in zip(counts[number], row, strict=True)]
        words = self._db.execute("SELECT id, word FROM words WHERE deleted IS NULL AND policy != 'never'")
        found = [
            OpenOfWord(text, n, likely, max(right, 0.0), total / n)
            for number, text in words
            for n, likely, right, total in [counts.get(number, (0, 0, 0.0, 0.0))]
            if n
        ]
        return in_gain_order(found)

    def surest(
        self, model: int, *, word: str | None = None, after: tuple[float, int] | None = None
    ) -> Iterator[Open]:
        """Undecided suggestions by falling probability, read only as far as they are asked for.

        `after` names the probability and image of the last one seen, where the rest is wanted.
        """
        return self._merged(model, word, [_FALLING], lambda s: (-s.probability, s.image, s.word), after)

    def most_uncertain(self, model: int, *, word: str | None = None) -> Iterator[Open]:
        """Undecided suggestions by their distance from even odds, read only as far as they are asked for."""
        parts = [f"AND s.probability >= 0.5 {_RISING}", f"AND s.probability < 0.5 {_FALLING}"]
        return self._merged(model, word, parts, lambda s: (abs(s.probability - 0.5), s.image, s.word))

    def _merged(
        self,
        model: int,
        word: str | None,
        parts: list[str],
        key: Callable[[Open], Any],
        after: tuple[float, int] | None = None,
    ) -> Iterator[Open]:
        """Streams of each word, which the index on (model, word, probability) has in order, merged into one."""
        streams = [
            self._stream(model, number, text, part, after)
            for number, text in self._words(model, word)
            for part in parts
        ]
        return heapq.merge(*streams, key=key)

    def _stream(
        self, model: int, number: int, word: str, part: str, after: tuple[float, int] | None
    ) -> Iterator[Open]:
        below, last = after or (None, None)
        beyond = "" if after is None else _AFTER
        query = f"SELECT s.image, s.probability {_OPEN} AND s.word = :word {beyond} {part} LIMIT :n OFFSET :offset"
        values = {"model": model, "word": number, "below": below, "image": last}
        # A few at first: of hundreds of words most are asked for no more. No cursor stays open meanwhile.
        offset, n = 0, 4
        while rows := self._db.execute(query, {**values, "n": n, "offset": offset}).fetchall():
            yield from (Open(image, word, probability) for image, probability in rows)
            if len(rows) < n:
                return
            offset, n = offset + n, 4 * n

    def _words(self, model: int, word: str | None) -> list[tuple[int, str]]:
        """(id, word) of the words that a model suggests, found by leaps from one to the next."""
        if word is not None:
            return self._db.execute("SELECT id, word FROM words WHERE word = ?", (word,)).fetchall()
        return self._db.execute(
            "WITH RECURSIVE used (id) AS (SELECT min(word) FROM suggestions WHERE model = :model UNION ALL "
            "SELECT (SELECT min(word) FROM suggestions WHERE model = :model AND word > used.id) FROM used "
            "WHERE used.id IS NOT NULL) SELECT words.id, words.word FROM used JOIN words USING (id)",
            {"model": model},
        ).fetchall()

    def probability(self, model: int, image: int, word: str) -> float | None:
        row = self._db.execute(
            "SELECT probability FROM suggestions WHERE model = ? AND image = ? "
            "AND word = (SELECT id FROM words WHERE word = ?)",
            (model, image, word),
        ).fetchone()
        return None if row is None else row[0]
