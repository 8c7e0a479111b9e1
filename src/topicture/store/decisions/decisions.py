"""What people decided: a log that only grows, and its outcome.

A verdict is `present`, `rejected`, or `cleared` (no verdict any more). Its source says where it came from:

file     a keyword in a photo or its sidecar, written by other software
review   one answer to one question
bulk     everything above a precision target at once
import   a table or annotation file
delete   a tag deleted from the whole collection
merge    a keyword of a file, under another name: the word that stands there was renamed or merged into this one;
         `file` again where this one is deleted, so that nothing is written
"""

import json
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from topicture.store.database import Database
from topicture.store.decisions.captions import CAPTIONING, Captions
from topicture.store.decisions.conflicts import Conflict, Conflicts
from topicture.store.decisions.log import OF_FILES, DecisionLog
from topicture.store.decisions.redoing import Redone, redo
from topicture.store.decisions.steps import Step
from topicture.store.decisions.undoing import Undone, undo
from topicture.store.decisions.words_in_use import set_deleted

__all__ = ["BY_MACHINE", "OF_FILES", "OURS", "Decision", "Decisions", "Redone", "Tag", "Undone"]

OURS = ("review", "bulk", "import", "merge")
"""Sources of tags that are not in the photo's own metadata yet, and that `write` therefore writes."""

BY_MACHINE = ("bulk",)
"""Sources of tags that no person has looked at: nobody's word, until somebody confirms them."""

ONE_BY_ONE = ("review", "delete")
"""Sources that answer a conflict: somebody spoke about this very word."""


class Decision(NamedTuple):
    """A verdict on a word of an image, and what the model had said, if it was asked."""

    image: int
    word: str
    verdict: str
    model: int | None = None
    probability: float | None = None


class Tag(NamedTuple):
    """The last verdict on a word of an image."""

    word: str
    verdict: str
    source: str


class Decisions:
    """The tables `words`, `decisions` and `tags`.

    Attributes
    ----------
    log : the rows themselves
    conflicts : decisions that a file contradicts
    captions : which photos have a caption of their owner's
    """

    def __init__(self, database: Database):
        self._db = database
        self.log = DecisionLog(database)
        self.conflicts = Conflicts(database)
        self.captions = Captions(database)

    # --- Words ---------------------------------------------------------------------------------------------

    def word_id(self, word: str) -> int:
        """The id of a word, which is made where it is new."""
        row = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        if row is not None:
            return row[0]
        cursor = self._db.execute("INSERT INTO words (word) VALUES (?)", (word,))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def find_word(self, word: str) -> int | None:
        row = self._db.execute("SELECT id FROM words WHERE word = ?", (word,)).fetchone()
        return None if row is None else row[0]

    def meant_id(self, word: str) -> int:
        """The id of the word that stands for this one now: of itself, or of the one it was merged into."""
        number = self.word_id(word)
        query = "SELECT coalesce(merged, id) FROM words WHERE id = ?"
        return self._db.execute(query, (number,)).fetchone()[0]

    def merged_words(self) -> dict[str, str]:
        """Words that were renamed or merged, with the word that each of them means now."""
        return dict(
            self._db.execute(
                "SELECT old.word, new.word FROM words AS old JOIN words AS new ON new.id = old.merged"
            ).fetchall()
        )

    def unwanted_words(self) -> set[str]:
        """Words not to suggest: deleted, or kept from it by their policy; not those that mean another word now."""
        query = "SELECT word FROM words WHERE (deleted IS NOT NULL OR policy = 'never') AND merged IS NULL"
        return {word for (word,) in self._db.execute(query)}

    def word_ids(self) -> dict[str, int]:
        """All words ever used, with their ids."""
        return dict(self._db.execute("SELECT word, id FROM words").fetchall())

    def deleted_words(self) -> set[str]:
        return {word for (word,) in self._db.execute("SELECT word FROM words WHERE deleted IS NOT NULL")}

    # --- Deciding ------------------------------------------------------------------------------------------

    def step(self, source: str) -> Step:
        """A step to come, for what belongs together but is decided piece by piece."""
        return Step(self._db, source)

    def decide(self, decisions: Iterable[Decision], source: str, step: Step | None = None) -> int:
        """Log decisions as one step, or as a part of `step`; the number of those that changed something.

        Of several about the same pair the last counts. A word that was merged into another stands for that one.
        """
        step = step or self.step(source)
        changed = 0
        with self._db.transaction():
            for decision in {(each.image, each.word): each for each in decisions}.values():
                word = self.meant_id(decision.word)
                answers = source in ONE_BY_ONE and self.conflicts.settle(decision.image, word, step)
                if self._says_already(decision.image, word, decision.verdict, source):
                    changed += answers
                    continue
                self.log.add(
                    decision.image,
                    word,
                    decision.verdict,
                    source,
                    step,
                    model=decision.model,
                    probability=decision.probability,
                )
                if decision.verdict == "present" and source not in OF_FILES:
                    set_deleted(self._db, word, None, step)
                changed += 1
        return changed

    def delete_word(self, word: str, step: Step | None = None) -> int:
        """Reject a word wherever it is present, and stop suggesting it; the number of images that had it."""
        step = step or self.step("delete")
        with self._db.transaction():
            number = self.word_id(word)
            images = self._db.execute(
                "SELECT image FROM tags WHERE word = ? AND verdict = 'present'", (number,)
            ).fetchall()
            self.decide([Decision(image, word, "rejected") for (image,) in images], "delete", step)
            set_deleted(self._db, number, time.time(), step)
        return len(images)

    def carry(self, old: int, new: int) -> int:
        """Give a picture that was edited in place the verdicts on the one it replaced; the number of them.

        Keywords that stood in the file are left out: the new file speaks for itself.
        """
        with self._db.transaction():
            step = self.step("carry")
            rows = self._db.execute(
                "SELECT t.word, t.verdict, t.source, d.model, d.probability FROM tags AS t "
                "JOIN decisions AS d ON d.id = t.decision "
                "WHERE t.image = ? AND NOT (t.verdict = 'present' AND t.source IN ('file', 'merge')) ORDER BY t.word",
                (old,),
            ).fetchall()
            for word, verdict, source, model, probability in rows:
                self.log.add(new, word, verdict, source, step, model=model, probability=probability)
            self.conflicts.carry(old, new)
        return len(rows)

    def carry_back(self, versions: Iterable[int], old: int, new: int) -> int:
        """Give an earlier version of a picture, put back in place of a later one, the last verdicts on any of them.

        The number of those that it did not have. Keywords that stood in files are left out, as ever.
        """
        rows = self._db.execute(
            "SELECT d.word, d.verdict, d.source, d.model, d.probability FROM decisions AS d "
            "JOIN batches ON batches.id = d.batch WHERE d.image IN (SELECT value FROM json_each(?)) "
            "AND batches.source != 'carry' AND NOT (d.verdict = 'present' AND d.source IN ('file', 'merge') "
            "AND batches.source IN ('file', 'scan')) "  # those of other steps say that an earlier verdict is no more
            "ORDER BY d.batch, d.image = ?, d.id",  # of one step, what it says of the picture that was there last
            (json.dumps(sorted(versions)), old),
        ).fetchall()
        tags = self._db.execute("SELECT word, verdict, source FROM tags WHERE image = ?", (new,))
        standing = {word: (verdict, source) for word, verdict, source in tags}
        changed = 0
        with self._db.transaction():
            step = self.step("carry")
            for number, (verdict, source, model, probability) in {row[0]: row[1:] for row in rows}.items():
                now = standing.get(number)
                by_file = verdict == "present" and source in OF_FILES
                cleared_already = verdict == "cleared" and (now is None or now[1] in OF_FILES)
                if now == (verdict, source) or by_file or cleared_already:
                    continue
                self.log.add(new, number, verdict, source, step, model=model, probability=probability)
                changed += 1
            self.conflicts.carry(old, new)
        return changed

    def resolve(self, conflicts: Iterable[Conflict], *, keep: bool) -> int:
        """Keep what was decided here, or follow the files, as one step; the number of conflicts that this settles."""
        step = self.step("conflict")
        settled = 0
        with self._db.transaction():
            for conflict in conflicts:
                if keep:
                    settled += self.conflicts.settle(conflict.image, self.word_id(conflict.word), step)
                else:
                    verdict = "rejected" if conflict.kind == "removed" else "present"
                    settled += self.decide([Decision(conflict.image, conflict.word, verdict)], "review", step)
        return settled

    def undo(self, step: int | None = None) -> Undone | None:
        """Take back the last step that has not been taken back yet, or the given one; see `undoing.undo`."""
        return undo(self._db, self.log, self.conflicts, step)

    def redo(self, step: int | None = None) -> Redone | None:
        """Do the last undone step again, unless something was decided since, or the given one; see `redoing.redo`."""
        return redo(self._db, self.log, self.conflicts, step)

    def _says_already(self, image: int, word: int, verdict: str, source: str) -> bool:
        row = self._db.execute(
            "SELECT verdict, source FROM tags WHERE image = ? AND word = ?", (image, word)
        ).fetchone()
        if row is None:
            return verdict == "cleared"
        # A person who confirms what was accepted in bulk, or stands in the file, makes it a verdict of their own.
        return row[0] == verdict and not (row[1] in ("bulk", *OF_FILES) and source == "review")

    # --- Reading -------------------------------------------------------------------------------------------

    def tags_of(self, image: int) -> list[Tag]:
        """The verdicts on an image, by word."""
        rows = self._db.execute(
            "SELECT words.word, verdict, source FROM tags JOIN words ON words.id = tags.word "
            "WHERE image = ? ORDER BY words.word",
            (image,),
        )
        return [Tag(*row) for row in rows]

    def all_tags(self) -> Iterator[tuple[int, str, str, str]]:
        """(image, word, verdict, source) of every verdict that stands."""
        return self._db.execute(
            "SELECT image, words.word, verdict, source FROM tags JOIN words ON words.id = tags.word "
            "ORDER BY image, words.word"
        )

    def answered_suggestions(self) -> set[tuple[int, str]]:
        """(image, word) of the verdicts of people on what a model had suggested."""
        return set(
            self._db.execute(
                "SELECT tags.image, words.word FROM tags JOIN words ON words.id = tags.word "
                "JOIN decisions ON decisions.id = tags.decision "
                "WHERE tags.source = 'review' AND decisions.probability IS NOT NULL"
            )
        )

    def images_with(self, words: Iterable[str], verdict: str, source: str | None = None) -> list[int]:
        """Images with a verdict on any of some words; from one source, where it is named."""
        found: set[int] = set()
        for word in words:
            rows = self._db.execute(
                "SELECT image FROM tags WHERE word = (SELECT id FROM words WHERE word = ?) AND verdict = ? "
                "AND source = coalesce(?, source)",
                (word, verdict, source),
            )
            found.update(image for (image,) in rows)
        return sorted(found)

    def left_out(self, image: int, word: str) -> bool:
        """Whether an image with a file and a caption of its owner's has no verdict on this word."""
        return bool(
            self._db.execute(
                f"SELECT {self.captions.where(':image')} "
                "AND NOT EXISTS (SELECT 1 FROM tags JOIN words ON words.id = tags.word "
                "WHERE image = :image AND words.word = :word) "
                "AND EXISTS (SELECT 1 FROM places WHERE image = :image AND gone IS NULL)",
                {"image": image, "word": word},
            ).fetchone()[0]
        )

    def n_taken_back(self) -> int:
        """Words that were in owners' captions, and that a person rejected since: false tags."""
        marks = ", ".join(f"'{source}'" for source in CAPTIONING)
        return int(
            self._db.execute(
                "SELECT count(*) FROM tags WHERE verdict = 'rejected' AND source != 'delete' AND EXISTS "
                "(SELECT 1 FROM decisions AS d WHERE d.image = tags.image AND d.word = tags.word "
                f"AND d.id < tags.decision AND d.verdict = 'present' AND d.source IN ({marks}))"
            ).fetchone()[0]
        )

    def word_counts(self) -> list[tuple[str, int, int]]:
        """(word, images that have it, images it was rejected for), most frequent first."""
        return self._db.execute(
            "SELECT words.word, sum(verdict = 'present'), sum(verdict = 'rejected') FROM tags "
            "JOIN words ON words.id = tags.word GROUP BY tags.word ORDER BY 2 DESC, 1"
        ).fetchall()

    def machine_counts(self) -> dict[str, int]:
        """Word -> images that have it by a bulk acceptance that nobody has confirmed."""
        rows = self._db.execute(
            "SELECT words.word, count(*) FROM tags JOIN words ON words.id = tags.word "
            "WHERE verdict = 'present' AND source = 'bulk' GROUP BY tags.word"
        )
        return dict(rows.fetchall())

    def counts_by_source(self) -> dict[tuple[str, str], int]:
        """(verdict, source) -> number of tags."""
        rows = self._db.execute("SELECT verdict, source, count(*) FROM tags GROUP BY source, verdict")
        return {(verdict, source): n for verdict, source, n in rows}

    def tagged_images(self) -> np.ndarray:
        """The numbers of all images that have a tag, ascending."""
        rows = self._db.execute("SELECT DISTINCT image FROM tags WHERE verdict = 'present' ORDER BY image")
        return np.fromiter((image for (image,) in rows), np.int64)

    def n_tagged(self) -> int:
        """Images with at least one tag, among those that have a file."""
        return self._db.execute(
            "SELECT count(*) FROM (SELECT DISTINCT image FROM tags WHERE verdict = 'present') AS t "
            "WHERE EXISTS (SELECT 1 FROM places WHERE places.image = t.image AND gone IS NULL)"
        ).fetchone()[0]
