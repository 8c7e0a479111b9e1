"""The `metrics` golden case: every measure, and one retrieval curve per query, computed by Topicture."""

from typing import Any

import numpy as np

from topicture.annotations.measures import metrics


def run(case: Any) -> dict[str, Any]:
    """Every expected output by name; `case` has `.inputs` (arrays) and `.config` (ks, queries, n_words)."""
    inputs, config = case.inputs, case.config
    scores, truth = inputs["scores"], inputs["truth"]
    sweep = metrics.threshold_sweep(scores, truth)
    outputs = {
        "accuracy": metrics.accuracy(scores, truth),
        "complete_length": metrics.complete_length(scores, truth),
        "perplexity": metrics.caption_perplexity(scores, truth),
        "ns_thresholds": sweep.thresholds,
        "ns_scores": sweep.scores,
        "ns_n_words": sweep.n_words,
        "ns_best": sweep.best,
        "map": metrics.mean_average_precision(scores, truth, config["queries"]),
    }
    for k in config["ks"]:
        outputs[f"hit_rate_{k}"] = metrics.hit_rate(scores, truth, k)
        outputs[f"f1_{k}"] = metrics.top_k_f1(scores, truth, k)
        outputs[f"region_acc_{k}"] = metrics.region_accuracy(
            inputs["region_scores"], inputs["region_label"], k
        )
        outputs[f"region_f1_{k}"] = metrics.region_f1(inputs["region_scores"], inputs["region_label"], k)
    for number, query in enumerate(config["queries"]):
        outputs.update(
            {f"q{number}_{name}": value for name, value in _retrieval(scores, truth, query).items()}
        )
    for n in config["n_words"]:
        outputs[f"ns_propagation_{n}"] = metrics.normalised_score_of_lists(inputs["lists"], truth, n)
    return outputs


def _retrieval(scores: np.ndarray, truth: np.ndarray, query: list[int]) -> dict[str, Any]:
    values, relevant = metrics.retrieval_scores(scores, query), metrics.relevance(truth, query)
    curve = metrics.precision_recall(values, relevant)
    return {
        "precision": curve.precision,
        "recall": curve.recall,
        "ap": metrics.average_precision(values, relevant),
        "order": curve.order,
    }
