"""The words of a collection themselves: names, places in a tree, and what to do with their suggestions.

Every change is a step that `undo` takes back. Renaming is merging into a word that was not in use: photos that have the
former word get the new one, and the former stays as a name that means the new one, wherever a file still says it.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from topicture.errors import TopictureError
from topicture.store.database import Database
from topicture.store.decisions.decisions import Decisions
from topicture.store.decisions.meanings import move_verdicts
from topicture.store.decisions.steps import Step
from topicture.store.decisions.word_edits import ancestors, set_field
from topicture.store.decisions.words_in_use import set_deleted
from topicture.store.lending import lend

__all__ = ["POLICIES", "Merged", "Word", "Words"]

POLICIES = ("suggest", "accept", "never")


class Word(NamedTuple):
    """A word in use, or with suggestions, and how many photos have which verdict on it.

    `by_machine` of the `present` were accepted in bulk; `parent` and `merged` (what was renamed or merged into it) are
    texts.
    """

    word: str
    present: int
    by_machine: int
    rejected: int
    policy: str
    precision: float | None
    parent: str | None
    merged: tuple[str, ...]


class Merged(NamedTuple):
    """What a merge changed: its step, for `undo`, and the photos that had a former word."""

    step: int | None
    photos: int


class Words:
    """The table `words`, beyond what `Decisions` does with it. Words are given in their clean form."""

    def __init__(self, database: Database, decisions: Decisions):
        self._db = database
        self._decisions = decisions

    # --- Reading -------------------------------------------------------------------------------------------

    def all(self) -> list[Word]:
        """Words that are not deleted, by text."""
        merged: dict[str, list[str]] = {}
        for old, new in sorted(self._decisions.merged_words().items()):
            merged.setdefault(new, []).append(old)
        rows = self._db.execute(
            "SELECT w.word, coalesce(sum(t.verdict = 'present'), 0), "
            "coalesce(sum(t.verdict = 'present' AND t.source = 'bulk'), 0), "
            "coalesce(sum(t.verdict = 'rejected'), 0), w.policy, w.precision, parents.word "
            "FROM words AS w LEFT JOIN tags AS t ON t.word = w.id LEFT JOIN words AS parents ON parents.id = w.parent "
            "WHERE w.deleted IS NULL GROUP BY w.id ORDER BY w.word"
        )
        return [Word._make((*row, tuple(merged.get(row[0], ())))) for row in rows]

    def images(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each word with the images that have it, ascending."""
        rows = self._db.execute(
            "SELECT words.word, image FROM tags JOIN words ON words.id = tags.word "
            "WHERE verdict = 'present' ORDER BY tags.word, image"
        )
        for word, group in groupby(rows, key=itemgetter(0)):
            yield word, np.fromiter((image for _, image in group), np.int64)

    def in_use(self, word: str) -> int | None:
        """The id of a word that is not deleted or merged into another."""
        row = self._db.execute("SELECT id FROM words WHERE word = ? AND deleted IS NULL", (word,)).fetchone()
        return None if row is None else row[0]

    def given_up(self, word: str) -> float:
        """When a name was last given up for another; 0 where it never was."""
        row = self._db.execute(
            "SELECT max(at) FROM word_edits AS e JOIN batches ON batches.id = e.batch JOIN words ON words.id = e.word "
            "WHERE words.word = ? AND field = 'merged' AND after IS NOT NULL",
            (word,),
        ).fetchone()
        return float(row[0] or 0.0)

    def accepting(self) -> dict[str, float]:
        """Words whose suggestions are accepted by themselves, with the precision to accept from."""
        return dict(
            self._db.execute(
                "SELECT word, precision FROM words WHERE policy = 'accept' AND deleted IS NULL ORDER BY word"
            ).fetchall()
        )

    # --- Changing ------------------------------------------------------------------------------------------

    def set_policy(self, word: str, policy: str, precision: float | None) -> int | None:
        """What to do with suggestions of a word; the step, or None where that is so already."""
        step = self._decisions.step("policy")
        with self._db.transaction():
            number = self._decisions.word_id(word)
            set_field(self._db, number, "policy", policy, step)
            set_field(self._db, number, "precision", precision, step)
        return step.made

    def set_parent(self, word: str, parent: str | None) -> int | None:
        """Put a word below another, which may be new, or below none; the step.

        Raises TopictureError where the other one lies below it.
        """
        step = self._decisions.step("parent")
        with self._db.transaction():
            number = self._decisions.word_id(word)
            above = None if parent is None else self._known(parent)
            self._place(number, above, step)
            if self._value(number, "parent") != above:
                raise TopictureError(f"{parent!r} can't be above {word!r}: it is that tag, or below it")
            if above is not None:
                self._take_into_use(above, step)
        return step.made

    def merge(self, words: Sequence[str], into: str, source: str = "merge") -> Merged:
        """Make words mean one other word, on every photo: the strongest verdict on any of them stands for it.

        What people and files say is present outweighs what people reject, and that what was accepted in bulk.
        """
        step = self._decisions.step(source)
        with self._db.transaction():
            is_new = self.in_use(into) is None
            target = self._known(into)
            former = [number for word in words if (number := self._decisions.word_id(word)) != target]
            if is_new and former:
                for field in ("policy", "precision"):
                    set_field(self._db, target, field, self._value(former[0], field), step)
                if (parent := self._value(former[0], "parent")) != target:
                    self._place(target, parent, step)
            self._take_into_use(target, step)
            self._move_places(former, target, step)
            for number in former:
                for (alias,) in self._db.execute(
                    "SELECT id FROM words WHERE merged = ?", (number,)
                ).fetchall():
                    set_field(self._db, alias, "merged", target, step)
                set_deleted(self._db, number, time.time(), step)
                set_field(self._db, number, "merged", target, step)
            log, conflicts = self._decisions.log, self._decisions.conflicts
            images = move_verdicts(self._db, log, conflicts, former, target, step)
            lend(self._db, (*former, target))
        return Merged(step.made, len(images))

    def _known(self, word: str) -> int:
        """The id of a word; a new one is not in use yet."""
        number = self._decisions.find_word(word)
        if number is None:
            number = self._decisions.word_id(word)
            self._db.execute("UPDATE words SET deleted = ? WHERE id = ?", (time.time(), number))
        return number

    def _take_into_use(self, word: int, step: Step) -> None:
        """A word is in use from this step on, and only from it: undoing it puts the word away again."""
        former = self._value(word, "merged")
        if former is not None:
            set_field(self._db, word, "merged", None, step)
            lend(self._db, [former])
        set_deleted(self._db, word, None, step)

    def _place(self, word: int, above: int | None, step: Step) -> bool:
        """Put a word below another; False where it lies there already, or above it.

        Deleted words keep their places, but nobody sees them: where only such a place is in the way, it is given up.
        """
        line = [] if above is None else [above, *ancestors(self._db, above)]
        if word in line:
            for lower, upper in pairwise(line[: line.index(word) + 1]):
                if any(self._value(each, "deleted") is not None for each in (lower, upper)):
                    set_field(self._db, lower, "parent", None, step)
                    break
        return set_field(self._db, word, "parent", above, step)

    def _move_places(self, former: Iterable[int], target: int, step: Step) -> None:
        """Children of the former words go below `target`; those that it lies below take their parent's place."""
        for number in former:
            parent = self._value(number, "parent")
            children = self._db.execute("SELECT id FROM words WHERE parent = ?", (number,)).fetchall()
            for (child,) in children:
                for above in (target, parent, None):
                    if self._place(child, above, step):
                        break

    def _value(self, word: int, field: str):
        return self._db.execute(f"SELECT {field} FROM words WHERE id = ?", (word,)).fetchone()[0]

    # --- Words that are not alike --------------------------------------------------------------------------

    def set_unlike(self, first: str, second: str, unlike: bool = True) -> None:
        """Remember that two words are not one, or forget it."""
        with self._db.transaction():
            pair = tuple(sorted(self._decisions.word_id(word) for word in (first, second)))
            self._db.execute("DELETE FROM unlike_words WHERE first = ? AND second = ?", pair)
            if unlike:
                self._db.execute("INSERT INTO unlike_words VALUES (?, ?, ?)", (*pair, time.time()))

    def unlike(self) -> set[frozenset[str]]:
        """Pairs of words that somebody said are not one."""
        rows = self._db.execute(
            "SELECT a.word, b.word FROM unlike_words JOIN words AS a ON a.id = first JOIN words AS b ON b.id = second"
        )
        return {frozenset(pair) for pair in rows}
