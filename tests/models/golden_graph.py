"""Golden runner: similarity graphs, Laplacian, smoothing."""

import numpy as np
from scipy import sparse

from topicture.models.graphs.graph import GraphRule, Views

# The case's names of the weights' parameters -> ours.
NAMES = {"sigma_f": "sigma_visual", "sigma_w": "sigma_words", "mu_f": "mu_visual", "mu_w": "mu_words"}


def run(case):
    config = case.config
    threshold = {
        "min_visual": float(config["t_f"]),
        "min_words": float(config["t_w"]),
        "strict": config["strict"],
    }
    weights = {NAMES[name]: value for name, value in config["params"].items()}
    images = Views(sparse.csr_array(case.inputs["F"]), sparse.csr_array(case.inputs["W"]), None)
    edges = GraphRule(**threshold).graph(images)
    graph = GraphRule(**threshold, weighting=config["kind"], words_of_untagged=True, **weights).graph(images)
    ps = [case.inputs["p"]]
    for _ in range(config["steps"]):
        ps.append(graph.smooth(ps[-1], config["gamma"]))
    return {
        "A": edges.S.toarray().astype(np.int64),
        "S": graph.S.toarray(),
        "L": graph.laplacian().toarray(),
        "p_smooth": ps[-1],
        "R": [graph.roughness(p) for p in ps],
    }
