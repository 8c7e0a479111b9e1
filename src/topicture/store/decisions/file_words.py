"""Keywords in files become decisions only when they change: what a file says is news once.

So a rejected keyword that still stands in an untouched file stays rejected, wherever the file is moved to, and a word
that Topicture itself wrote is not taken for a person's.

A keyword that another program has added is a decision for it. One that another program had written and has removed
again takes its tag along. But a file never overrules a person: a word that was accepted or rejected here, and that the
file now contradicts, is a conflict (see `conflicts`). And only a place that was read whole can lack a word: metadata
that can't be read, or a sidecar that is gone, say nothing.

A program that reads a sidecar before we take a word of ours out, and writes it afterwards, puts that word back together
with our record of it. It is news as any other, but still ours: as accepted as it was, and to take out once somebody
says so.
"""

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from topicture.collection.metadata.word_sources import WordSource
from topicture.store.database import Database
from topicture.store.decisions.decisions import OF_FILES, OURS, Decision, Decisions, Tag
from topicture.store.decisions.log import Logged
from topicture.store.decisions.steps import Step, undone_steps

__all__ = ["FileNews", "FileWords"]

_ACCEPTED = f"verdict = 'present' AND source IN ({', '.join(repr(source) for source in OURS)})"


class FileNews(NamedTuple):
    """What a file says now, and what that changes.

    Attributes
    ----------
    said : (word, origin) of all that stands there, or stood there when its origin was last read
    added : words nobody had said of this picture
    returned : words whose removal had taken their tag along, and that are back
    gone : words that no longer stand there
    withdrawn : those of them that had come from a file, and take their tag along
    removed, contradicted : words accepted here that are gone, and words rejected here that were put in: conflicts
    own : (word, was it a model's choice) of those that stand there as ours, and were once accepted here

    `said`, `gone` and `own` are as they stand in the file; the others name what a word means since it was merged.
    """

    said: frozenset[tuple[str, str]]
    added: tuple[str, ...]
    returned: tuple[str, ...]
    gone: tuple[str, ...]
    withdrawn: tuple[str, ...]
    removed: tuple[str, ...]
    contradicted: tuple[str, ...]
    own: frozenset[tuple[str, bool]]


class FileWords:
    """The table `file_words`."""

    def __init__(self, database: Database, decisions: Decisions):
        self._db = database
        self._decisions = decisions

    def update(
        self, path: str, image: int, sources: Iterable[WordSource], step: Step | None = None
    ) -> FileNews:
        """Note what a file says now, and log what that changes."""
        with self._db.transaction():
            news = self.news(path, image, sources)
            self.apply(path, image, news, step or self._decisions.step("scan"))
        return news

    def news(self, path: str, image: int, sources: Iterable[WordSource]) -> FileNews:
        """What it would change if this were noted."""
        where, sources = os.fsencode(path), list(sources)
        former = self._said_at(where, image)
        before = {word for word, _ in former}
        ever = before | self._said_of(image)
        ours = self._written_at(where)
        own = self._own(image, sources)
        said = _said(sources, former, ever | ours.keys() | own.keys())
        now = {word for word, _ in said}
        tags = {tag.word: tag for tag in self._decisions.tags_of(image)}
        meant = self._decisions.merged_words()  # a file may say a word under a name that was given up

        def meanings(words: Iterable[str]) -> set[str]:
            return {meant.get(word, word) for word in words}

        new = now - before
        withdrawn_before = meanings(new) & self._ever_withdrawn(image)
        returned = {
            word for word in withdrawn_before if self._withdrawn(image, self._decisions.word_id(word))
        } - tags.keys()
        unheard = meanings(new - ever - ours.keys()) - returned
        gone = {word for word in before - now if ours.get(word) != "planned"}
        unsaid = meanings(gone) - meanings(now)
        elsewhere = meanings(self._said_of(image, living_but=where))
        return FileNews(
            frozenset(said),
            added=tuple(sorted(unheard - tags.keys() - meanings(word for word in own if own[word]))),
            returned=tuple(sorted(returned)),
            gone=tuple(sorted(gone)),
            withdrawn=tuple(sorted(word for word in unsaid - elsewhere if _is_of_file(tags.get(word)))),
            removed=tuple(sorted(word for word in unsaid if _is_present_here(tags.get(word)))),
            contradicted=tuple(
                sorted(word for word in unheard & tags.keys() if tags[word].verdict == "rejected")
            ),
            own=frozenset(own.items()),
        )

    def apply(self, path: str, image: int, news: FileNews, step: Step) -> None:
        """Note it, and log what it changes as a part of a step."""
        where = os.fsencode(path)
        with self._db.transaction():
            ids = {word: self._decisions.word_id(word) for word, _ in news.said}
            meant = self._decisions.merged_words()
            said = {meant.get(word, word) for word in ids}
            self._db.execute("DELETE FROM file_words WHERE path = ? AND image = ?", (where, image))
            self._db.execute_many(
                "INSERT INTO file_words VALUES (?, ?, ?, ?)",
                [(where, image, ids[word], origin) for word, origin in sorted(news.said)],
            )
            self._follow(where, image, ids.values())
            self._claim(where, [(ids[word], by_machine) for word, by_machine in news.own])
            self._forget(image, [word for word in news.gone if meant.get(word, word) in news.withdrawn])
            added = [Decision(image, word, "present") for word in news.added]
            own = {word for word, _ in news.own}
            changes = [each for each in added if each.word in ids.keys() - own]
            changes += [Decision(image, word, "cleared") for word in news.withdrawn]
            self._decisions.decide(changes, "file", step)
            for each in added:
                number = self._decisions.word_id(each.word)
                if each.word not in ids:
                    self._decisions.decide([each], self._source("merge", number), step)
                elif each.word in own:
                    self._restore(image, number, self._accepted(image, number), step)
            for word in news.returned:
                number = self._decisions.word_id(word)
                self._restore(image, number, self._withdrawn(image, number), step)
            conflicts = self._decisions.conflicts
            conflicts.drop(image, "removed", path, said)
            conflicts.drop(image, "added", path, {meant.get(word, word) for word in news.gone} - said)
            for word in news.contradicted:
                conflicts.note(image, self._decisions.word_id(word), "added", path)
            for word in news.removed:
                conflicts.note(image, self._decisions.word_id(word), "removed", path)

    def missing_sidecars(self) -> int:
        """Photos beside which Topicture wrote a sidecar that is not there any more."""
        return self._db.execute(
            "SELECT count(DISTINCT path) FROM written JOIN places USING (path) "
            "WHERE state = 'done' AND gone IS NULL AND sidecars = ''"
        ).fetchone()[0]

    # --- What was known ------------------------------------------------------------------------------------

    def _said_at(self, where: bytes, image: int) -> set[tuple[str, str]]:
        rows = self._db.execute(
            "SELECT words.word, origin FROM file_words JOIN words ON words.id = file_words.word "
            "WHERE path = ? AND image = ?",
            (where, image),
        )
        return set(rows)

    def _said_of(self, image: int, *, living_but: bytes | None = None) -> set[str]:
        """All that files ever said of a picture; or, that its other files say now."""
        condition = (
            ""
            if living_but is None
            else "AND path != ? AND EXISTS (SELECT 1 FROM places WHERE places.path = file_words.path "
            "AND places.image = file_words.image AND gone IS NULL)"
        )
        rows = self._db.execute(
            "SELECT DISTINCT words.word FROM file_words JOIN words ON words.id = file_words.word "
            f"WHERE image = ? {condition}",
            (image,) if living_but is None else (image, living_but),
        )
        return {word for (word,) in rows}

    def _written_at(self, where: bytes) -> dict[str, str]:
        return dict(
            self._db.execute(
                "SELECT words.word, state FROM written JOIN words ON words.id = written.word WHERE path = ?",
                (where,),
            ).fetchall()
        )

    def _own(self, image: int, sources: Iterable[WordSource]) -> dict[str, bool]:
        """Words that sidecars record as ours, and whether they are a model's choice alone.

        Only those that were once accepted here: what another catalog wrote is no more ours than any keyword.
        """
        if not any(source.own for source in sources):
            return {}
        rows = self._db.execute(
            "SELECT DISTINCT words.word FROM decisions JOIN words ON words.id = decisions.word "
            f"WHERE image = ? AND {_ACCEPTED}",
            (image,),
        )
        accepted = {word for (word,) in rows}
        by_people = {word for source in sources for word in source.words}
        return {word: word not in by_people for source in sources for word in source.own if word in accepted}

    def _ever_withdrawn(self, image: int) -> set[str]:
        rows = self._db.execute(
            "SELECT DISTINCT words.word FROM decisions JOIN words ON words.id = decisions.word "
            "WHERE image = ? AND verdict = 'cleared' AND source = 'file'",
            (image,),
        )
        return {word for (word,) in rows}

    def _withdrawn(self, image: int, word: int) -> Logged | None:
        """The tag that is missing only because a file once lacked the word, as it was; None where there is none."""
        history = self._decisions.log.history(image, word)
        gone = undone_steps(self._db, history.before)  # of all steps, this would take ever longer
        standing = history.stands(gone)
        if standing is None or (standing.verdict, standing.source) != ("cleared", "file"):
            return None
        earlier = history.stood_before(standing.batch, gone)
        return earlier if earlier is not None and earlier.verdict == "present" else None

    def _accepted(self, image: int, word: int) -> Logged | None:
        """How a word was last accepted here: by a person, if ever."""
        row = self._db.execute(
            "SELECT batch, verdict, source, model, probability FROM decisions "
            f"WHERE image = ? AND word = ? AND {_ACCEPTED} ORDER BY source = 'bulk', id DESC LIMIT 1",
            (image, word),
        ).fetchone()
        return None if row is None else Logged(*row)

    # --- What it changes -----------------------------------------------------------------------------------

    def _restore(self, image: int, word: int, earlier: Logged | None, step: Step) -> None:
        """The decision as it was, with its source and what the model had said."""
        assert earlier is not None
        self._decisions.log.add(
            image,
            word,
            "present",
            self._source(earlier.source, word),
            step,
            model=earlier.model,
            probability=earlier.probability,
        )

    def _source(self, source: str, word: int) -> str:
        """The source of a tag that a file gives: what it says under a former name is not written for a deleted word."""
        (deleted,) = self._db.execute("SELECT deleted FROM words WHERE id = ?", (word,)).fetchone()
        return "file" if deleted is not None else source

    def _forget(self, image: int, words: Iterable[str]) -> None:
        """Words taken out of a file are news again should they come back, even at a place where it once lay."""
        for word in words:
            self._db.execute(
                "DELETE FROM file_words WHERE image = :image AND word = (SELECT id FROM words WHERE word = :word) "
                "AND NOT EXISTS (SELECT 1 FROM places WHERE places.path = file_words.path "
                "AND places.image = :image AND gone IS NULL)",
                {"image": image, "word": word},
            )

    def _follow(self, where: bytes, image: int, words: Iterable[int]) -> None:
        """A sidecar that was moved or copied with its photo: what we wrote into it is still ours to take out."""
        self._db.execute_many(
            "INSERT OR IGNORE INTO written SELECT ?, word, state, by_machine, at, misplaced FROM written "
            "WHERE state = 'done' AND path != ? AND path IN (SELECT path FROM places WHERE image = ?) "
            "AND word = ?",
            [(where, where, image, word) for word in words],
        )

    def _claim(self, where: bytes, words: Iterable[tuple[int, bool]]) -> None:
        """What stands there as ours is ours to take out, although we had noted that we did."""
        now = time.time()
        self._db.execute_many(
            "INSERT OR IGNORE INTO written (path, word, state, by_machine, at) VALUES (?, ?, 'done', ?, ?)",
            [(where, word, by_machine, now) for word, by_machine in words],
        )


def _said(
    sources: Iterable[WordSource], former: set[tuple[str, str]], known: set[str]
) -> set[tuple[str, str]]:
    """What stands in each place. One that was not read whole, or is not there, may still say what it said before.

    A model's choice counts where the word is `known` otherwise: it is nobody's decision, but neither was it removed.
    """
    read = {source.name: source for source in sources}
    said = {
        (word, source.name) for source in read.values() for word in source.words | (source.by_machine & known)
    }
    heard = {word for word, _ in said}
    for word, origin in former:
        # Where another place says the word now, the one that is gone is not needed for it any more.
        if (origin in read and not read[origin].whole) or (origin not in read and word not in heard):
            said.add((word, origin))
    return said


def _is_of_file(tag: Tag | None) -> bool:
    return tag is not None and tag.verdict == "present" and tag.source in OF_FILES


def _is_present_here(tag: Tag | None) -> bool:
    return tag is not None and tag.verdict == "present" and tag.source not in OF_FILES
