"""Review: which suggestions to ask about, in which order, and accepting many at once.

The queue itself needs no model: what does is imported where it is used.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from topicture.app.verbs.asking.drawing_lots import missing_words, strata_order
from topicture.app.verbs.asking.question import Question, photo_by_photo
from topicture.app.verbs.asking.reaching import reaching
from topicture.errors import CorpusError, DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.captions import CAPTIONING
from topicture.store.decisions.decisions import Decision
from topicture.store.shards import ShardError
from topicture.store.suggestions import Open

__all__ = ["ORDERS", "BulkReport", "Question", "accept_above", "queue"]

ORDERS = ("uncertain", "certain", "teaching", "missing", "random")


@dataclass(frozen=True)
class BulkReport:
    """What was accepted at once; `tags` gives for each tag the probability it was accepted from, and how often.

    Of the tags with probable suggestions of which none was accepted, so many are known not to reach the precision, and
    for so many there is too little evidence to tell; see `asking.reaching`.
    """

    precision: float
    accepted: int
    photos: int
    tags: tuple[tuple[str, float, int], ...]
    dry_run: bool
    too_little: int = 0
    not_reached: int = 0


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
        return missing_words(catalog, tag=tag, image=image, by_image=by_image, limit=limit)
    model = catalog.suggestions.newest().id
    if image is not None:
        questions = _of_image(catalog, model, image, order, tag)
    elif order == "random":
        open_ = catalog.suggestions.open(model, word=tag)
        ranks = strata_order([suggestion.probability for suggestion in open_]).tolist()
        drawn = (open_[i] for i in sorted(range(len(open_)), key=ranks.__getitem__))
        questions = iter(photo_by_photo(drawn) if by_image else drawn)
    elif order == "teaching":
        questions = _teaching(catalog, model, tag, limit)
    else:
        in_order = catalog.suggestions.surest if order == "certain" else catalog.suggestions.most_uncertain
        questions = in_order(model, word=tag)
        if by_image:
            questions = _together(catalog, model, order, tag, (suggestion.image for suggestion in questions))
    chosen = list(islice(questions, limit))
    paths = catalog.files.first_paths({suggestion.image for suggestion in chosen})
    return [
        Question(paths[s.image], *s, left_out=catalog.decisions.left_out(s.image, s.word)) for s in chosen
    ]


def _of_image(catalog: Catalog, model: int, image: int, order: str, tag: str | None) -> Iterator[Open]:
    """The suggestions of one photo in an order."""
    found = catalog.suggestions.open(model, word=tag, image=image)
    if order == "uncertain":
        found.sort(key=lambda suggestion: abs(suggestion.probability - 0.5))
    return iter(found)


def _together(
    catalog: Catalog, model: int, order: str, tag: str | None, images: Iterable[int]
) -> Iterator[Open]:
    """All suggestions of each photo, in the order in which the photos come first."""
    seen: set[int] = set()
    for image in images:
        if image not in seen:
            seen.add(image)
            yield from _of_image(catalog, model, image, order, tag)


def _teaching(catalog: Catalog, model: int, tag: str | None, n: int) -> Iterator[Open]:
    """Photo by photo: those that teach most, then the rest by what is surest of them."""
    ranks = _teaching_ranks(catalog, set(catalog.suggestions.open_images(model, word=tag)), n)
    rest = (suggestion.image for suggestion in catalog.suggestions.surest(model, word=tag))
    return _together(catalog, model, "certain", tag, chain(sorted(ranks, key=ranks.__getitem__), rest))


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
    return np.isin(images, np.fromiter(chosen, np.int64, len(chosen)))


def accept_above(
    catalog: Catalog, precision: float, *, tag: str | None = None, dry_run: bool = False
) -> BulkReport:
    """Accept every suggestion whose tag reaches a precision from its probability on, judged on held-out human tags.

    What is accepted stays marked as the machine's: nothing is learned from it until somebody confirms it. One undo
    takes all of it back.
    """
    model = catalog.suggestions.newest()
    chosen, least, not_reached, too_little = reaching(catalog, precision, tag=tag)
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
        precision,
        len(chosen),
        len({s.image for s in chosen}),
        tags,
        dry_run,
        len(too_little),
        len(not_reached),
    )
