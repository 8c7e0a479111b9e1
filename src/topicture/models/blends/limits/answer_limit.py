"""How long a member's answer takes, foretold from the sizes of a corpus as its memory is.

A member may learn in a minute and then answer for hours: neighbours are looked for among all that it has learned from.
What is foretold is for one core of a usual processor, rough, and the same on every machine; what every answer takes,
whoever gives it, is not counted.
"""

from collections.abc import Callable
from typing import Any

from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.blends.limits.sizes import Sizes, sizes_of
from topicture.models.neighbours import EXACT_ROWS
from topicture.models.searching.rows import MANY_ROWS

__all__ = ["answer_seconds", "duration", "most_answer_seconds"]

# For all photos of a collection this long, for a photo of a very large one that long: an hour for two million.
_ALL_SECONDS, _PHOTO_SECONDS = 2000.0, 2e-3
# Seconds of a multiplication in products of matrices, in single and in double precision, and in sparse ones; of finding
# the largest cosines, of one number looked up by itself, of a row of lists on disk, of a step through all words.
_SINGLE, _DOUBLE, _SPARSE = 4e-11, 8e-11, 1e-8
_COSINE, _LOOKED_UP, _LISTS, _WORD = 2e-9, 2e-9, 1e-3, 1e-8
# Measured for models that find a posterior per photo, and for those on graphs.
_POSTERIOR = 1e-3


def most_answer_seconds(n_photos: int) -> float:
    """What the members together may take for a photo."""
    return max(_PHOTO_SECONDS, _ALL_SECONDS / max(n_photos, 1))


def answer_seconds(annotator: Annotator, corpus: Corpus) -> float:
    """Seconds for a photo, of a member that has learned from a corpus."""
    return _SECONDS.get(annotator.name, _posterior)(annotator, sizes_of(annotator, corpus))


def duration(seconds: float) -> str:
    """In words, of a long time."""
    return f"{seconds / 3600:.0f} h" if seconds >= 7200 else f"{seconds / 60:.0f} minutes"


def _search(n_rows: int, n_neighbours: int, n: Sizes) -> float:
    """All products, and those of the candidates once more."""
    if n_rows > EXACT_ROWS:
        return _LISTS
    products = _DOUBLE * n.columns
    if n_rows >= MANY_ROWS:
        products = min(_SINGLE * n.columns, _SPARSE * n.shared)
    return n_rows * (products + _COSINE) + _LOOKED_UP * min(n_neighbours, n_rows) * n.filled


def _neighbours(annotator: Any, n: Sizes) -> float:
    votes = min(annotator.n_neighbours, n.tagged) * n.words_per_image
    return _search(n.tagged, annotator.n_neighbours, n) + _SPARSE * votes


def _linked(annotator: Any, n: Sizes) -> float:
    nodes, words = min(n.images, 100_000), min(n.words, 64)
    return _search(nodes, annotator.n_neighbours, n) + _SPARSE * annotator.n_neighbours * words


def _projected(annotator: Any, n: Sizes) -> float:
    K = annotator.n_components
    return _DOUBLE * K * n.columns + _search(n.tagged, 100, n._replace(columns=K, filled=K, shared=K))


def _linear(annotator: Any, n: Sizes) -> float:
    return n.words * min(_DOUBLE * n.columns, _LOOKED_UP * n.filled)


def _dense_linear(annotator: Any, n: Sizes) -> float:
    return n.words * _DOUBLE * n.columns


def _networks(annotator: Any, n: Sizes) -> float:
    through = _DOUBLE * annotator.n_hidden * (min(n.columns, 512) + n.words)
    return annotator.n_networks * (through + 2 * _WORD * n.words)


def _matched(annotator: Any, n: Sizes) -> float:
    rows = min(n.tagged, 20_000)
    one = rows * (_DOUBLE * annotator.n_dimensions + 2 * _WORD + _LOOKED_UP * n.words_per_image)
    return annotator.n_spaces * (one + 2 * _WORD * n.words)


def _posterior(annotator: Any, n: Sizes) -> float:
    return _POSTERIOR + _DOUBLE * getattr(annotator, "n_topics", 0) * n.words


_SECONDS: dict[str, Callable[[Any, Sizes], float]] = {
    "naive-bayes": _linear,
    "knn": _neighbours,
    "tagprop": _neighbours,
    "logistic": _linear,
    "companions": _linear,
    "ridge": _dense_linear,
    "lsa": _projected,
    "label-spreading": _linked,
    "network": _networks,
    "matching": _matched,
    "text-match": _dense_linear,
}
