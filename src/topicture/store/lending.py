"""Suggestions of a word that was merged into another count for that one, as long as it is merged.

The rows that were made for the former word stay, unseen; the word that stands for it has copies of them, noted in the
table `lent`, so that undoing the merge leaves no trace.
"""

from topicture.store.database import Database

__all__ = ["lend"]


def lend(database: Database, word: int, model: int | None = None) -> None:
    """Bring the copies that a word has in line with the words that are merged into it; of one model or all."""
    values = {"word": word, "model": model}
    mine = "word = :word AND model = coalesce(:model, model)"
    database.execute(
        "DELETE FROM suggestions WHERE model IN (SELECT id FROM models) AND word = :word AND EXISTS "
        "(SELECT 1 FROM lent WHERE lent.word = :word AND lent.model = suggestions.model "
        "AND lent.image = suggestions.image) AND model = coalesce(:model, model)",
        values,
    )
    database.execute(f"DELETE FROM lent WHERE {mine}", values)
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
