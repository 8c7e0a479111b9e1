"""Graphs: building one of many images within time and memory, and a smoothing sweep beside SciPy's own product.

    python benchmarks/graph.py [--full]

Images are synthetic: visual words drawn from a few hundred themes with a long-tailed vocabulary.
"""

import json
import resource
import sys
import time

import numpy as np
from scipy import sparse

from topicture.models.graphs.graph import Graph, GraphRule, Views


def images(n, n_visual=1000, per_image=10, n_themes=300, seed=0):
    """Counts (n, n_visual) of about `per_image` visual words per image."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(10, 10 + n_visual) ** 0.7
    themes = rng.permuted(np.tile(popularity, (n_themes, 1)), axis=1)
    own = rng.random((n, per_image)) < 0.6
    theme = rng.integers(n_themes, size=n)
    cumulative = np.cumsum(themes / themes.sum(axis=1, keepdims=True), axis=1)
    words = np.empty((n, per_image), np.int64)
    for t in range(n_themes):
        rows = np.flatnonzero(theme == t)
        words[rows] = np.searchsorted(cumulative[t], rng.random((len(rows), per_image)))
    background = np.searchsorted(np.cumsum(popularity) / popularity.sum(), rng.random((n, per_image)))
    words = np.minimum(np.where(own, words, background), n_visual - 1)
    rows = np.repeat(np.arange(n), per_image)
    return sparse.csr_array((np.ones(n * per_image), (rows, words.ravel())), shape=(n, n_visual))


def best_time(fn, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        times.append(time.perf_counter() - start)
    return min(times)


def build(n, name, rule, views):
    start, cpu = time.perf_counter(), time.process_time()
    graph = rule.graph(views)
    return {
        "benchmark": f"graph: {name}",
        "images": n,
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "mean_degree": graph.S.nnz / n,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def smoothing(n, degree=15, n_topics=100, seed=0):
    """One sweep of the smoothing step against S @ p."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n, size=(n * degree // 2, 2))
    S = sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n)).tocsr()
    graph = Graph.from_adjacency(S, asymmetric="max")
    p = rng.dirichlet(np.ones(n_topics), n)
    M = graph.smoother(0.1)
    # Alternately, so that other work on the machine meets both.
    ours, product = np.inf, np.inf
    for _ in range(5):
        ours = min(ours, best_time(lambda: M @ p, 1))
        product = min(product, best_time(lambda: graph.S @ p, 1))
    return {
        "benchmark": "graph: smoothing sweep",
        "images": n,
        "mean_degree": graph.S.nnz / n,
        "topics": n_topics,
        "seconds": ours,
        "scipy_product_seconds": product,
        "ratio": ours / product,
    }


def run(quick: bool = True) -> list[dict]:
    """Rows of figures; quick uses a tenth of the images for the graphs."""
    n = 10_000 if quick else 100_000
    visual = images(n)
    views = Views(visual, None, None)
    rows = [
        build(n, "15 nearest neighbours by visual words", GraphRule(kind="neighbours"), views),
        build(n, "at least 4 shared visual words", GraphRule(min_visual=4), views),
    ]
    projection = np.random.default_rng(1).normal(size=(visual.shape[1], 64))
    described = Views(None, None, visual @ projection)
    rule = GraphRule(kind="neighbours", features="descriptor")
    rows.append(build(n, "15 nearest neighbours by descriptor (64)", rule, described))
    return [*rows, smoothing(50_000)]


if __name__ == "__main__":
    for row in run(quick="--full" not in sys.argv):
        print(json.dumps(row))
