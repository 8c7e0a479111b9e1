"""Answers of people to suggestions about untagged photos, beside the probabilities that these were made with."""

from typing import NamedTuple

from topicture.store.database import Database
from topicture.store.decisions.captions import Captions

__all__ = ["Promises", "answered_promises"]


class Promises(NamedTuple):
    """What stood beside the suggestions that were answered, and what the answers said."""

    answers: int
    promised: float  # mean probability when the answer was given
    came_true: float  # share that was answered with yes


def answered_promises(database: Database) -> Promises | None:
    """Of all answers that stand, about photos that have a file and no caption of their owner's; None: there are none.

    What was accepted in bulk is nobody's answer. Nor is what a person said of such a tag later on: wrong ones catch the
    eye, so these are no more a sample of suggestions than the bulk is.
    """
    n, promised, came_true = database.execute(
        "SELECT count(*), avg(d.probability), avg(tags.verdict = 'present') FROM tags "
        "JOIN decisions AS d ON d.id = tags.decision JOIN words ON words.id = tags.word "
        "WHERE tags.source = 'review' AND tags.verdict IN ('present', 'rejected') AND d.probability IS NOT NULL "
        "AND words.deleted IS NULL AND EXISTS (SELECT 1 FROM places WHERE image = tags.image AND gone IS NULL) "
        f"AND NOT {Captions(database).where('tags.image')} "
        "AND coalesce((SELECT former.source || former.verdict FROM decisions AS former "
        "WHERE former.image = tags.image AND former.word = tags.word AND former.id < d.id "
        "ORDER BY former.id DESC LIMIT 1), '') != 'bulkpresent'"
    ).fetchone()
    return Promises(n, promised, came_true) if n else None
