"""The tree of words: what files say about it, which word is above which, and what follows from that.

A word has one place. Where files name several, the one that most of them name is taken, and what a person says
(`tags --parent`) outweighs all of them.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from topicture.collection.metadata.word_sources import WordSource
from topicture.store.database import Database
from topicture.store.decisions.decisions import Decisions
from topicture.store.decisions.steps import Step
from topicture.store.decisions.word_edits import set_field

__all__ = ["Tree"]

T = TypeVar("T", int, str)
Verdict = tuple[int, str, str, str]  # image, word, verdict, source


class Tree:
    """The column `parent` of `words`, and the table `file_places`."""

    def __init__(self, database: Database, decisions: Decisions):
        self._db = database
        self._decisions = decisions

    # --- What follows from it ------------------------------------------------------------------------------

    def paths(self) -> dict[str, tuple[str, ...]]:
        """Words that are below others, each with its path: the outermost first, the word itself last."""
        parents = self._parents()
        return {word: (*_above(word, parents)[::-1], word) for word in parents}

    def below(self) -> dict[str, set[str]]:
        """Words that have others below them, with all of those."""
        parents = self._parents()
        found: dict[str, set[str]] = {}
        for word in parents:
            for ancestor in _above(word, parents):
                found.setdefault(ancestor, set()).add(word)
        return found

    def rings(self) -> list[str]:
        """Words that lie below themselves, in use or not: there should be none."""
        rows = self._db.execute("SELECT id, word, parent FROM words").fetchall()
        parents = {number: parent for number, _, parent in rows if parent is not None}
        return sorted(
            word for number, word, _ in rows if parents.get((number, *_above(number, parents))[-1]) == number
        )

    def with_implied(self, tags: Iterable[Verdict]) -> Iterator[Verdict]:
        """Verdicts, and those that they imply: a photo of a tiger is one of an animal, unless somebody said no."""
        parents = self._parents()
        if not parents:
            yield from tags
            return
        said = set()
        implied: dict[tuple[int, str], str] = {}
        for image, word, verdict, source in tags:
            said.add((image, word))
            yield image, word, verdict, source
            if verdict == "present":
                for ancestor in _above(word, parents):
                    if implied.get((image, ancestor), "bulk") == "bulk":  # else a person has said so
                        implied[image, ancestor] = source
        for (image, word), source in implied.items():
            if (image, word) not in said:
                yield image, word, "present", source

    def _parents(self) -> dict[str, str]:
        return dict(
            self._db.execute(
                "SELECT words.word, above.word FROM words JOIN words AS above ON above.id = words.parent "
                "WHERE words.deleted IS NULL AND above.deleted IS NULL"
            ).fetchall()
        )

    # --- What files say ------------------------------------------------------------------------------------

    def note(self, path: str, image: int, sources: Iterable[WordSource]) -> None:
        """Remember what the lists of a file say; where they could not be read whole, what they said before stays.

        A place that this catalog wrote there is nobody else's word. After another catalog, it is all that is left.
        """
        where, read = os.fsencode(path), list(sources)
        query = "SELECT words.word FROM written JOIN words ON words.id = written.word WHERE path = ?"
        ours = {word for (word,) in self._db.execute(query, (where,))}
        paths = {found for source in read for found in source.paths}
        paths |= {found for source in read for found in source.own_paths if found[-1] not in ours}
        pairs = {pair for found in paths for pair in zip(found[1:], found, strict=False)}
        if all(source.whole for source in read):
            self._db.execute("DELETE FROM file_places WHERE path = ? AND image = ?", (where, image))
        self._db.execute_many(
            "INSERT OR IGNORE INTO file_places VALUES (?, ?, ?, ?)",
            [
                (where, image, self._decisions.word_id(word), self._decisions.word_id(above))
                for word, above in sorted(pairs)
                if word != above
            ],
        )

    def settle(self, step: Step) -> None:
        """Put words where most files have them, as a part of a step; a ring is never made."""
        parents = dict(self._db.execute("SELECT id, parent FROM words WHERE parent IS NOT NULL").fetchall())
        by_people = self._placed_by_people()
        placed: set[int] = set()
        for word, above, _ in self._votes(parents):
            if word not in placed and word not in by_people and word not in (above, *_above(above, parents)):
                placed.add(word)
                parents[word] = above
                set_field(self._db, word, "parent", above, step)

    def _votes(self, parents: dict[int, int]) -> list[tuple[int, int, int]]:
        """(word, word above it, files that say so), most files first; of equals, what stands now, then the older."""
        rows = self._db.execute(
            "SELECT child.id, above.id, count(*) FROM file_places AS f "
            "JOIN places ON places.path = f.path AND places.image = f.image AND places.gone IS NULL "
            "JOIN words AS said ON said.id = f.word JOIN words AS child ON child.id = coalesce(said.merged, said.id) "
            "JOIN words AS top ON top.id = f.parent JOIN words AS above ON above.id = coalesce(top.merged, top.id) "
            "WHERE child.deleted IS NULL AND above.deleted IS NULL GROUP BY child.id, above.id"
        ).fetchall()
        return sorted(rows, key=lambda row: (-row[2], parents.get(row[0]) != row[1], row))

    def _placed_by_people(self) -> set[int]:
        """Words that somebody put where they are, or that are a new name of such a word."""
        standing = "NOT EXISTS (SELECT 1 FROM batches AS b WHERE b.undoes = e.batch)"
        rows = self._db.execute(
            "SELECT word FROM word_edits AS e JOIN batches ON batches.id = batch "
            f"WHERE field = 'parent' AND source = 'parent' AND {standing}"
        )
        placed = {word for (word,) in rows}
        renamed = self._db.execute(
            "SELECT e.word, CAST(e.after AS INTEGER) FROM word_edits AS e JOIN word_changes AS new "
            "ON new.batch = e.batch AND new.word = CAST(e.after AS INTEGER) AND new.after IS NULL "
            f"WHERE field = 'merged' AND e.before IS NULL AND {standing} ORDER BY e.batch"
        )
        for word, name in renamed:
            if word in placed:
                placed.add(name)
        return placed


def _above(word: T, parents: dict[T, T]) -> list[T]:
    """The words above a word, the nearest first; a ring, which only a damaged catalog has, ends."""
    line = [word]
    while (above := parents.get(line[-1])) is not None and above not in line:
        line.append(above)
    return line[1:]
