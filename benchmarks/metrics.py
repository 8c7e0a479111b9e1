"""Seconds each measure takes on 10,000 images x 400 words, three true words per image."""

from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

from topicture.annotations.measures import metrics

N_IMAGES, N_WORDS, N_TRUE = 10_000, 400, 3


def run() -> list[dict]:
    """One row per measure: name, seconds and CPU seconds, the better of two runs."""
    rows = []
    for name, call in _calls().items():
        seconds, cpu_seconds = _timed(call)
        rows.append({"name": f"metrics/{name}", "seconds": seconds, "cpu_seconds": cpu_seconds})
    return rows


def _calls() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(N_WORDS, 0.5), size=N_IMAGES)
    truth = np.zeros((N_IMAGES, N_WORDS))
    np.put_along_axis(truth, rng.integers(N_WORDS, size=(N_IMAGES, N_TRUE)), 1.0, axis=1)
    lists, labels = metrics.rank(p)[:, :50], truth.argmax(axis=1)
    pairs = metrics.caption_queries(truth[:100], length=2)
    return {
        "accuracy": lambda: metrics.accuracy(p, truth),
        "complete_length": lambda: metrics.complete_length(p, truth),
        "hit_rate": lambda: metrics.hit_rate(p, truth, 5),
        "normalised_score": lambda: metrics.normalised_score(p > 1 / N_WORDS, truth),
        "threshold_sweep": lambda: metrics.threshold_sweep(p, truth),
        "normalised_score_of_lists": lambda: metrics.normalised_score_of_lists(lists, truth, np.arange(50)),
        "top_k_f1": lambda: metrics.top_k_f1(p, truth),
        "caption_perplexity": lambda: metrics.caption_perplexity(p, truth),
        "held_out_nll": lambda: metrics.held_out_nll(p[:, 0], truth),
        "average_precision (one query)": lambda: metrics.average_precision(p[:, 0], truth[:, 0]),
        "mean_average_precision (all words)": lambda: metrics.mean_average_precision(p, truth),
        f"mean_average_precision ({len(pairs)} pairs)": lambda: metrics.mean_average_precision(
            p, truth, pairs
        ),
        "region_accuracy": lambda: metrics.region_accuracy(p, labels, 5),
        "region_f1": lambda: metrics.region_f1(p, labels, 5),
        "per_word": lambda: metrics.per_word(p, truth),
        "summary": lambda: metrics.summary(p, truth),
    }


def _timed(call: Callable[[], object], repeats: int = 2) -> tuple[float, float]:
    """Fewest wall-clock and fewest CPU seconds; on a busy machine the latter are the ones to compare."""
    seconds, cpu_seconds = [], []
    for _ in range(repeats):
        start, cpu_start = perf_counter(), process_time()
        call()
        seconds.append(perf_counter() - start)
        cpu_seconds.append(process_time() - cpu_start)
    return min(seconds), min(cpu_seconds)
