"""The log of decisions, which only grows, and the tags that are its outcome."""

from collections.abc import Collection
from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.steps import Step

__all__ = ["NOTHING", "OF_FILES", "DecisionLog", "History", "Logged"]

OF_FILES = ("file", "merge")
"""Sources of what other programs say: it ends when they no longer say it, and brings no deleted word back into use."""


class Logged(NamedTuple):
    """A row of the log that somebody decided; `batch` is its step."""

    batch: int
    verdict: str
    source: str
    model: int | None
    probability: float | None


NOTHING = Logged(0, "cleared", "undo", None, None)
"""What an undo logs where nothing stood before."""


class History(NamedTuple):
    """What stands about a word of an image, and what stood before each step that changed it."""

    standing: Logged | None
    before: dict[int, Logged | None]

    def stands(self, gone: Collection[int]) -> Logged | None:
        """What stands apart from steps that are `gone`: one may be undone out of turn, while another stands over it.

        The log brings back what stood before a step, even where that was undone in the meantime.
        """
        return self._newest(self.standing, gone)

    def stood_before(self, number: int, gone: Collection[int]) -> Logged | None:
        """What stood before a step, in the same way."""
        return self._newest(self.before[number], gone)

    def _newest(self, logged: Logged | None, gone: Collection[int]) -> Logged | None:
        while logged is not None and logged.batch in gone:
            logged = self.before[logged.batch]
        return logged


class DecisionLog:
    """The tables `decisions` and `tags`."""

    def __init__(self, database: Database):
        self._db = database

    def add(
        self,
        image: int,
        word: int,
        verdict: str,
        source: str,
        step: Step,
        *,
        undoes: int | None = None,
        model: int | None = None,
        probability: float | None = None,
    ) -> None:
        """Log a verdict, which stands from now on."""
        cursor = self._db.execute(
            "INSERT INTO decisions (image, word, verdict, source, at, batch, undoes, model, probability) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (image, word, verdict, source, step.at, step.number, undoes, model, probability),
        )
        if verdict == "cleared":
            self._db.execute("DELETE FROM tags WHERE image = ? AND word = ?", (image, word))
        else:
            self._db.execute(
                "INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?, ?)",
                (image, word, verdict, source, cursor.lastrowid),
            )

    def history(self, image: int, word: int) -> History:
        """Replay the log of one pair: a row that undoes a step brings back what stood before that."""
        rows = self._db.execute(
            "SELECT undoes, batch, verdict, source, model, probability FROM decisions "
            "WHERE image = ? AND word = ? ORDER BY id",
            (image, word),
        )
        standing: Logged | None = None
        before: dict[int, Logged | None] = {}
        for undoes, *row in rows:
            if undoes:  # 0 in old catalogs: carried over, nothing is undone
                standing = before.get(undoes)
            else:
                logged = Logged(*row)
                before.setdefault(logged.batch, standing)
                standing = logged
        return History(standing, before)
