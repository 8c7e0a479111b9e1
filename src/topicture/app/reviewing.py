"""Review: which suggestions to ask about, in which order, and accepting many at once.

The queue itself needs no model: what does is imported where it is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicture.app.status import current_model
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions import CAPTIONING, Decision
from topicture.store.suggestions import Open

__all__ = ["ORDERS", "BulkReport", "Question", "accept_above", "queue"]

ORDERS = ("uncertain", "certain", "teaching")


@dataclass(frozen=True)
class Question:
    """Is this word true of this photo?"""

    path: str
    image: int
    word: str
    probability: float


@dataclass(frozen=True)
class BulkReport:
    """What was accepted at once; `tags` gives for each tag the probability it was accepted from, and how often."""

    precision: float
    accepted: int
    photos: int
    tags: tuple[tuple[str, float, int], ...]
    dry_run: bool


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
    order : "uncertain" (nearest to even odds), "certain" (most probable), or "teaching" (photos whose answers help most
        with the others; all suggestions of a photo together)
    tag, image : only about this word, or this photo
    by_image : keep the suggestions of a photo together, whatever the order
    """
    if order not in ORDERS:
        raise TopictureError(f"there is no order {order!r}; there are: {', '.join(ORDERS)}")
    open_ = catalog.suggestions.open(current_model(catalog).id, word=tag, image=image)
    key = _teaching_key(catalog, open_, limit) if order == "teaching" else None
    if key is None:
        value = (lambda s: abs(s.probability - 0.5)) if order == "uncertain" else (lambda s: -s.probability)
        first: dict[int, float] = {}
        for suggestion in open_:
            first[suggestion.image] = min(first.get(suggestion.image, np.inf), value(suggestion))
        rank = (
            (lambda s: (first[s.image], s.image, value(s), s.word))
            if by_image
            else (lambda s: (value(s), s.image, s.word))
        )
        chosen = sorted(open_, key=rank)[:limit]
    else:
        chosen = sorted(open_, key=lambda s: (key.get(s.image, len(key)), s.image, -s.probability))[:limit]
    paths = catalog.places.first_paths({suggestion.image for suggestion in chosen})
    return [Question(paths[s.image], s.image, s.word, s.probability) for s in chosen]


def _teaching_key(catalog: Catalog, open_: Sequence[Open], n: int) -> dict[int, int]:
    """Image -> place in the order in which photos teach most."""
    from topicture.annotations.teaching import teaching_order

    folder = catalog.index_folder()
    if folder is None or not (folder / "descriptor.npy").exists():
        raise DataNotFound("the teaching order needs an index of appearances; run 'topicture annotate'")
    images = np.load(folder / "images.npy")
    asked = {suggestion.image for suggestion in open_}
    captioned = {
        image
        for image, _, verdict, source in catalog.decisions.all_tags()
        if verdict == "present" and (source in CAPTIONING or source == "review")
    }
    wanted = np.array([int(image) in asked and int(image) not in captioned for image in images])
    rows = np.asarray(np.load(folder / "descriptor.npy", mmap_mode="r"), np.float32)
    order = teaching_order(rows, ~wanted, min(n, int(wanted.sum())))
    return {int(images[position]): place for place, position in enumerate(order)}


def accept_above(
    catalog: Catalog, precision: float, *, tag: str | None = None, dry_run: bool = False
) -> BulkReport:
    """Accept every suggestion whose tag reaches a precision from its probability on, judged on held-out human tags.

    One undo takes all of it back.
    """
    from topicture.annotations.presence import thresholds
    from topicture.app.model_folder import load_learned

    if not 0 < precision < 1:
        raise TopictureError(f"the precision lies between 0 and 1, as in 0.95; not {precision:g}")
    model = current_model(catalog)
    learned = load_learned(catalog.model_folder(model))
    least = dict(
        zip(learned.vocabulary, thresholds(learned.pairs, len(learned.vocabulary), precision), strict=True)
    )
    chosen = [
        s for s in catalog.suggestions.open(model.id, word=tag) if s.probability >= least.get(s.word, np.inf)
    ]
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
    return BulkReport(precision, len(chosen), len({s.image for s in chosen}), tags, dry_run)
