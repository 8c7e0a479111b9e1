"""Suggestions of a word that was merged into another count for that one, as long as it is merged.

The rows that were made for the former word stay, unseen; the word that stands for it has copies of them, noted in the
table `lent`, so that undoing the merge leaves no trace.
"""

from collections.abc import Iterable

from topicture.store.database import Database

__all__ = ["lend"]


def lend(database: Database, words: Iterable[int], model: int | None = None) -> None:
    """Bring the copies that words have in line with the words that are merged into them; of one model or all."""
    chosen = [{"word": word, "model": model} for word in dict.fromkeys(words)]
    for values in chosen:  # all are given back before any is lent: nothing is lent that was only borrowed
        _give_back(database, values)
    for values in chosen:
        _lend(database, values)


def _give_back(database: Database, values: dict[str, int | None]) -> None:
    mine = "word = :word AND model = coalesce(:model, model)"
    database.execute(
        f"DELETE FROM suggestions WHERE model IN (SELECT id FROM models) AND {mine} AND EXISTS "
        "(SELECT 1 FROM lent WHERE lent.word = :word AND lent.model = suggestions.model "
        "AND lent.image = suggestions.image)",
        values,
    )
    database.execute(f"DELETE FROM lent WHERE {mine}", values)


def _lend(database: Database, values: dict[str, int | None]) -> None:
    database.execute(
        "INSERT INTO lent SELECT DISTINCT :word, s.model, s.image FROM suggestions AS s "
        "WHERE s.model IN (SELECT id FROM models) AND s.model = coalesce(:model, s.model) "
        "AND s.word IN (SELECT id FROM words WHERE merged = :word) AND NOT EXISTS "
        "(SELECT 1 FROM suggestions AS own WHERE own.model = s.model AND own.image = s.image AND own.word = :word)",
        values,
    )
    database.execute(
        "INSERT INTO suggestions SELECT s.model, s.image, :word, max(s.probability) FROM suggestions AS s "
        "JOIN lent ON lent.word = :word AND lent.model = s.model AND lent.image = s.image "
        "WHERE s.word IN (SELECT id FROM words WHERE merged = :word) AND s.model = coalesce(:model, s.model) "
        "GROUP BY s.model, s.image",
        values,
    )
