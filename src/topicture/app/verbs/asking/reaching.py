"""Which open suggestions reach a precision, judged on held-out tags and answers; and why those of other tags do not."""

from typing import NamedTuple

import numpy as np

from topicture.app.learning.reports import load_report
from topicture.app.verbs.asking.drawing_lots import Audit, audit_verdict, least_probabilities
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.suggestions import Open

__all__ = ["Reaching", "falls_short", "reaching"]

LIKELY = 0.5
FEWEST_JUDGED = 20
IMPROBABLE = 0.05


class Reaching(NamedTuple):
    """Suggestions that reach a precision, and from which probability those of each tag do.

    The other tags have likely suggestions, and either so much evidence that they are known not to reach it, or too
    little to tell.
    """

    chosen: list[Open]
    least: dict[str, float]
    not_reached: frozenset[str]
    too_little: frozenset[str]


def reaching(catalog: Catalog, precision: float, *, tag: str | None = None) -> Reaching:
    """What may be accepted at a precision, of one tag or of all; raises TopictureError where that is no share."""
    if not 0 < precision < 1:
        raise TopictureError(f"the precision lies between 0 and 1, as in 0.95; not {precision:g}")
    open_ = catalog.suggestions.open(catalog.suggestions.newest().id, word=tag)
    least = least_probabilities(catalog, precision)
    chosen = [s for s in open_ if s.probability >= least.get(s.word, np.inf)]
    without = {
        s.word for s in open_ if s.probability >= LIKELY and not np.isfinite(least.get(s.word, np.inf))
    }
    short = frozenset(without & _short_words(catalog, precision))
    return Reaching(chosen, least, short, frozenset(without - short))


def falls_short(judged: int, share: float, precision: float) -> bool:
    """Whether a tag is known not to reach a precision, by so many likely suggestions and the share that was right.

    At least 20 of them were judged, and that they reach it in truth is no more probable than 1 in 20 (from Beta(1, 1)).
    Of fewer, or where it is more probable, answers may still show that the tag reaches it.
    """
    if judged < FEWEST_JUDGED:
        return False
    return audit_verdict(Audit(judged, round(share * judged)), precision) < IMPROBABLE


def _short_words(catalog: Catalog, precision: float) -> set[str]:
    """Words, by their names of today, that are known not to reach it; of merged ones any, as for probabilities."""
    means = catalog.decisions.merged_words()
    tags = load_report(catalog.model_folder(catalog.suggestions.newest()))["tags"]
    known = {tag["word"] for tag in tags}
    return {
        name
        for tag in tags
        for name in [means.get(tag["word"], tag["word"])]
        if (name == tag["word"] or name not in known)
        and tag.get("precision") is not None
        and falls_short(tag.get("suggested") or 0, tag["precision"], precision)
    }
