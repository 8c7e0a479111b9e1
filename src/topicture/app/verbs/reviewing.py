"""Review: which suggestions to ask about, in which order, and accepting many at once.

The queue itself needs no model: what does is imported where it is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicture.app.verbs.asking.drawing_lots import least_probabilities, missing_words, strata_order
from topicture.app.verbs.asking.question import Question
from topicture.errors import CorpusError, DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import CAPTIONING, Decision
from topicture.store.shards import ShardError
from topicture.store.suggestions import Open

__all__ = ["ORDERS", "BulkReport", "Question", "accept_above", "queue"]

ORDERS = ("uncertain", "certain", "teaching", "missing", "random")


@dataclass(frozen=True)
class BulkReport:
    """What was accepted at once; `tags` gives for each tag the probability it was accepted from, and how often."""

    precision: float
    accepted: int
    photos: int
    tags: tuple[tuple[str, float, int], ...]
    dry_run: bool
    too_little: int = 0  # tags with probable suggestions, and too little evidence for that precision


def queue(
    catalog: Catalog,
    order: str = "uncertain",
    *,
    tag: str | None = None,
    image: int | None = None,
    by_image: bool = False,
    limit: int = 50,
) -> list[Question]:
    """Undecided suggestions of the newest model, the first to ask about first.

    Parameters
    ----------
    order : "uncertain" (nearest to even odds), "certain" (most probable), "teaching" (photos whose answers help most
        with the others; all suggestions of a photo together), "missing" (words that tagged photos most probably lack by
        oversight) or "random" (a sample in strata of probability, by which promises are checked)
    tag, image : only about this word, or this photo
    by_image : keep the suggestions of a photo together, whatever the order
    """
    if order not in ORDERS:
        raise TopictureError(f"there is no order {order!r}; there are: {', '.join(ORDERS)}")
    if order == "missing":
        return missing_words(catalog, tag=tag, image=image, limit=limit)
    open_ = catalog.suggestions.open(catalog.suggestions.newest().id, word=tag, image=image)
    if order == "teaching":
        ranks = _teaching_ranks(catalog, {suggestion.image for suggestion in open_}, limit)
        values = [ranks.get(suggestion.image, len(ranks)) - suggestion.probability for suggestion in open_]
    elif order == "random":
        values = strata_order([suggestion.probability for suggestion in open_]).tolist()
    elif order == "certain":
        values = [-suggestion.probability for suggestion in open_]
    else:
        values = [abs(suggestion.probability - 0.5) for suggestion in open_]
    chosen = _in_order(open_, values, together=by_image or order == "teaching")[:limit]
    paths = catalog.files.first_paths({suggestion.image for suggestion in chosen})
    return [Question(paths[s.image], s.image, s.word, s.probability) for s in chosen]


def _in_order(open_: Sequence[Open], values: Sequence[float], *, together: bool) -> list[Open]:
    """Suggestions by rising value; with `together`, photo by photo, in the order of their first suggestion."""
    first: dict[int, float] = {}
    for suggestion, value in zip(open_, values, strict=True):
        first[suggestion.image] = min(first.get(suggestion.image, np.inf), value)
    ranked = sorted(
        zip(open_, values, strict=True),
        key=lambda pair: (
            first[pair[0].image] if together else pair[1],
            pair[0].image,
            pair[1],
            pair[0].word,
        ),
    )
    return [suggestion for suggestion, _ in ranked]


def _teaching_ranks(catalog: Catalog, asked: set[int], n: int) -> dict[int, int]:
    """Image -> rank in the order in which photos teach most, for the first n of those to be asked about."""
    from topicture.annotations.teaching import teaching_order

    rows = catalog.features()
    if rows is None:
        raise DataNotFound("the teaching order needs an index of appearances; run 'topicture annotate'")
    images = catalog.index_images()
    answered = {
        image
        for image, _, verdict, source in catalog.decisions.all_tags()
        if verdict == "present" and (source in CAPTIONING or source == "review")
    }
    try:
        order = teaching_order(rows, _among(images, answered), n, among=_among(images, asked - answered))
    except CorpusError as error:
        raise ShardError(f"{rows.folder}: {error} (topicture annotate)") from None
    return {int(images[position]): rank for rank, position in enumerate(order)}


def _among(images: np.ndarray, chosen: set[int]) -> np.ndarray:
    return np.array([int(image) in chosen for image in images], dtype=bool)


def accept_above(
    catalog: Catalog, precision: float, *, tag: str | None = None, dry_run: bool = False
) -> BulkReport:
    """Accept every suggestion whose tag reaches a precision from its probability on, judged on held-out human tags.

    What is accepted stays marked as the machine's: nothing is learned from it until somebody confirms it. One undo
    takes all of it back.
    """
    if not 0 < precision < 1:
        raise TopictureError(f"the precision lies between 0 and 1, as in 0.95; not {precision:g}")
    model = catalog.suggestions.newest()
    open_ = catalog.suggestions.open(model.id, word=tag)
    least = least_probabilities(catalog, open_, precision)
    chosen = [s for s in open_ if s.probability >= least.get(s.word, np.inf)]
    doubtful = {s.word for s in open_ if s.probability >= 0.5 and not np.isfinite(least.get(s.word, np.inf))}
    if not dry_run:
        catalog.decisions.decide(
            [Decision(s.image, s.word, "present", model.id, s.probability) for s in chosen], "bulk"
        )
    counts: dict[str, int] = {}
    for suggestion in chosen:
        counts[suggestion.word] = counts.get(suggestion.word, 0) + 1
    tags = tuple(
        (word, float(least[word]), n) for word, n in sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    )
    return BulkReport(
        precision, len(chosen), len({s.image for s in chosen}), tags, dry_run, too_little=len(doubtful)
    )
