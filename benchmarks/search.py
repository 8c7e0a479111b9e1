"""Building a word index and searching it: 1,000,000 images x 300 words, or a tenth of that when quick.

Each query is timed warm (the median of several, the index in the page cache) and cold (the first one after the system
was asked to drop the index from its cache; left out where it can't be asked). The goal is 0.1 s for a warm query over
the million. Building includes making up the probabilities.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from topicture.corpus import Vocabulary
from topicture.search.index import WordIndex

N_IMAGES, N_IMAGES_QUICK, N_WORDS = 1_000_000, 100_000, 300
MOST_SECONDS = 0.1
BLOCK = 5_000
REPEATS = 9
QUERIES = {
    "one word": "word7",
    "two words": "word7 word42",
    "four words, one excluded": "word7 word42 word100 -word200",
    "ten words": " ".join(f"word{i}" for i in range(10)),
}


def run(quick: bool = True) -> list[dict]:
    """Rows {"name", "seconds", ...}: the build and every query, in float32 and float16."""
    n_images = N_IMAGES_QUICK if quick else N_IMAGES
    rows = []
    for dtype in ("float32", "float16"):
        with tempfile.TemporaryDirectory() as folder:
            rows += _rows(Path(folder) / "index", n_images, dtype)
    return rows


def _rows(folder: Path, n_images: int, dtype: str) -> list[dict]:
    title = f"search/{n_images:,} x {N_WORDS} {dtype}"
    ids = [f"photos/{i:07d}.jpg" for i in range(n_images)]
    vocabulary = Vocabulary(f"word{i}" for i in range(N_WORDS))
    start = perf_counter()
    WordIndex.build(folder, vocabulary, ids, _probabilities(n_images), dtype=dtype)
    rows: list[dict] = [
        {
            "name": f"{title}: build",
            "seconds": perf_counter() - start,
            "megabytes": (folder / "log_p.npy").stat().st_size / 1e6,
        }
    ]
    for name, text in QUERIES.items():
        rows.append({"name": f"{title}: {name}", **_query_times(folder, text), "most": MOST_SECONDS})
    return rows


def _query_times(folder: Path, text: str) -> dict[str, float]:
    dropped = _drop_from_cache(folder / "log_p.npy")
    index = WordIndex.open(folder)
    first, _ = _timed(index, text)
    seconds, cpu_seconds = zip(*(_timed(index, text) for _ in range(REPEATS)), strict=True)
    warm = {"seconds": median(seconds), "cpu_seconds": median(cpu_seconds)}
    return warm | {"cold_seconds": first} if dropped else warm


def _probabilities(n_images: int) -> Iterator[np.ndarray]:
    """Sparse-ish rows as models give them: a few likely words, many unlikely ones."""
    rng = np.random.default_rng(0)
    for start in range(0, n_images, BLOCK):
        weight = rng.standard_exponential((min(BLOCK, n_images - start), N_WORDS)) ** 3
        yield weight / weight.sum(axis=1, keepdims=True)


def _timed(index: WordIndex, text: str) -> tuple[float, float]:
    """Wall-clock and CPU seconds of one search; on a busy machine the latter are the ones to compare."""
    start, cpu_start = perf_counter(), process_time()
    index.search(text, 50)
    return perf_counter() - start, process_time() - cpu_start


def _drop_from_cache(path: Path) -> bool:
    """Ask the system to forget a file, which it does if no one has it mapped."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


if __name__ == "__main__":
    for row in run(quick="--full" not in sys.argv):
        print(row)
