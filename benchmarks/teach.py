"""Teaching a word by clicks: how long a ranking takes, and how good it is against learning everything anew.

Speed: descriptors of 100,000 photos (20,000 when quick) as `annotate` writes them, 1,280 numbers each, memory-mapped.

Quality: the rendered sample collection, words on at least 20 of its photos. Somebody clicks on five photos that have
the word; later on two right and three wrong ones among the first 24 of each ranking. Mean average precision over the
other photos, for `one word` (what the page does), `refit` (logistic regression from the start, photos nobody clicked on
count as wrong) and `likeness` (to the mean of the clicked photos). `said 0.5-0.9` is how often photos of that
probability have the word, which should lie in between.
"""

import tempfile
from collections.abc import Callable
from csv import DictReader
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from scipy.special import expit

from topicture.annotations.measures.ranking import rank
from topicture.annotations.one_word import Background, learn_word
from topicture.demo.scenes import write_collection
from topicture.models.baselines.logistic import fit_logistic
from topicture.vision.networks.deep import unit_rows
from topicture.vision.pipeline import describe
from topicture.vision.recipe import Recipe

N_DESCRIPTOR = 1280
MOST_SECONDS = 1.0
ROUNDS = 3

Score = Callable[[list[int], list[int]], np.ndarray]


def run(quick: bool = True) -> list[dict]:
    """Rows {"name", ...}: seconds of a click, then the quality of each way."""
    return [*_speed(20_000 if quick else 100_000), *_quality(240 if quick else 1000)]


# --- Speed ----------------------------------------------------------------------------------------------------------


def _speed(n: int) -> list[dict]:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        rows = np.lib.format.open_memmap(path, "w+", np.float16, (n, N_DESCRIPTOR))
        for start in range(0, n, 4096):
            block = rng.standard_normal((min(4096, n - start), N_DESCRIPTOR), np.float32)
            rows[start : start + 4096] = unit_rows(block)
        rows = np.lib.format.open_memmap(path, "r")
        start_cpu = process_time()
        background = Background(rows)
        found = [{"name": f"{n:,} photos, once", "cpu seconds": process_time() - start_cpu}]
        for clicks in (5, 50, 400):
            chosen = rng.choice(n, clicks, replace=False)
            start, start_cpu = perf_counter(), process_time()
            learn_word(background, rows[chosen], np.arange(clicks) % 2 == 0).log_odds(rows)
            found.append(
                {
                    "name": f"{n:,} photos, {clicks} clicks",
                    "seconds": perf_counter() - start,
                    "cpu seconds": process_time() - start_cpu,
                    "most": MOST_SECONDS,
                }
            )
    return found


# --- Quality --------------------------------------------------------------------------------------------------------


def _quality(n: int) -> list[dict]:
    rows, truth = _sample(n)
    background = Background(rows)

    def one_word(yes: list[int], no: list[int]) -> np.ndarray:
        clicked = np.array(yes + no)
        return learn_word(background, rows[clicked], np.arange(len(clicked)) < len(yes)).log_odds(rows)

    def refit(yes: list[int], no: list[int]) -> np.ndarray:
        present = np.zeros((len(rows), 1))
        present[yes] = 1
        scaled = (rows - rows.mean(axis=0)) / (rows - rows.mean(axis=0)).std()
        return fit_logistic(scaled, present, 3.0, 100, 1e-5)[0](scaled)[:, 0]

    def likeness(yes: list[int], no: list[int]) -> np.ndarray:
        return rows @ rows[yes].mean(axis=0)

    return [
        {"name": f"{n} photos, {name}", **_judge(way, truth)}
        for name, way in (("one word", one_word), ("refit", refit), ("likeness", likeness))
    ]


def _judge(way: Score, truth: np.ndarray) -> dict[str, float]:
    precisions: list[list[float]] = [[] for _ in range(ROUNDS)]
    said: list[np.ndarray] = []
    start = process_time()
    for word in range(truth.shape[1]):
        present = truth[:, word]
        yes = np.random.default_rng(word).choice(np.flatnonzero(present), 5, replace=False).tolist()
        no: list[int] = []
        for turn in range(ROUNDS):
            scores = way(yes, no)
            rest = np.setdiff1d(np.arange(len(present)), yes + no)
            order = rest[rank(scores[rest])]
            precisions[turn].append(_average_precision(present[order]))
            said.append(np.stack([expit(scores[rest]), present[rest]]))
            first = order[:24]
            yes += first[present[first]][-2:].tolist()
            no += first[~present[first]][:3].tolist()
    p, has = np.concatenate(said, axis=1)
    between = (p >= 0.5) & (p < 0.9)
    return {
        **{f"precision, turn {turn + 1}": float(np.mean(values)) for turn, values in enumerate(precisions)},
        "said 0.5-0.9": float(has[between].mean()) if between.any() else float("nan"),
        "cpu seconds": (process_time() - start) / (ROUNDS * truth.shape[1]),
    }


def _average_precision(present: np.ndarray) -> float:
    hits = np.cumsum(present)
    return float((hits / np.arange(1, len(present) + 1))[present].mean())


def _sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Descriptors (n, L) of rendered photos, and which of the frequent words are true of each."""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_collection(folder, n, labels=True)
        with open(Path(folder) / "truth.csv", newline="") as file:
            words = [set(line["words"].split(";")) for line in DictReader(file)]
        described = describe(paths, Recipe(("deep",), network="lite0"), vocabulary=["any"], workers=1)
    rows = unit_rows(np.asarray(described.corpus.descriptor, np.float64))
    vocabulary = sorted(set().union(*words))
    truth = np.array([[word in each for word in vocabulary] for each in words])
    often = (truth.sum(axis=0) >= 20) & (truth.mean(axis=0) <= 0.5)
    return rows, truth[:, often]
