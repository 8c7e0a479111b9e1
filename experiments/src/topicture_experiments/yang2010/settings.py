"""How the defaults of DBA and EMM were chosen: cross-validation on training parts, never on test images.

    python -m topicture_experiments.yang2010.settings --data DIR --out docs/results

Three problems that differ in what a region is: the training images of Corel-5k and of a Corel subset by their original
blobs, one visual word per region, and those of MSRC v2 by bags of SIFT words. A setting is judged by the top-5 accuracy
of the hidden folds over that of word frequency, averaged over the problems.

It also tries what mends EMM_d where it fails: on bags of SIFT words of Corel-5k, the training images of the report's
first fold.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.measures.metrics import top_k_f1
from topicture.annotations.measures.protocols import folds, with_training_words
from topicture.atomic import write_atomically
from topicture.corpus import Corpus
from topicture.corpus.datasets import corel5k, corel16k
from topicture.errors import TopictureError
from topicture.models.registry import make_annotator
from topicture_experiments.shared.running import Options
from topicture_experiments.yang2010.data import PREPARED, load_problem, prepare
from topicture_experiments.yang2010.run import N_FOLDS as N_REPORT_FOLDS

__all__ = ["FAILING", "FLOOR", "GRID", "MENDS", "Tried", "main", "ranked", "tuning_corpora"]

FLOOR = "empirical"
N_IMAGES = 2_500  # of the Corel problems
N_FOLDS = 3
MSRC_TRAINING = 394  # images; they come first

_OWN = {"label": "printed", "label_weight": 500.0}
_SMOOTH = {"eta": 20.0, "learn_eta": False}
_EMM: list[dict[str, Any]] = [
    {**_OWN, **_SMOOTH, "learn_lam": False},
    {**_OWN, **_SMOOTH, "eta": 5.0, "learn_lam": False},
    {**_OWN, **_SMOOTH, "label_weight": 20.0, "learn_lam": False},
    {**_OWN, "eta": 0.5, "learn_eta": True, "learn_lam": False},
    {**_OWN, "eta": 0.5, "learn_eta": True, "learn_lam": False, "label_weight": 1.0},
]
_DBA: list[dict[str, Any]] = [
    {**_OWN, **_SMOOTH, "learn_alpha": False, "alpha": 0.1},
    {**_OWN, **_SMOOTH, "learn_alpha": False, "alpha": 0.3},
    {**_OWN, **_SMOOTH, "learn_alpha": False, "alpha": 1.0},
    {**_OWN, "eta": 0.5, "learn_eta": True, "learn_alpha": True, "score": "zbar"},
]
_MARGIN: list[dict[str, Any]] = [
    {"nu2_per_image": 100.0, **_SMOOTH, "learn_lam": False},
    {"nu2_per_image": 100.0, "eta": 0.5, "learn_eta": True, "learn_lam": False},
    {"nu2_per_image": 1000.0, **_SMOOTH, "learn_lam": False},
    {"nu2_per_image": 1000.0, "eta": 0.5, "learn_eta": True, "learn_lam": False},
    {"nu2_per_image": 10.0, **_SMOOTH, "learn_lam": False},
    {"nu2_per_image": 100.0, **_SMOOTH, "learn_lam": False, "kappa": 20.0, "nu1": 1000.0},
]
GRID: list[tuple[str, dict[str, Any]]] = [
    (FLOOR, {}),
    *(("emm-ml", params) for params in _EMM),
    *(("dba", params) for params in _DBA),
    *(("emm-margin", {"max_iter": 12, **params}) for params in _MARGIN),
]

FAILING = "corel-sift"
MENDS: list[tuple[str, dict[str, Any]]] = [
    (FLOOR, {}),
    ("emm-ml", {}),
    ("emm-margin", {}),
    *(("emm-margin", {"nu2_per_image": nu2}) for nu2 in (1.0, 10.0, 1000.0)),
    *(("emm-margin", {"max_iter": n}) for n in (1, 3)),
    ("emm-margin", {"kappa": 1.0}),
    ("emm-margin", dict(_SMOOTH)),
]


class Tried(NamedTuple):
    """One fit: where, what, and the top-5 accuracy of the hidden fold."""

    problem: str
    model: str
    params: dict[str, Any]
    fold: int
    f1: float


def tuning_corpora(folder: Path, data: str | None, cache: str | None) -> dict[str, Corpus]:
    """The three problems and the failing one; `folder` holds the prepared pictures of the report."""
    files = prepare(folder, data, cache, names=("msrc-sift", FAILING))
    msrc, failing = load_problem(files["msrc-sift"]).corpus, load_problem(files[FAILING]).corpus
    return {
        FAILING: next(iter(folds(failing, N_REPORT_FOLDS, seed=0))).tagged,
        "corel5k-blobs": _one_word_a_region(corel5k("evaluation", data).train),
        "corel16k-1": _one_word_a_region(corel16k(1, data).train),
        "msrc-sift": msrc[:MSRC_TRAINING],
    }


def _one_word_a_region(corpus: Corpus) -> Corpus:
    """N_IMAGES random images, each blob a region of its own."""
    kept = np.sort(np.random.default_rng(0).permutation(len(corpus))[:N_IMAGES])
    corpus = corpus[kept]
    blobs = sparse.csr_array(corpus.visual_words)
    n = blobs.nnz
    regions = sparse.csr_array((np.ones(n), blobs.indices, np.arange(n + 1)), shape=(n, blobs.shape[1]))
    return Corpus.from_arrays(
        captions=corpus.captions,
        vocabulary=corpus.vocabulary,
        region_words=regions,
        region_offsets=blobs.indptr.astype(np.int64),
    )


def try_setting(name: str, corpus: Corpus, model: str, params: Mapping[str, Any], fold: int) -> Tried:
    part = with_training_words(list(folds(corpus, N_FOLDS, seed=1))[fold])
    known = make_annotator(model).get_params()
    chosen = {key: value for key, value in {"precision": "float32", **params}.items() if key in known}
    annotator = make_annotator(model, **chosen).fit(part.tagged)
    scores = annotator.annotate(part.hidden.without_captions())
    return Tried(name, model, dict(params), fold, float(top_k_f1(scores, part.hidden.captions, 5)))


def ranked(rows: Sequence[Tried]) -> list[tuple[str, dict[str, Any], dict[str, float], float]]:
    """(model, settings, top-5 accuracy by problem, mean ratio to word frequency), by model and the best first.

    On every problem the ratio is taken over the folds that the setting was tried on. Settings that were not tried on
    all problems are left out.
    """
    floor = {(row.problem, row.fold): row.f1 for row in rows if row.model == FLOOR and row.problem != FAILING}
    problems = sorted({problem for problem, _ in floor})
    groups: dict[tuple[str, str], list[Tried]] = {}
    for row in rows:
        if row.model != FLOOR and (row.problem, row.fold) in floor:
            groups.setdefault((row.model, json.dumps(row.params, sort_keys=True)), []).append(row)
    found = []
    for (model, params), tried in groups.items():
        here = {p: [row for row in tried if row.problem == p] for p in problems}
        if all(here.values()):
            f1 = {p: float(np.mean([row.f1 for row in same])) for p, same in here.items()}
            ratios = [np.mean([row.f1 / floor[p, row.fold] for row in same]) for p, same in here.items()]
            found.append((model, json.loads(params), f1, float(np.mean(ratios))))
    return sorted(found, key=lambda row: (row[0], -row[3]))


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m topicture_experiments.yang2010.settings", description=__doc__
    )
    parser.add_argument("--data", help="folder of the benchmark sets (default: TOPICTURE_DATA)")
    parser.add_argument("--cache", help="folder that keeps what was measured on the pictures")
    parser.add_argument("--out", default="docs/results", type=Path, help="folder of yang2010-settings.json")
    parser.add_argument("--folds", default=1, type=int, help="how many of the three folds to hide in turn")
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    path = chosen.out / "yang2010-settings.json"
    try:
        rows = [Tried(*row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []
        kept = Options(chosen.out, chosen.data, chosen.cache).kept
        corpora = tuning_corpora(kept / PREPARED, chosen.data, str(kept))
        _try_all(corpora, rows, chosen.folds, lambda: write_atomically(path, json.dumps(rows).encode()))
    except TopictureError as error:
        sys.exit(f"yang2010: {error}")
    for model, params, _, ratio in ranked(rows):
        print(f"{model:<12} {ratio:.3f} x word frequency  {params}")


def _try_all(
    corpora: Mapping[str, Corpus], rows: list[Tried], n_folds: int, keep: Callable[[], None]
) -> None:
    """Add what is missing to `rows`."""
    have = [row[:4] for row in rows]
    for fold in range(n_folds):
        for name, corpus in corpora.items():
            for model, params in MENDS if name == FAILING else GRID:
                if (name, model, params, fold) not in have:
                    rows.append(try_setting(name, corpus, model, params, fold))
                    print(rows[-1], file=sys.stderr, flush=True)
                    keep()


if __name__ == "__main__":
    main()
