"""What `auto` and its competitors reach: the Corel subsets in two protocols, and Corel-5k from pixels.

Every competitor gets its settings, and the share of word frequencies that is mixed into its answers, on the same hidden
folds of the tagged images on which `auto` learns its blend. Captions of the images that are annotated take no part.
"""

import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import topicture
from topicture.annotations.measures.metrics import summary
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
from topicture_experiments.descriptors.images import COREL, Division, described
from topicture_experiments.shared.ranking import TOGETHER, evened, ranked, ranked_together

__all__ = [
    "PARTS",
    "PIXELS",
    "RIVAL_BLEND",
    "SEED",
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
_PIXEL_MEMBERS = ["knn", "tagprop", "lsa", "ridge", "network", "matching", "logistic", "companions"]
_PIXEL_COLUMNS = 512


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
    order = np.argsort(part.train.image_ids, kind="stable")
    captions = part.train.captions.toarray()[order][auto.fold_of_ >= 0] > 0
    truth, given = part.test.captions, part.test.captions.toarray() > 0
    own = ranked(auto.held_out_, captions, answers["auto"], given, SEED)
    rows = {}
    for name, p in answers.items():
        # Answers of single members for hidden folds are at another temperature: by themselves they are not ranked.
        found = own if name == "auto" else ranked_together(p, given, captions, own[TOGETHER]["evenness"])
        rows[name] = {**found, **summary(p, truth).as_dict()}
    return {
        "protocol": "pixels",
        "date": date.today().isoformat(),
        "versions": versions(),
        "features": " and ".join(PIXELS),
        "columns": columns_of(part.train, "descriptor"),
        "seconds": seconds,
        "train": len(part.train),
        "test": len(part.test),
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
