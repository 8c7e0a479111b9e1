"""Corr-LDA on clusters of 1 to 16 workers on this machine: the same bits, time per pass, efficiency, overhead.

    python -m benchmarks cluster [--full]

Efficiency is the time of a pass with one worker, on one core, over that of n workers times the cores they have (n, or
all of the machine's where those are fewer): 1 is linear. The machine must be idle. The overhead is a pass over as many
shards of a few images each, in which there is next to nothing to compute.
"""

import hashlib
import os
import tempfile
import time

import numpy as np

from topicture.cluster.addresses import hush
from topicture.cluster.engine import Cluster
from topicture.cluster.members import local_cluster
from topicture.corpus import Corpus
from topicture.elsewhere import working_on
from topicture.models.em import loop as em
from topicture.models.registry import make_annotator

N_SHARDS = 64


def run(quick: bool = True) -> list[dict]:
    hush()
    images, topics, passes = (N_SHARDS * 1024, 200, 4) if quick else (N_SHARDS * 2048, 200, 6)
    corpus, small = synthetic(images), synthetic(N_SHARDS * 8)
    chunk = em.chunk_images
    try:
        em.chunk_images = lambda: images // N_SHARDS
        here, seconds = timed(corpus, topics, passes)
        rows = [{"workers": "none", "pass s": seconds, "same bits": True}]
        for n in (1, 2, 4, 8, 16):
            row = {"workers": n, "cores": min(n, len(os.sched_getaffinity(0)))}
            with (
                tempfile.TemporaryDirectory() as folder,
                local_cluster(n, port=0, one_core_each=True) as members,
                Cluster(members.address, folder) as cluster,
                working_on(cluster),
            ):
                em.chunk_images = lambda: images // N_SHARDS
                there, row["pass s"] = timed(corpus, topics, passes)
                em.chunk_images = lambda: 8
                _, row["overhead s"] = timed(small, 2, passes)
            row["same bits"] = there == here
            one = next((each["pass s"] for each in rows if each["workers"] == 1), row["pass s"])
            row["efficiency"] = one / (row["cores"] * row["pass s"])
            rows.append(row)
        return rows
    finally:
        em.chunk_images = chunk


def timed(corpus: Corpus, topics: int, passes: int) -> tuple[str, float]:
    """A hash of what was learned, and seconds per pass, of those that compile nothing."""
    settings = {"n_topics": topics, "n_init": 1, "tol": 0.0, "max_sweeps": 20, "sweep_tol": 0.0}
    make_annotator("corr-lda", **settings, max_iter=1).fit(corpus)
    moments: list[float] = []
    annotator = make_annotator("corr-lda", **settings, max_iter=passes)
    annotator.fit(corpus, callback=lambda progress: moments.append(time.perf_counter()))
    content = b"".join(np.asarray(x).tobytes() for x in (*annotator.params_, annotator.objective_trace_))
    return hashlib.sha256(content).hexdigest(), float(np.median(np.diff(moments)))


def synthetic(n: int, n_regions: int = 8, n_features: int = 30, n_words: int = 500) -> Corpus:
    rng = np.random.default_rng(0)
    captions = np.zeros((n, n_words))
    captions[np.arange(n)[:, None], rng.integers(0, n_words, (n, 4))] = 1
    return Corpus.from_arrays(
        captions=captions,
        regions=rng.normal(size=(n * n_regions, n_features)),
        region_offsets=np.arange(n + 1) * n_regions,
        image_ids=[f"{i:07d}" for i in range(n)],
    )
