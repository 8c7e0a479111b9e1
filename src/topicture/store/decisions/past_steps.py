"""What was done so far, step by step: for people who want to look back, and take something back."""

from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.steps import UNDOABLE

__all__ = ["PastStep", "PastSteps", "PastVerdict", "Said"]


class Said(NamedTuple):
    """A verdict on a word, and for how many photos a step gave it."""

    word: str
    verdict: str
    photos: int


class PastStep(NamedTuple):
    """A step that people took; `said` lists its most frequent words."""

    step: int
    source: str
    at: float
    undone: bool
    decisions: int
    said: tuple[Said, ...]


class PastVerdict(NamedTuple):
    """One decision of a step, and the verdict that stands today (None: no verdict)."""

    image: int
    word: str
    verdict: str
    now: str | None


_MARKS = ", ".join("?" * len(UNDOABLE))


class PastSteps:
    """The tables `batches` and `decisions`, read."""

    def __init__(self, database: Database):
        self._db = database

    def last(self, limit: int, before: int | None = None) -> list[PastStep]:
        """The last steps that can be, or were, taken back, the newest first; those before a step where it is named."""
        rows = self._db.execute(
            "SELECT b.id, b.source, b.at, EXISTS (SELECT 1 FROM batches WHERE undoes = b.id), "
            "(SELECT count(*) FROM decisions WHERE batch = b.id) FROM batches AS b "
            f"WHERE source IN ({_MARKS}) AND b.id < coalesce(?, b.id + 1) ORDER BY b.id DESC LIMIT ?",
            (*UNDOABLE, before, limit),
        ).fetchall()
        return [
            PastStep(step, source, at, bool(undone), n, self.said(step))
            for step, source, at, undone, n in rows
        ]

    def said(self, step: int, limit: int = 4) -> tuple[Said, ...]:
        """What a step said, the most frequent first."""
        rows = self._db.execute(
            "SELECT words.word, verdict, count(*) FROM decisions JOIN words ON words.id = decisions.word "
            "WHERE batch = ? GROUP BY decisions.word, verdict ORDER BY 3 DESC, 2, 1 LIMIT ?",
            (step, limit),
        )
        return tuple(Said(*row) for row in rows)

    def verdicts(self, step: int, limit: int) -> list[PastVerdict]:
        """The decisions of a step in their order."""
        rows = self._db.execute(
            "SELECT d.image, words.word, d.verdict, tags.verdict FROM decisions AS d "
            "JOIN words ON words.id = d.word LEFT JOIN tags ON tags.image = d.image AND tags.word = d.word "
            "WHERE d.batch = ? ORDER BY d.id LIMIT ?",
            (step, limit),
        )
        return [PastVerdict(*row) for row in rows]

    def ends(self) -> tuple[int, int]:
        """The last step and the last decision."""
        query = (
            "SELECT coalesce((SELECT max(id) FROM batches), 0), coalesce((SELECT max(id) FROM decisions), 0)"
        )
        return self._db.execute(query).fetchone()

    def words_since(self, ends: tuple[int, int]) -> set[str] | None:
        """The words that were decided on since; None where a step did something else than deciding."""
        step, decision = ends
        (other,) = self._db.execute(
            "SELECT EXISTS (SELECT 1 FROM batches AS b LEFT JOIN batches AS u ON u.id = b.undoes "
            "WHERE b.id > ? AND coalesce(u.source, b.source) NOT IN ('review', 'bulk', 'import'))",
            (step,),
        ).fetchone()
        if other:
            return None
        rows = self._db.execute(
            "SELECT DISTINCT words.word FROM decisions JOIN words ON words.id = decisions.word "
            "WHERE decisions.id > ?",
            (decision,),
        )
        return {word for (word,) in rows}

    def review_times(self, limit: int) -> list[tuple[float, int]]:
        """(time, number of decisions) of the last steps in which somebody answered, the newest first."""
        return self._db.execute(
            "SELECT at, (SELECT count(*) FROM decisions WHERE batch = b.id) FROM batches AS b "
            "WHERE source = 'review' ORDER BY id DESC LIMIT ?",
            (limit,),
        ).fetchall()

    def answered(self, model: int) -> int:
        """How many suggestions of a model people have answered, among the verdicts that stand."""
        return self._db.execute(
            "SELECT count(*) FROM tags JOIN decisions AS d ON d.id = tags.decision "
            "WHERE tags.source IN ('review', 'bulk') AND d.model = ? AND d.probability IS NOT NULL",
            (model,),
        ).fetchone()[0]
