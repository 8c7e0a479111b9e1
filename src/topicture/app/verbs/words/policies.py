"""Suggestions that their tag's policy accepts by itself."""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from topicture.app.verbs.asking.drawing_lots import least_probabilities
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

__all__ = ["PolicyReport", "apply_policies"]


@dataclass(frozen=True)
class PolicyReport:
    """What was accepted by policy; `tags` gives each tag, the probability it was accepted from, and how often.

    `step` is its number in the log, for `undo`; None where nothing was accepted.
    """

    accepted: int
    photos: int
    tags: tuple[tuple[str, float, int], ...]
    step: int | None


def apply_policies(catalog: Catalog) -> PolicyReport:
    """Accept the open suggestions of tags with the policy "accept" that reach its precision; one step, as in bulk."""
    accepting = catalog.words.accepting()
    if not accepting or not catalog.suggestions.models():
        return PolicyReport(0, 0, (), None)
    model = catalog.suggestions.newest()
    least_of = cache(partial(least_probabilities, catalog))  # for all tags at once
    chosen, tags = [], []
    for word, precision in accepting.items():
        least = least_of(precision).get(word, np.inf)
        mine = [s for s in catalog.suggestions.open(model.id, word=word) if s.probability >= least]
        chosen += mine
        if mine:
            tags.append((word, float(least), len(mine)))
    step = catalog.decisions.step("bulk")
    catalog.decisions.decide(
        [Decision(s.image, s.word, "present", model.id, s.probability) for s in chosen], "bulk", step
    )
    return PolicyReport(len(chosen), len({s.image for s in chosen}), tuple(tags), step.made)
