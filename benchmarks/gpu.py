"""EM iterations on an accelerator, float32: Corr-LDA at 100,000 and 1,000,000 images, Link-LDA and mixture beside it.

`python -m benchmarks.gpu` prints one line per case: seconds of the first pass (padding, upload, compilation) and of a
later iteration, images per second, whether chunks stay on the device, and how far from the floor of memory traffic.
Then whole fits of `network` and `matching`, a first one with compilation and a second.
`--images N` asks for other sizes, `--stream` for chunks that are sent every time, `--tagged N` for other sizes of those
fits. The same on two cores: `TOPICTURE_DEVICE=cpu taskset -c 0,1 python -m benchmarks.gpu --images 20000`.
"""

import argparse
import json
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.corr_lda import N_FEATURES, N_SWEEPS, N_WORDS, start
from topicture.corpus import Corpus
from topicture.devices import found
from topicture.models.counts.link_lda import LinkLDA
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.em import accelerators
from topicture.models.em import loop as em
from topicture.models.regions.corr_lda import CorrLDA
from topicture.models.registry import make_annotator

N_VISUAL = 600
MEMORY_BYTES_PER_SECOND = 4.0e12  # what an H200 sustains


def many_images(n_images: int) -> Corpus:
    """6 to 10 regions, 1 to 5 words, about 30 visual words; without a loop over images."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(6, 11, n_images))])
    regions = rng.standard_normal((offsets[-1], N_FEATURES), np.float32)
    return Corpus.from_arrays(
        captions=_bags(rng, n_images, N_WORDS, 1, 6),
        visual_words=_bags(rng, n_images, N_VISUAL, 20, 41),
        regions=regions,
        region_offsets=offsets,
    )


def _bags(rng: np.random.Generator, n: int, size: int, least: int, most: int) -> sparse.csr_array:
    counts = rng.integers(least, most, n)
    rows = np.repeat(np.arange(n), counts)
    bags = sparse.coo_array((np.ones(len(rows)), (rows, rng.integers(0, size, len(rows)))), shape=(n, size))
    return sparse.csr_array(bags)


def corr_lda(corpus: Corpus) -> dict:
    estimator = CorrLDA(200, max_sweeps=N_SWEEPS, sweep_tol=0.0, precision="float32")
    estimator._floor = np.full(N_FEATURES, 1e-3)
    # Every sweep writes one array of regions x topics and reads it four times, unless it stays on the chip.
    floor = N_SWEEPS * 5 * 10 * 200 * 4
    return measure("corr-lda", estimator, corpus, start(200), floor)


def link_lda(corpus: Corpus) -> dict:
    estimator = LinkLDA(100, precision="float32", learning="batch")
    params = estimator._start(corpus[:1000], np.random.default_rng(1))
    return measure("link-lda", estimator, corpus, params, estimator.n_sweeps * 2 * 45 * 100 * 4)


def mixture(corpus: Corpus) -> dict:
    estimator = MixUnigram(100, precision="float32")
    return measure(
        "mix-unigram", estimator, corpus, estimator._start(corpus[:1000], np.random.default_rng(1))
    )


def tagged_photos(n: int) -> Corpus:
    """Photos of 64 kinds: a descriptor of 256 columns around that of the kind, and words that kinds have by chance."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 64, n)
    descriptor = rng.standard_normal((64, 256))[kinds] + 2 * rng.standard_normal((n, 256))
    captions = rng.random((n, 260)) < (0.5 * (rng.random((64, 260)) < 0.03) + 0.001)[kinds]
    captions[np.arange(n), kinds] = True
    return Corpus.from_arrays(captions=sparse.csr_array(captions.astype(float)), descriptor=descriptor)


def whole_fit(name: str, corpus: Corpus) -> dict:
    seconds = []
    for _ in range(2):
        began = perf_counter()
        make_annotator(name).fit(corpus)
        seconds.append(perf_counter() - began)
    return {
        "name": name,
        "images": len(corpus),
        "first_seconds": round(seconds[0], 3),
        "seconds": round(seconds[1], 3),
        "images_per_second": int(len(corpus) / seconds[1]),
    }


def measure(name: str, estimator: Any, corpus: Corpus, params: Any, floor_bytes: int = 0) -> dict:
    """Passes and M-steps as `fit` runs them, posteriors carried on."""
    model, prior, batches = estimator._model(), estimator._prior(), estimator._batches(corpus)
    shards = em.LocalShards(batches)
    seconds, bound = [], 0.0
    for _ in range(5):
        began = perf_counter()
        stats, bound = shards.run(model, em._expectations(model, params, batches.dtype))
        shards.keep()
        np.asarray(em.m_step(model, params, stats, prior)[0])
        seconds.append(perf_counter() - began)
    best = min(seconds[1:])
    return {
        "name": name,
        "images": len(corpus),
        "first_seconds": round(seconds[0], 3),
        "seconds": round(best, 4),
        "images_per_second": int(len(corpus) / best),
        "chunks": len(batches),
        "resident": sum(
            not isinstance(q[0], np.ndarray) for q in shards.posteriors() if isinstance(q, tuple)
        ),
        "times_floor": round(best * MEMORY_BYTES_PER_SECOND / (floor_bytes * len(corpus)), 2)
        if floor_bytes
        else None,
        "bound": bound,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--tagged", type=int, nargs="*", default=[2_500, 20_000])
    parser.add_argument("--stream", action="store_true", help="keep nothing on the device")
    asked = parser.parse_args()
    if asked.stream:
        accelerators._RESIDENT_SHARE = 0.0
    print(found(), flush=True)
    for n_images in asked.images:
        corpus = many_images(n_images)
        for case in (corr_lda, link_lda, mixture):
            print(json.dumps(case(corpus)), flush=True)
    for n_images in asked.tagged:
        corpus = tagged_photos(n_images)
        for name in ("network", "matching"):
            print(json.dumps(whole_fit(name, corpus)), flush=True)


if __name__ == "__main__":
    main()
