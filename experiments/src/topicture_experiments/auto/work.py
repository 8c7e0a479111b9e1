"""What `auto` and its competitors reach: the Corel subsets in two protocols, and Corel-5k from pixels.

Every competitor gets its settings, and the share of word frequencies that is mixed into its answers, on the same hidden
folds of the tagged images on which `auto` learns its blend. Captions of the images that are annotated take no part.
"""

import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import topicture
from topicture.annotations.measures.metrics import per_word, summary
from topicture.annotations.measures.protocols import PROTOCOLS, Part, with_training_words
from topicture.corpus import Corpus
from topicture.corpus.datasets import corel5k, corel16k
from topicture.models.base import columns_of
from topicture.models.blends.auto import Auto, Row
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import members_for
from topicture.models.empirical import word_frequencies
from topicture.models.neighbours import unit_rows
from topicture.models.view_rows import even_axes
from topicture_experiments.descriptors.images import COREL, WORDS_PER_IMAGE, Division, described

__all__ = [
    "EVENNESS",
    "PARTS",
    "PIXELS",
    "RIVAL_BLEND",
    "SEED",
    "WORDS_PER_IMAGE",
    "Task",
    "evened",
    "from_pixels",
    "joined",
    "subset_run",
    "versions",
]

SEED = 0
# Enough for every member on a busy machine, so that the figures do not depend on its speed.
BUDGET_SECONDS = 3600.0
RIVAL_BLEND = "mean of naive-bayes, tagprop and logistic"
_RIVALS = ("naive-bayes", "tagprop", "logistic")
# Protocol of the report -> how the annotator learns, and whether the large part is the tagged one.
PARTS = {"usual split": ("train-test", True), "25% tagged": ("semi-supervised", False)}
PIXELS = ("deep, lite2", "deep, lite0")
# The members that can use a descriptor alone; the space of its columns is cut to this many dimensions.
_PIXEL_MEMBERS = ["knn", "tagprop", "lsa", "ridge", "network", "matching", "logistic"]
_PIXEL_COLUMNS = 512
# How far words are made even in the ranking when measures are means over words.
EVENNESS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)


class Task(NamedTuple):
    """A part of the report."""

    protocol: str  # "pixels" for Corel-5k
    subset: int | None

    @property
    def key(self) -> str:
        return self.protocol if self.subset is None else f"{self.protocol}, subset {self.subset}"


def subset_run(subset: int, protocol: str, data: str | None) -> dict[str, Any]:
    """Measures of every annotator on one Corel subset, as JSON values."""
    way, large_is_tagged = PARTS[protocol]
    parts = corel16k(subset, data)
    tagged, hidden = (parts.train, parts.test) if large_is_tagged else (parts.test, parts.train)
    part = with_training_words(Part(f"subset {subset}", tagged, hidden))
    corpus, questions = PROTOCOLS[way](part), part.hidden.without_captions()
    auto, everyone, seconds = _learned(None, corpus)
    answers = {
        "word frequency": np.tile(word_frequencies(corpus, 0.5), (len(questions), 1)),
        **_competitors(everyone, corpus, questions),
        "auto": auto.annotate(questions),
    }
    answers[RIVAL_BLEND] = np.mean([_first(answers, rival) for rival in _RIVALS], axis=0)
    measures = {name: summary(p, part.hidden.captions).as_dict() for name, p in answers.items()}
    return {
        "subset": subset,
        "protocol": protocol,
        "versions": versions(),
        "tagged": int(part.tagged.tagged.sum()),
        "hidden": len(questions),
        "seconds": seconds,
        "result": auto.result_,
        "table": [asdict(row) for row in auto.report_],
        "measures": measures,
    }


def from_pixels(data: str | None, cache: str | None, workers: int = 2) -> dict[str, Any]:
    """Measures on Corel-5k with deep features: 260 words, five per image, means over words."""
    pictures = corel5k("evaluation", data)
    part = joined([described(pictures, COREL[title], cache=cache, workers=workers) for title in PIXELS])
    auto, everyone, seconds = _learned(_PIXEL_MEMBERS, part.train)
    questions = part.test.without_captions()
    answers = {**_competitors(everyone, part.train, questions), "auto": auto.annotate(questions)}
    shares = _shares(part.train)
    evenness = _best_evenness(auto, part.train, shares)
    truth = part.test.captions
    rows = {}
    for name, p in answers.items():
        plain, even = (
            per_word(evened(p, shares, e), truth, WORDS_PER_IMAGE)._asdict() for e in (0.0, evenness)
        )
        rows[name] = {"plain": plain, "even": even, **summary(p, truth).as_dict()}
    return {
        "protocol": "pixels",
        "versions": versions(),
        "features": " and ".join(PIXELS),
        "columns": columns_of(part.train, "descriptor"),
        "seconds": seconds,
        "train": len(part.train),
        "test": len(part.test),
        "evenness": evenness,
        "result": auto.result_,
        "table": [asdict(row) for row in auto.report_],
        "measures": rows,
    }


def joined(parts: Sequence[Division], n_columns: int = _PIXEL_COLUMNS) -> Division:
    """Images with the descriptors of several divisions side by side, of equal length, in fewer columns.

    Of the training images alone the columns are found (see `even_axes`).
    """
    descriptors = []
    for part in parts:
        centre = np.asarray(part.train.descriptor).mean(axis=0)
        descriptors.append([unit_rows(np.asarray(images.descriptor) - centre) for images in part])
    train, test = (np.hstack(side) for side in zip(*descriptors, strict=True))
    centre = train.mean(axis=0)
    axes = even_axes(train - centre, n_columns, np.random.default_rng(SEED))
    return Division(
        replace(parts[0].train, descriptor=(train - centre) @ axes),
        replace(parts[0].test, descriptor=(test - centre) @ axes),
    )


def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    return {
        "python": platform.python_version(),
        "topicture": topicture.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "jax")},
    }


def _learned(members: list[str] | None, corpus: Corpus) -> tuple[Auto, Auto, float]:
    """`auto`, the same without its race, for the settings of those that it drops, and how long the first one took."""
    with TemporaryDirectory(prefix="topicture-trials-") as folder:
        begin = perf_counter()
        auto, everyone = (
            Auto(members, budget_seconds=BUDGET_SECONDS, race=race, seed=SEED) for race in (True, False)
        )
        auto.fit(corpus, kept=KeptTrials(Path(folder)))
        seconds = perf_counter() - begin
        return auto, everyone.fit(corpus, kept=KeptTrials(Path(folder))), seconds


def _competitors(auto: Auto, corpus: Corpus, questions: Corpus) -> dict[str, np.ndarray]:
    """Answers of each member alone, learned from everything with the settings that the hidden folds gave it."""
    members = {member.title: member for member in members_for(corpus)}
    rows: list[Row] = [row for row in auto.report_ if row.perplexity is not None]
    p_w = word_frequencies(corpus, 0.5)
    used = iter(auto.members_)
    answers = {}
    for row in rows:
        learned = next(used) if row.weight > 0 else members[row.member].make(row.settings, SEED).fit(corpus)
        p = learned.annotate(questions)
        answers[row.member] = (1 - row.background) * p + row.background * p_w
    return answers


def _first(answers: dict[str, np.ndarray], model: str) -> np.ndarray:
    return next(p for name, p in answers.items() if name.split(" on ")[0] == model)


def evened(
    p: np.ndarray, shares: np.ndarray, evenness: float, reference: np.ndarray | None = None
) -> np.ndarray:
    """Scores (n, V) for choosing a fixed number of words per image where every word counts the same in the end.

    A word's probabilities are divided by the mean of its highest ones: as many as images are expected to have it, by
    its share (V,) of the training images. So a word is chosen where it stands out among its own answers. `evenness` is
    the exponent of the divisor. The highest ones are those of `reference` (m, V), such as answers for hidden folds, so
    that an image's words do not depend on the others; where not given, those among p itself.
    """
    among = p if reference is None else reference
    highest = -np.sort(-among, axis=0)
    expected = np.clip(np.round(shares * len(among)).astype(int), 1, len(among))
    tops = np.cumsum(highest, axis=0)[expected - 1, np.arange(len(shares))] / expected
    return np.log(p) - evenness * np.log(tops)


def _shares(train: Corpus) -> np.ndarray:
    """Share of the tagged images that have each word, (V,)."""
    return np.asarray((train.captions > 0).sum(axis=0)).ravel() / max(int(train.tagged.sum()), 1)


def _best_evenness(auto: Auto, train: Corpus, shares: np.ndarray) -> float:
    """The evenness with the best F1 on hidden folds of the training images.

    Means over words depend on how often a word occurs, so the folds have about the size of the test set.
    """
    order = np.argsort(train.image_ids, kind="stable")
    captions = sparse.csr_array(train.captions)[order]
    tagged = np.flatnonzero(auto.fold_of_ >= 0)
    chunks = np.array_split(np.random.default_rng(SEED).permutation(tagged), 9)

    def f1(evenness: float) -> float:
        found = (
            per_word(
                evened(auto.held_out_[np.searchsorted(tagged, rows)], shares, evenness),
                captions[rows],
                WORDS_PER_IMAGE,
            )
            for rows in chunks
        )
        return float(np.mean([measures.f1 for measures in found]))

    return max(EVENNESS, key=f1)
