"""A word that somebody teaches by clicking on photos: the rest of the collection, ranked anew at every click."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from topicture.annotations.one_word import RATE, Background, learn_word
from topicture.app.verbs.deciding.cards import cards
from topicture.app.verbs.searching import search
from topicture.collection.words import clean_word
from topicture.errors import CorpusError, DataNotFound
from topicture.search import WordIndex
from topicture.search.index import top_positions
from topicture.store import Catalog
from topicture.store.shards import FeatureShards, ShardError

__all__ = ["Taught", "teach"]

MOST_EXAMPLES = 200  # of each kind: more would take longer, and teach little
SHOWN_EXAMPLES = 24


@dataclass(frozen=True)
class Taught:
    """What a word looks like after some clicks.

    Attributes
    ----------
    photos : cards of photos without a verdict on the word, the most probable first, with `probability`; before the
        first example somewhere to begin, without
    likely : how many of them have even odds or better
    yes, no : number of examples learned from
    examples : ids of the last examples of each kind
    seconds : how long it took
    """

    word: str
    photos: list[dict[str, Any]]
    likely: int
    yes: int
    no: int
    examples: dict[str, list[int]]
    seconds: float


def teach(
    catalog: Catalog,
    word: str,
    yes: Iterable[int] = (),
    no: Iterable[int] = (),
    *,
    offset: int = 0,
    limit: int = 48,
    query: str = "",
    seed: int = 0,
) -> Taught:
    """Learn a word from what was decided about it and from clicks, and rank the photos nobody has decided on.

    Without an example of the word: photos that a search finds, or that a model knew the word of, or any.
    """
    start, word = time.perf_counter(), clean_word(word)
    rows = catalog.features()
    if rows is None:
        raise DataNotFound("teaching needs to know what the photos look like; run 'topicture annotate' first")
    images = np.asarray(catalog.index_images())
    has, lacks = _examples(catalog, word, yes, no)
    decided = np.isin(images, np.array([*has, *lacks], np.int64))
    known = _positions(images, has[-MOST_EXAMPLES:]), _positions(images, lacks[-MOST_EXAMPLES:])
    background = _background(rows.folder, (rows.folder / "manifest.json").stat().st_mtime_ns)
    likely, chosen = 0, list[tuple[int, float | None]]()
    if len(known[0]):
        log_odds = _log_odds(rows, background, known, max(RATE, len(has) / max(len(images), 1)))
        log_odds[decided] = -np.inf
        likely = int((log_odds >= 0).sum())
        order = top_positions(log_odds, offset + 2 * limit)[offset:]
        order = order[log_odds[order] > -np.inf]
        chosen = [(int(images[position]), float(expit(log_odds[position]))) for position in order]
    else:
        undecided = images[~decided]
        chosen = [
            (image, None) for image in _beginning(catalog, word, undecided, query, offset + limit, seed)
        ]
    photos = _photos(catalog, chosen)[:limit]
    examples = {"yes": has[-SHOWN_EXAMPLES:][::-1], "no": lacks[-SHOWN_EXAMPLES:][::-1]}
    seconds = time.perf_counter() - start
    return Taught(word, photos, likely, len(has), len(lacks), examples, seconds)


def _examples(
    catalog: Catalog, word: str, yes: Iterable[int], no: Iterable[int]
) -> tuple[list[int], list[int]]:
    """Photos that have the word and that lack it: what stands in the catalog, then clicks, which count more."""
    clicked = {**dict.fromkeys(no, False), **dict.fromkeys(yes, True)}
    said = dict.fromkeys(catalog.decisions.images_with([word], "present"), True)
    said |= dict.fromkeys(catalog.decisions.images_with([word], "rejected"), False)
    for image in clicked:
        said.pop(image, None)
    said |= clicked
    return [i for i, has in said.items() if has], [i for i, has in said.items() if not has]


def _positions(images: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Where photos are in the index; those that are not in it yet are left out."""
    at = np.searchsorted(images, wanted)
    inside = at < len(images)
    at = at[inside]
    return at[images[at] == np.asarray(wanted, np.int64)[inside]]


@lru_cache(maxsize=2)  # an index never changes; the time tells it from another that took its place
def _background(folder: Path, made: int) -> Background:
    try:
        return Background(FeatureShards(folder))
    except CorpusError as error:
        raise ShardError(f"{folder}: {error} (topicture annotate)") from None


def _log_odds(
    rows: FeatureShards, background: Background, known: tuple[np.ndarray, np.ndarray], rate: float
) -> np.ndarray:
    yes, no = known
    clicked = np.concatenate([rows[yes], rows[no]])
    learned = learn_word(background, clicked, np.arange(len(clicked)) < len(yes), min(rate, 0.5))
    return learned.log_odds(rows)


def _beginning(
    catalog: Catalog, word: str, images: np.ndarray, query: str, limit: int, seed: int
) -> list[int]:
    """Photos to begin with, while nothing is known of the word."""
    if query.strip():
        left = set(images.tolist())
        return [hit.image for hit in search(catalog, query, limit) if hit.image in left]
    folder = catalog.index_folder()
    index = None if folder is None or seed else WordIndex.open(folder)
    if index is not None and word in index.vocabulary:
        row = index.row(index.vocabulary.index(word))
        all_images, left = catalog.index_images(), set(images.tolist())
        best = (int(all_images[position]) for position in top_positions(row, min(len(row), 4 * limit)))
        return [image for image in best if image in left][:limit]
    rng = np.random.default_rng(seed)
    return rng.choice(images, min(limit, len(images)), replace=False).tolist()


def _photos(catalog: Catalog, chosen: Sequence[tuple[int, float | None]]) -> list[dict[str, Any]]:
    living = [(image, p) for image, p in chosen if catalog.files.paths_of(image)]
    known = cards(catalog, (image for image, _ in living))
    return [{**known[image], **({} if p is None else {"probability": p})} for image, p in living]
