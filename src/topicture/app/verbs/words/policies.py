"""Suggestions that their tag's policy accepts by itself."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topicture.app.learning.reports import load_report
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.suggestions import LearnedModel

__all__ = ["PolicyReport", "apply_policies", "least_presence"]


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
    reach = least_presence(catalog, model)
    chosen, tags = [], []
    for word, precision in accepting.items():
        least = reach(precision).get(word, np.inf)
        mine = [s for s in catalog.suggestions.open(model.id, word=word) if s.probability >= least]
        chosen += mine
        if mine:
            tags.append((word, float(least), len(mine)))
    step = catalog.decisions.step("bulk")
    catalog.decisions.decide(
        [Decision(s.image, s.word, "present", model.id, s.probability) for s in chosen], "bulk", step
    )
    return PolicyReport(len(chosen), len({s.image for s in chosen}), tuple(tags), step.made)


def least_presence(catalog: Catalog, model: LearnedModel) -> Callable[[float], dict[str, float]]:
    """For a precision: the words of a model, by their names of today, with the presence from which they reach it.

    Of several that were merged into one, the most cautious counts, unless that one was known to the model itself.
    """
    from topicture.annotations.choice.presence import thresholds
    from topicture.app.learning.model_folder import load_judged

    folder = catalog.model_folder(model)
    words = [tag["word"] for tag in load_report(folder)["tags"]]
    _, pairs = load_judged(folder, len(words))
    means = catalog.decisions.merged_words()

    def reached(precision: float) -> dict[str, float]:
        own = dict(zip(words, thresholds(pairs, len(words), precision).tolist(), strict=True))
        found = {word: least for word, least in own.items() if word not in means}
        for word in own.keys() & means.keys():
            if means[word] not in own:
                found[means[word]] = max(found.get(means[word], 0.0), own[word])
        return found

    return reached
