"""What a person should tag next: the photos that teach most, and the words that are too rare or not yet told apart."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from topicture.annotations.teaching import teaching_order
from topicture.app.learning.reports import load_report
from topicture.errors import CorpusError, DataNotFound, ModelFileError
from topicture.store import Catalog
from topicture.store.decisions.captions import CAPTIONING
from topicture.store.shards import ShardError

__all__ = ["NextPhoto", "RareWord", "WeakWord", "WhatNext", "what_next"]

MOST_WORDS = 12
WEAK_PRECISION = 0.7


@dataclass(frozen=True)
class NextPhoto:
    id: int
    path: str


@dataclass(frozen=True)
class RareWord:
    """A word that was left out, for want of photos."""

    word: str
    photos: int
    needed: int


@dataclass(frozen=True)
class WeakWord:
    """A word whose suggestions are often wrong; None where it was never suggested."""

    word: str
    photos: int
    precision: float | None


@dataclass(frozen=True)
class WhatNext:
    """Photos in the order in which they teach most; words by how near they are to being learned."""

    photos: tuple[NextPhoto, ...]
    rare: tuple[RareWord, ...]
    weak: tuple[WeakWord, ...]


def what_next(catalog: Catalog, n_photos: int = 12) -> WhatNext:
    """What would help most; little where nothing was learned yet."""
    report = _report(catalog)
    needed = report.get("min_count", 3)
    counts: Counter[str] = Counter()
    tagged = set()
    for image, word, verdict, source in catalog.decisions.all_tags():
        if verdict == "present":
            counts[word] += 1
            if source in CAPTIONING or source == "review":
                tagged.add(image)
    rare = sorted((RareWord(w, n, needed) for w, n in counts.items() if n < needed), key=lambda r: -r.photos)
    weak = [  # none where no precision was measured
        WeakWord(tag["word"], tag["photos"], tag["precision"])
        for tag in report.get("tags", [])
        if report.get("measured", True) and (tag["precision"] is None or tag["precision"] < WEAK_PRECISION)
    ]
    weak.sort(key=lambda tag: (tag.precision is None, tag.precision or 0.0, -tag.photos))
    return WhatNext(_photos(catalog, tagged, n_photos), tuple(rare[:MOST_WORDS]), tuple(weak[:MOST_WORDS]))


def _report(catalog: Catalog) -> dict:
    models = catalog.suggestions.models()
    try:
        return load_report(catalog.model_folder(models[0])) if models else {}
    except (DataNotFound, ModelFileError):
        return {}


def _photos(catalog: Catalog, tagged: set[int], n: int) -> tuple[NextPhoto, ...]:
    """Untagged photos that many others look like; none where nothing tells how photos look."""
    try:
        rows, images = catalog.features(), catalog.index_images()
        if rows is None:
            return ()
        order = teaching_order(rows, np.array([int(image) in tagged for image in images], dtype=bool), n)
    except (ShardError, CorpusError):
        return ()
    chosen = [int(images[position]) for position in order]
    paths = catalog.files.first_paths(chosen)
    return tuple(NextPhoto(image, paths[image]) for image in chosen if image in paths)
