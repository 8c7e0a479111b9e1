"""The experiments of Yang et al. 2010: curves of their Figures 2 and 3, and the choice of nu1 and nu2.

Every fold of the corpus is hidden once; annotators learn from the other folds and annotate it. "Top-k accuracy" is the
micro-averaged F1 of the k best words (docs/models.md section 6). Curves hold the value of every fold, so that their
spread is part of the result.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.choice.choose import Choice, choose
from topicture.annotations.measures.metrics import region_accuracy, top_k_f1
from topicture.annotations.measures.protocols import Part, folds, with_training_words
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.registry import annotator_class, make_annotator

__all__ = [
    "Curves",
    "choose_nu",
    "contenders",
    "first_share",
    "region_curves",
    "top_5_by_training_size",
    "top_5_by_vocabulary",
    "top_k_curves",
    "with_frequent_words",
]

Makers = Mapping[str, Callable[[], Annotator]]
# Registry name -> settings of the paper's comparison.
_COMPARED: dict[str, dict[str, Any]] = {
    "corr-lda": {"n_topics": 200},
    "dba": {},
    "emm-ml": {},
    "emm-margin": {},
}


class Curves(NamedTuple):
    """Values of every annotator: title -> (folds, points)."""

    measure: str
    axis: str  # what the points are
    points: tuple[float, ...]
    values: dict[str, np.ndarray]

    def mean(self) -> dict[str, np.ndarray]:
        """Mean over the folds, (points,)."""
        return {title: values.mean(axis=0) for title, values in self.values.items()}

    def standard_error(self) -> dict[str, np.ndarray]:
        """Standard error of the mean; NaN for a single fold."""
        return {title: _standard_error(values) for title, values in self.values.items()}

    def table(self) -> str:
        """Plain text: a line for every annotator, mean ± standard error at every point."""
        errors = self.standard_error()
        lines = [f"{self.measure} against {self.axis}: " + ", ".join(f"{point:g}" for point in self.points)]
        for title, mean in self.mean().items():
            cells = (f"{m:.3f}±{e:.3f}" for m, e in zip(mean, errors[title], strict=True))
            lines.append(f"{title:<12} " + " ".join(cells))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        values = {title: found.tolist() for title, found in self.values.items()}
        return {"measure": self.measure, "axis": self.axis, "points": list(self.points), "values": values}


def contenders(corpus: Corpus, **settings: Mapping[str, Any]) -> dict[str, Callable[[], Annotator]]:
    """The annotators of the paper for which the corpus has the views; `settings` by name with _ for -.

    For example `contenders(corpus, corr_lda={"n_topics": 50})`.
    """
    makers: dict[str, Callable[[], Annotator]] = {}
    for name, params in _COMPARED.items():
        if any(getattr(corpus, view) is None for view in annotator_class(name).needs):
            continue
        chosen = {**params, **settings.get(name.replace("-", "_"), {})}
        makers[name] = _maker(name, chosen)
    return makers


def choose_nu(
    corpus: Corpus,
    *,
    nu1: Sequence[float] = (1.0,),
    nu2_per_image: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
    n_folds: int = 5,
    seed: int = 0,
    **params: Any,
) -> Choice:
    """nu1 and nu2 of max-margin learning with the best F1 of the top five words in cross-validation."""
    grid = {"nu1": nu1, "nu2_per_image": nu2_per_image}
    return choose("emm-margin", corpus, grid, measure="f1", n_folds=n_folds, seed=seed, **params)


# --- Images (Figure 2) -------------------------------------------------------------------------------------------


def top_k_curves(
    corpus: Corpus, makers: Makers, *, ks: Sequence[int] = range(1, 41), n_folds: int = 5, seed: int = 0
) -> Curves:
    """F1 of the top k words against k (Figure 2, left)."""

    def curve(annotator: Annotator, part: Part) -> list[float]:
        scores = annotator.annotate(part.hidden.without_captions())
        return [top_k_f1(scores, part.hidden.captions, k) for k in ks]

    return Curves("F1", "k", tuple(ks), _by_fold(list(folds(corpus, n_folds, seed)), makers, curve))


def top_5_by_vocabulary(
    corpus: Corpus, makers: Makers, sizes: Sequence[int], *, n_folds: int = 5, seed: int = 0
) -> Curves:
    """F1 of the top five words against the number of words, the most frequent ones (Figure 2, middle)."""
    columns = [
        _by_fold(list(folds(with_frequent_words(corpus, size), n_folds, seed)), makers, _f1_at_5)
        for size in sizes
    ]
    return Curves("F1@5", "words", tuple(sizes), _side_by_side(columns))


def top_5_by_training_size(
    corpus: Corpus, makers: Makers, fractions: Sequence[float], *, n_folds: int = 5, seed: int = 0
) -> Curves:
    """F1 of the top five words against the share of the training images that is used (Figure 2, right)."""
    columns = []
    for fraction in fractions:
        parts = [
            Part(part.name, first_share(part.tagged, fraction, seed), part.hidden)
            for part in folds(corpus, n_folds, seed)
        ]
        columns.append(_by_fold(parts, makers, _f1_at_5))
    return Curves("F1@5", "share of training images", tuple(fractions), _side_by_side(columns))


def with_frequent_words(corpus: Corpus, n_words: int) -> Corpus:
    """The corpus with its most frequent words only, in the order of the vocabulary; ties go to the earlier word."""
    frequency = np.asarray((corpus.captions > 0).sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:n_words])
    words = Vocabulary(corpus.vocabulary[int(w)] for w in kept)
    return replace(corpus, vocabulary=words, captions=corpus.captions[:, kept])


# --- Regions (Figure 3) ------------------------------------------------------------------------------------------


def region_curves(
    corpus: Corpus,
    region_labels: np.ndarray,
    makers: Makers,
    *,
    captioned: bool,
    ks: Sequence[int] = range(1, 11),
    n_folds: int = 5,
    seed: int = 0,
) -> Curves:
    """Share of the regions whose true word is among their top k, against k (Figure 3).

    `region_labels` (R,) gives the word id of every region of the corpus, negative where it is not known. With
    `captioned` the hidden images' captions are given, and only annotators that can use them take part.
    """
    labels = np.asarray(region_labels)
    if corpus.region_offsets is None or labels.shape != (corpus.region_offsets[-1],):
        raise CorpusError("region_labels must hold one word id for every region of the corpus")
    offsets = corpus.region_offsets
    labels_of = {
        image: labels[offsets[d] : offsets[d + 1]] for d, image in enumerate(corpus.image_ids.tolist())
    }

    def curve(annotator: Annotator, part: Part) -> list[float]:
        hidden = part.hidden if captioned else part.hidden.without_captions()
        scores = np.concatenate(
            annotator.label_regions(hidden, **({"use_captions": True} if captioned else {}))
        )
        # Word ids of the whole corpus -> those of this part's vocabulary; -1 for words without training images.
        known = np.array([_index(part.tagged.vocabulary, word) for word in corpus.vocabulary] + [-1])
        truth = np.concatenate([labels_of[image] for image in hidden.image_ids.tolist()])
        return [region_accuracy(scores, known[np.maximum(truth, -1)], k) for k in ks]

    able = {title: make for title, make in makers.items() if _labels_regions(make(), captioned)}
    parts = list(folds(corpus, n_folds, seed))
    return Curves("region accuracy", "k", tuple(ks), _by_fold(parts, able, curve))


def _labels_regions(annotator: Annotator, captioned: bool) -> bool:
    takes_captions = "use_captions" in inspect.signature(annotator.label_regions).parameters
    return annotator.labels_regions and (takes_captions or not captioned)


def _index(vocabulary: Vocabulary, word: str) -> int:
    return vocabulary.index(word) if word in vocabulary else -1


# --- Folds -------------------------------------------------------------------------------------------------------


def _by_fold(
    parts: Sequence[Part], makers: Makers, curve: Callable[[Annotator, Part], list[float]]
) -> dict[str, np.ndarray]:
    """Every annotator's curve of every fold: title -> (folds, points)."""
    return {
        title: np.array([curve(annotator, part) for annotator, part in _fitted(parts, make)])
        for title, make in makers.items()
    }


def _fitted(parts: Sequence[Part], make: Callable[[], Annotator]) -> Iterator[tuple[Annotator, Part]]:
    for part in map(with_training_words, parts):
        yield make().fit(part.tagged), part


def _f1_at_5(annotator: Annotator, part: Part) -> list[float]:
    return [top_k_f1(annotator.annotate(part.hidden.without_captions()), part.hidden.captions, 5)]


def _side_by_side(columns: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {title: np.hstack([column[title] for column in columns]) for title in columns[0]}


def first_share(corpus: Corpus, fraction: float, seed: int) -> Corpus:
    """A random share of the images; with the same seed a smaller share is part of a larger one."""
    order = np.random.default_rng(seed).permutation(len(corpus))
    return corpus[np.sort(order[: max(1, round(fraction * len(corpus)))])]


def _maker(name: str, params: Mapping[str, Any]) -> Callable[[], Annotator]:
    return lambda: make_annotator(name, **params)


def _standard_error(values: np.ndarray) -> np.ndarray:
    n = len(values)
    return values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(values.shape[1], np.nan)
