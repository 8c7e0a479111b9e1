"""How much memory a member's fit takes, foretold from the sizes of a corpus as its time is from its steps.

Rough, and rather too much than too little: what matters is that a fit which can't be done is not begun.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.blends.limits.answer_limit import answer_seconds
from topicture.models.blends.limits.sizes import Sizes, sizes_of
from topicture.models.graphs.edges import shared_terms

__all__ = ["fit_bytes", "most_judged", "part_that_fits"]

_NUMBER = 8
# Pairs of image and word whose answers a blend is chosen by: more make it slower, not better.
_MOST_PAIRS = 6_000_000
_FEWEST_JUDGED = 60
# Images that edges of a graph are counted for.
_SOME_NODES = 100


def most_judged(n_words: int, n_members: int, budget_bytes: float) -> int:
    """Images whose hidden captions members are judged by: so many that all their answers can be held."""
    # Answers in float32; while a blend is chosen their logarithms, and as many numbers again of one fold.
    per_pair = n_members * (4 + 2 * _NUMBER) + 8 * _NUMBER
    pairs = min(_MOST_PAIRS, budget_bytes / per_pair)
    return max(_FEWEST_JUDGED, int(pairs // n_words))


def fit_bytes(annotator: Annotator, corpus: Corpus) -> float:
    """Bytes that a fit takes at its peak, beside the corpus."""
    return _BYTES.get(annotator.name, _streamed)(annotator, sizes_of(annotator, corpus), corpus)


def part_that_fits(
    annotator: Annotator,
    corpus: Corpus,
    some: Corpus,
    budget_bytes: float,
    most_seconds: float = np.inf,
) -> Corpus:
    """The corpus, or the largest random half, quarter, ... of it that a fit has memory for; `some` where none is.

    A part as well where answers would take more than `most_seconds` per photo, if those learned from less take less.
    """
    rng = np.random.default_rng(0)
    part = corpus
    if most_seconds < np.inf:
        most_seconds = max(most_seconds, answer_seconds(annotator, some))
    while part is not some and (
        fit_bytes(annotator, part) > budget_bytes or answer_seconds(annotator, part) > most_seconds
    ):
        half = len(part) // 2
        # Tagged images first: they are fewer, and it is them that words are learned from.
        order = rng.permutation(len(part))
        order = order[np.argsort(~part.taught[order], kind="stable")]
        part = part[np.sort(order[:half])] if half > len(some) else some
    return part


def _rows(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """Scaled rows of the tagged images, and what they are made of."""
    return 3 * _NUMBER * n.tagged * n.columns + 4 * _NUMBER * n.pairs


def _linear(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """L-BFGS keeps ten pairs of weights and a few more."""
    return _rows(annotator, n, corpus) + 26 * _NUMBER * (n.columns + 1) * n.words + (256 << 20)


def _of_pairs(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """Beside weights, how words go together, and the root of it."""
    return _linear(annotator, n, corpus) + 6 * _NUMBER * n.words**2


def _all_words_at_once(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """Targets of all images and words, their residuals and squares."""
    return (
        2 * _rows(annotator, n, corpus)
        + 4 * _NUMBER * n.tagged * n.words
        + 3 * _NUMBER * n.columns * (n.columns + n.words)
    )


def _counted(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    return 3 * _NUMBER * n.words * n.columns


def _ranked(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    asked = min(n.tagged, 20_000) * annotator.n_neighbours
    return _rows(annotator, n, corpus) + 8 * _NUMBER * asked * (1 + n.pairs / max(n.tagged, 1))


def _linked(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    nodes = min(n.images, 100_000)
    scores = nodes * min(n.words, max((1 << 26) // nodes, 4 * 64))
    return _NUMBER * (3 * nodes * n.columns + 8 * nodes * annotator.n_neighbours + 4 * scores)


def _taught(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    taught = min(n.images - n.tagged, 20_000)
    rows, answers = n.tagged + taught, min(taught * n.words, 1 << 26)
    weights = 200 * (min(n.columns, 512) + n.words) * 4
    return 4 * _NUMBER * rows * min(n.columns, 512) + 16 * rows * 64 + 12 * weights + 5 * _NUMBER * answers


def _embedded(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    return 4 * _rows(annotator, n, corpus) + 3 * _NUMBER * (n.words + n.columns) * 60


def _graph(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """Edges of a few images tell how many there are; several graphs are held while one is made symmetric."""
    bags = corpus.visual_words
    assert bags is not None
    some = np.unique(np.linspace(0, len(corpus) - 1, _SOME_NODES).astype(int))
    degree = shared_terms(bags[some], bags, 3).nnz / len(some)
    return 4 * 16 * degree * n.images + _streamed(annotator, n, corpus)


def _streamed(annotator: Any, n: Sizes, corpus: Corpus) -> float:
    """What an EM model carries from step to step: a posterior per image, or per region."""
    regions = 0 if corpus.region_offsets is None else int(corpus.region_offsets[-1])
    posteriors = n.images + (regions if "regions" in annotator.needs else 0)
    n_topics = getattr(annotator, "n_topics", 0)
    return 3 * _NUMBER * n_topics * (posteriors + n.words + n.columns) + (1 << 29)


_BYTES: dict[str, Callable[[Any, Sizes, Corpus], float]] = {
    "naive-bayes": _counted,
    "knn": _rows,
    "tagprop": _ranked,
    "logistic": _linear,
    "companions": _of_pairs,
    "text-match": _linear,
    "ridge": _all_words_at_once,
    "lsa": _embedded,
    "label-spreading": _linked,
    "network": _taught,
    "matching": _taught,
    "lap-var1": _graph,
}
