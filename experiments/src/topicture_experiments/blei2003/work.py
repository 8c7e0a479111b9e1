"""The pieces of work that the report on Blei & Jordan 2003 consists of, each done in a process of its own.

Corel-5k from pixels (blob features of SLIC regions, the usual 260 words) stands for the paper's Corel data. MSRC v2,
whose every pixel has a true word, tells how good the words of regions are. With whole series of pictures hidden instead
of single ones ("series"), near copies of the test images are not among the training images.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.measures import metrics
from topicture.corpus import Corpus
from topicture.corpus.datasets import corel5k, msrc_v2
from topicture.models.registry import make_annotator
from topicture_experiments.blei2003.models import INDEPENDENT, MODELS, compare_models
from topicture_experiments.descriptors.images import COREL, Division, described
from topicture_experiments.descriptors.regions import MSRC_REGIONS
from topicture_experiments.shared.region_truth import RegionTruth, msrc_label_maps, region_truth

__all__ = [
    "FULL",
    "QUICK",
    "RECIPE",
    "Plan",
    "Unit",
    "assembled",
    "do",
    "facts",
    "hide_series",
    "prepare",
    "units",
]

RECIPE = "blobs (SLIC)"
SETTINGS: dict[str, Any] = {"n_init": 1, "max_iter": 60, "tol": 1e-4, "precision": "float32"}
SERIES_HIDDEN = 0.1  # share of the series of pictures
ESTIMATES = ("ml", "eb")
_QUICK_STEP = 3  # of this many Corel pictures the quick form takes one


class Plan(NamedTuple):
    """Numbers of topics of each part, starts, and the number of topics of the retrieval."""

    topics: tuple[int, ...]
    msrc_topics: tuple[int, ...]
    series_topics: tuple[int, ...]
    seeds: tuple[int, ...]
    K: int
    settings: Mapping[str, Any] = SETTINGS


FULL = Plan((10, 25, 50, 100, 200), (25, 50, 100), (50, 100, 200), (0, 1, 2), 100)
QUICK = Plan((10, 50), (25,), (50,), (0,), 50, {**SETTINGS, "max_iter": 20})


class Unit(NamedTuple):
    """One fit with its measures; `part` is corel, msrc, series or retrieval."""

    part: str
    model: str
    smoothing: str
    n_topics: int
    seed: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


def units(plan: Plan) -> list[Unit]:
    """All fits, start after start; the largest first, so that no process is left with one at the end."""
    parts = (
        ("corel", MODELS, ESTIMATES, plan.topics),
        ("retrieval", (*MODELS, "empirical"), ("eb",), (plan.K,)),
        ("msrc", ("gm-lda", "corr-lda"), ("eb",), plan.msrc_topics),
        ("series", ("gm-mixture", "corr-lda"), ("eb",), plan.series_topics),
    )
    every = []
    for seed in plan.seeds:
        fits = [
            Unit(part, model, smoothing, K, seed)
            for part, models, smoothings, topics in parts
            for model in models
            for smoothing in smoothings
            for K in topics
        ]
        every += sorted(fits, key=lambda unit: -unit.n_topics)
        every += [Unit(part, INDEPENDENT, "ml", 1, seed) for part in ("corel", "series")]
    return every


# --- Data ---------------------------------------------------------------------------------------------------------


def prepare(
    folder: Path, data: str | None, cache: str | None, *, quick: bool = False, workers: int = 2
) -> Path:
    """The pictures as corpora in `folder`; described only if they are not there yet.

    The quick form describes a part of the Corel pictures, which take most of the time.
    """
    place = folder / ("quick" if quick else "full")
    if (place / "words.npy").exists():
        return place
    pictures = corel5k("evaluation", data)
    if quick:
        pictures = replace(pictures, train=pictures.train[::_QUICK_STEP], test=pictures.test[::_QUICK_STEP])
    corel = described(pictures, COREL[RECIPE], cache=cache, workers=workers)
    msrc, recipe = msrc_v2(data), MSRC_REGIONS[RECIPE]
    maps = msrc_label_maps(msrc, msrc.train.image_ids, recipe, cache)
    test_maps = msrc_label_maps(msrc, msrc.test.image_ids, recipe, cache)
    regions = described(msrc, recipe, labels=maps | test_maps, cache=cache, workers=workers)
    counts = [
        region_truth(msrc.class_map(image), labels, len(msrc.vocabulary))
        for image, labels in test_maps.items()
    ]
    for name, division in (("corel", corel), ("msrc", regions)):
        division.train.save(place / f"{name}-train")
        division.test.save(place / f"{name}-test")
    np.save(place / "words.npy", RegionTruth(np.concatenate(counts)).words)  # last: it says that all is there
    return place


@lru_cache(maxsize=2)
def _division(place: Path, name: str) -> Division:
    return Division(Corpus.load(place / f"{name}-train"), Corpus.load(place / f"{name}-test"))


def hide_series(corpus: Corpus, seed: int) -> Division:
    """Training and test images of a Corel corpus such that no series of pictures lies in both.

    A series is a compact disc of the collection, the folder in the images' ids; a tenth of them is drawn.
    """
    series = np.array([image.partition("/")[0] for image in corpus.image_ids.tolist()])
    names = np.unique(series)
    drawn = np.random.default_rng(seed).choice(
        names, max(1, round(SERIES_HIDDEN * len(names))), replace=False
    )
    hidden = np.isin(series, drawn)
    return Division(corpus[~hidden], corpus[hidden & corpus.tagged])


# --- One fit ------------------------------------------------------------------------------------------------------


def do(place: Path, settings: Mapping[str, Any], unit: Unit) -> dict[str, Any]:
    """The measures of one fit, as JSON values; `place` is what `prepare` returned."""
    chosen = {**settings, "seed": unit.seed}
    division = _division(place, "msrc" if unit.part == "msrc" else "corel")
    if unit.part == "retrieval":
        return _retrieval(division, unit, chosen)
    if unit.part == "series":
        division = hide_series(division.train, unit.seed)
    labels = np.load(place / "words.npy") if unit.part == "msrc" else None
    rows = compare_models(
        *division,
        [unit.n_topics],
        region_labels=labels,
        models=() if unit.model == INDEPENDENT else (unit.model,),
        smoothings=(unit.smoothing,),
        reference=unit.model == INDEPENDENT,
        top_k=(1, 3),
        settings=chosen,
    )
    (row,) = rows
    return row


def _retrieval(corel: Division, unit: Unit, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Mean average precision of queries of one, two and three words, and curves of some queries."""
    truth = corel.test.captions
    asked = [queries for length in (1, 2, 3) if (queries := _asked(truth, length))]
    shown = [max(queries, key=lambda query: metrics.relevance(truth, query).sum()) for queries in asked]
    own = make_annotator(unit.model).get_params()
    wanted = {"n_topics": unit.n_topics, "smoothing": unit.smoothing, **settings}
    annotator = make_annotator(unit.model, **{k: v for k, v in wanted.items() if k in own}).fit(corel.train)
    p = annotator.annotate(corel.test)
    by_length = metrics.mean_average_precision_by_length(
        p, truth, [query for queries in asked for query in queries]
    )
    curves = {}
    for query in shown:
        curve = metrics.precision_recall(metrics.retrieval_scores(p, query), metrics.relevance(truth, query))
        words = " ".join(corel.test.vocabulary[i] for i in query)
        curves[words] = [np.asarray(part).tolist() for part in curve]
    return {"scores": {str(length): float(value) for length, value in by_length.items()}, "curves": curves}


def _asked(truth: Any, length: int) -> list[tuple[int, ...]]:
    """Queries of that many words that at least two test images answer."""
    queries = [tuple(int(i) for i in query) for query in metrics.caption_queries(truth, length)]
    return [query for query in queries if metrics.relevance(truth, query).sum() > 1]


# --- Everything ---------------------------------------------------------------------------------------------------


def facts(place: Path) -> dict[str, Any]:
    """Sizes of the data."""
    words = np.load(place / "words.npy")
    known = words[words >= 0]
    sizes: dict[str, dict[str, Any]] = {
        name: {"train": len(_division(place, name).train), "test": len(_division(place, name).test)}
        for name in ("corel", "msrc")
    }
    sizes["msrc"] |= {"regions": len(known), "most_frequent": float(np.bincount(known).max() / len(known))}
    return sizes


def assembled(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The results of all fits as the page wants them: rows of each part, one retrieval per start."""
    stored = (evidence["plan"][name] for name in Plan._fields)
    plan = Plan._make(tuple(value) if isinstance(value, list) else value for value in stored)
    found = {unit: evidence["found"][unit.key] for unit in units(plan)}

    def rows(part: str) -> list[dict[str, Any]]:
        return [row for unit, row in found.items() if unit.part == part]

    def retrieval(seed: int) -> dict[str, Any]:
        own = {u.model: row for u, row in found.items() if u.part == "retrieval" and u.seed == seed}
        shown = [model for model in own if model != "empirical"]
        return {
            "n_topics": plan.K,
            "scores": {model: row["scores"] for model, row in own.items()},
            "curves": {
                query: {model: own[model]["curves"][query] for model in shown}
                for query in own[shown[0]]["curves"]
            },
        }

    return {
        "date": evidence["date"],
        "versions": evidence.get("versions", {}),
        "quick": evidence.get("quick", False),
        "notes": evidence.get("notes", []),
        "settings": {**plan.settings, "seeds": plan.seeds},
        "corel": {**evidence["facts"]["corel"], "rows": rows("corel")},
        "msrc": {**evidence["facts"]["msrc"], "rows": rows("msrc")},
        "retrieval": [retrieval(seed) for seed in plan.seeds],
        "series": {"hidden": SERIES_HIDDEN, "rows": rows("series")},
    }
