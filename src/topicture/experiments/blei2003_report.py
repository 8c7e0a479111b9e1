"""The findings of Blei & Jordan 2003 on real data, in one report.

    python -m topicture.experiments.blei2003_report --data DIR --out docs/results

Corel-5k from pixels (blob features of SLIC regions, the usual 260 words) stands for the paper's Corel data: held-out
likelihood and caption perplexity against K, and retrieval by text. MSRC v2, whose every pixel has a true word, tells
how good the words of regions are. With whole series of pictures hidden instead of single ones, near copies of the test
images are not among the training images. Everything is repeated from several starts; figures are means with standard
errors over them. What was measured is kept beside the report as blei2003.json, and used again unless --redo is given.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations import metrics
from topicture.corpus import Corpus
from topicture.corpus.datasets import corel5k, msrc_v2
from topicture.errors import TopictureError
from topicture.experiments.blei2003 import INDEPENDENT, MODELS, compare_models
from topicture.experiments.blei2003_page import write_figures, write_page
from topicture.experiments.descriptor_images import COREL, Division, described
from topicture.experiments.descriptor_regions import MSRC_REGIONS
from topicture.experiments.region_truth import RegionTruth, msrc_label_maps, region_truth
from topicture.models.registry import make_annotator

__all__ = ["Problem", "gather", "hide_series", "main", "prepare"]

RECIPE = "blobs (SLIC)"
RECIPE_MSRC = "blobs (SLIC)"
FULL: dict[str, Any] = {
    "topics": (10, 25, 50, 100, 200),
    "msrc_topics": (25, 50, 100),
    "series_topics": (50, 100, 200),
    "seeds": (0, 1, 2),
    "K": 100,
}
QUICK: dict[str, Any] = {
    "topics": (10, 50),
    "msrc_topics": (25,),
    "series_topics": (50,),
    "seeds": (0,),
    "K": 50,
}
SETTINGS: dict[str, Any] = {"n_init": 1, "max_iter": 60, "tol": 1e-4, "precision": "float32"}

SERIES_HIDDEN = 0.1  # share of the series of pictures

Say = Callable[[str], None]


class Problem(NamedTuple):
    """The data: Corel for captions, MSRC for regions with their true words, (R,), -1 where unknown."""

    corel: Division
    msrc: Division
    msrc_words: np.ndarray


def prepare(data: str | None, cache: str | None, workers: int = 2) -> Problem:
    """Describe the pictures; a cache makes a second time quick."""
    corel = described(corel5k("evaluation", data), COREL[RECIPE], cache=cache, workers=workers)
    pictures, recipe = msrc_v2(data), MSRC_REGIONS[RECIPE_MSRC]
    maps = [
        msrc_label_maps(pictures, part.image_ids, recipe, cache) for part in (pictures.train, pictures.test)
    ]
    msrc = described(pictures, recipe, labels=maps[0] | maps[1], cache=cache, workers=workers)
    n_words = len(pictures.vocabulary)
    counts = [region_truth(pictures.class_map(image), labels, n_words) for image, labels in maps[1].items()]
    return Problem(corel, msrc, RegionTruth(np.concatenate(counts)).words)


def gather(problem: Problem, *, quick: bool = False, say: Say = lambda line: None) -> dict[str, Any]:
    """Everything that the report shows, as JSON values."""
    plan = QUICK if quick else FULL

    def told(row: dict[str, Any]) -> None:
        say(f"{row['model']} {row['smoothing']} K={row['n_topics']}: perplexity {row['perplexity']:.1f}")

    corel, regions, retrieval, series = [], [], [], []
    for seed in plan["seeds"]:
        settings = {**SETTINGS, "seed": seed}
        corel += compare_models(
            problem.corel.train, problem.corel.test, plan["topics"], settings=settings, progress=told
        )
        regions += compare_models(
            problem.msrc.train,
            problem.msrc.test,
            plan["msrc_topics"],
            region_labels=problem.msrc_words,
            models=("gm-lda", "corr-lda"),
            smoothings=("eb",),
            top_k=(1, 3),
            settings=settings,
            progress=told,
        )
        retrieval.append(_retrieval(problem.corel, plan["K"], settings, say))
        series += compare_models(
            *hide_series(problem.corel.train, seed),
            plan["series_topics"],
            models=("gm-mixture", "corr-lda"),
            smoothings=("eb",),
            settings=settings,
            progress=told,
        )
    return {
        "date": date.today().isoformat(),
        "settings": {**SETTINGS, **{key: list(np.atleast_1d(value)) for key, value in plan.items()}},
        "corel": {"train": len(problem.corel.train), "test": len(problem.corel.test), "rows": corel},
        "msrc": {
            "train": len(problem.msrc.train),
            "test": len(problem.msrc.test),
            "regions": int((problem.msrc_words >= 0).sum()),
            "most_frequent": _most_frequent(problem.msrc_words),
            "rows": [row for row in regions if row["model"] != INDEPENDENT],
        },
        "retrieval": retrieval,
        "series": {"hidden": SERIES_HIDDEN, "rows": series},
    }


def hide_series(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Training and test images of a Corel corpus such that no series of pictures lies in both.

    A series is a compact disc of the collection, the folder in the images' ids; a tenth of them is drawn.
    """
    series = np.array([image.partition("/")[0] for image in corpus.image_ids.tolist()])
    names = np.unique(series)
    drawn = np.random.default_rng(seed).choice(
        names, max(1, round(SERIES_HIDDEN * len(names))), replace=False
    )
    hidden = np.isin(series, drawn)
    return corpus[~hidden], corpus[hidden & corpus.tagged]


def _most_frequent(words: np.ndarray) -> float:
    """Share of the regions that the commonest word gets right."""
    return float(np.bincount(words[words >= 0]).max() / (words >= 0).sum())


def _retrieval(corel: Division, n_topics: int, settings: dict[str, Any], say: Say) -> dict[str, Any]:
    """Mean average precision of queries of one, two and three words, and curves of some queries, of smoothed models."""
    truth = corel.test.captions
    queries = [query for length in (1, 2, 3) for query in _asked(truth, length)]
    shown = [
        max(_asked(truth, length), key=lambda q: metrics.relevance(truth, q).sum()) for length in (1, 2, 3)
    ]
    result: dict[str, Any] = {"n_topics": n_topics, "scores": {}, "curves": {}}
    for name in (*MODELS, "empirical"):
        own = make_annotator(name).get_params()
        wanted = {"n_topics": n_topics, "smoothing": "eb", **settings}
        annotator = make_annotator(name, **{k: v for k, v in wanted.items() if k in own}).fit(corel.train)
        p = annotator.annotate(corel.test)
        by_length = metrics.mean_average_precision_by_length(p, truth, queries)
        result["scores"][name] = {str(length): float(value) for length, value in by_length.items()}
        say(f"retrieval {name}: {result['scores'][name]}")
        if name == "empirical":
            continue
        for query in shown:
            words = " ".join(corel.test.vocabulary[i] for i in query)
            curve = metrics.precision_recall(
                metrics.retrieval_scores(p, query), metrics.relevance(truth, query)
            )
            result["curves"].setdefault(words, {})[name] = [np.asarray(part).tolist() for part in curve]
    return result


def _asked(truth: Any, length: int) -> list[tuple[int, ...]]:
    """Queries of that many words that at least two test images answer."""
    queries = [tuple(int(i) for i in query) for query in metrics.caption_queries(truth, length)]
    return [query for query in queries if metrics.relevance(truth, query).sum() > 1]


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m topicture.experiments.blei2003_report", description=__doc__
    )
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--cache", help="folder that keeps what was measured on the pictures")
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of the report")
    parser.add_argument("--quick", action="store_true", help="few topics, one start")
    parser.add_argument("--redo", action="store_true", help="measure again")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    found = chosen.out / "blei2003.json"
    try:
        if chosen.redo or not found.exists():
            chosen.out.mkdir(parents=True, exist_ok=True)
            evidence = gather(prepare(chosen.data, chosen.cache), quick=chosen.quick, say=_say)
            found.write_text(json.dumps(evidence), encoding="utf-8")
        evidence = json.loads(found.read_text(encoding="utf-8"))
        if evidence["settings"]["topics"] != list((QUICK if chosen.quick else FULL)["topics"]):
            raise TopictureError(f"{found} was made by another plan; --redo measures again")
        write_figures(evidence, chosen.out)
        print(write_page(evidence, chosen.out))
    except TopictureError as error:
        sys.exit(f"blei2003: {error}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
