"""A collection that no table of photos x words fits into memory for: learn, annotate, index, search, neighbours.

    python -m benchmarks scale [--full]

1,000,000 photos and 10,000 words (100,000 and 2,000 when quick), with synthetic descriptors and visual words, a tenth
of the photos tagged. Every stage is a process of its own, so that its peak memory is its own; the corpus is mapped from
disk. `learn` is `auto` within its budgets of time and memory, calibrated on hidden captions; `annotate` streams blocks
of presences into the index and counts suggestions.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary

FULL = {"photos": 1_000_000, "words": 10_000, "budget_seconds": 600.0}
QUICK = {"photos": 100_000, "words": 2_000, "budget_seconds": 60.0}
TAGGED_SHARE = 0.1
COLUMNS, VISUAL_WORDS, THEMES = 64, 1000, 2000
BUDGET_BYTES = 3e9
MOST_BYTES, MOST_SEARCH_SECONDS = 6e9, 0.1
STAGES = ("make", "learn", "annotate", "search", "neighbours")
QUERIES = ("word7", "word7 word42", "word7 word42 word100 -word200")


def run(quick: bool = True) -> list[dict]:
    """Rows {"name", "seconds", "cpu_seconds", "peak_bytes", ...}, one per stage."""
    sizes = QUICK if quick else FULL
    rows = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TOPICTURE_BENCHMARK_FOLDER")) as folder:
        for stage in STAGES:
            rows.append(run_stage(stage, Path(folder), sizes))
            print(rows[-1], flush=True)
    return rows


def run_stage(stage: str, folder: Path, sizes: dict) -> dict:
    command = [sys.executable, "-m", "benchmarks.scale", stage, str(folder), json.dumps(sizes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# --- Stages -------------------------------------------------------------------------------------------------------


def make(folder: Path, sizes: dict) -> dict:
    """Photos of themes: a descriptor around the theme's, visual words and words that the theme prefers."""
    n, V, rng = sizes["photos"], sizes["words"], np.random.default_rng(0)
    theme = rng.integers(THEMES, size=n)
    centres = rng.normal(size=(THEMES, COLUMNS)).astype(np.float32)
    corpus = folder / "corpus"
    corpus.mkdir()
    rows = np.lib.format.open_memmap(corpus / "descriptor.npy", "w+", np.float32, (n, COLUMNS))
    for block in range(0, n, 50_000):
        own = theme[block : block + 50_000]
        rows[block : block + 50_000] = centres[own] + 0.9 * rng.normal(size=(len(own), COLUMNS))
    tagged = rng.random(n) < TAGGED_SHARE
    parts = {
        "captions": _bags(rng, theme, tagged, V, 5, rare=1.0),
        "visual_words": _bags(rng, theme, np.ones(n, bool), VISUAL_WORDS, 12, rare=0.5),
    }
    for name, bag in parts.items():
        for part in ("data", "indices", "indptr"):
            np.save(corpus / f"{name}.{part}.npy", getattr(bag, part))
    header = {
        "topicture_corpus": 1,
        "image_ids": [f"{i:07d}" for i in range(n)],
        "vocabulary": [f"word{i}" for i in range(V)],
        "dense": ["descriptor"],
        "sparse": {name: list(bag.shape) for name, bag in parts.items()},
    }
    (corpus / "corpus.json").write_text(json.dumps(header))
    return {"tagged": int(tagged.sum())}


def _bags(
    rng: np.random.Generator, theme: np.ndarray, having: np.ndarray, V: int, length: int, rare: float
) -> sparse.csr_array:
    """Words of photos: of 40 that a theme prefers, or any, frequent ones rather than rare ones."""
    popular = np.cumsum(1 / np.arange(1, V + 1) ** rare)
    popular /= popular[-1]
    preferred = np.searchsorted(popular, rng.random((THEMES, 40)))
    images = np.flatnonzero(having)
    own = rng.random((len(images), length)) < 0.7
    words = np.searchsorted(popular, rng.random((len(images), length)))
    words = np.where(own, preferred[theme[images, None], rng.integers(40, size=own.shape)], words)
    bag = sparse.csr_array(
        (np.ones(words.size), (np.repeat(images, length), words.ravel())), shape=(len(theme), V)
    )
    bag.sum_duplicates()
    return sparse.csr_array((bag.data, bag.indices.astype(np.int32), bag.indptr.astype(np.int32)), bag.shape)


def learn(folder: Path, sizes: dict) -> dict:
    from topicture.annotations.choice.learning import learn_auto
    from topicture.annotations.choice.presence import fit_presence
    from topicture.models.files import write_model
    from topicture.models.registry import load_annotator

    corpus = Corpus.load(folder / "corpus")
    found = learn_auto(corpus, budget_seconds=sizes["budget_seconds"], budget_bytes=BUDGET_BYTES)
    scores = found.held_out
    truth = corpus.captions[scores.rows].toarray() > 0
    presence = fit_presence(scores.p, truth, np.ones_like(truth))
    found.annotator.save(folder / "model.safetensors")
    write_model(folder / "presence.safetensors", {}, presence.to_arrays())
    again = load_annotator(folder / "model.safetensors")
    few = corpus[:50]
    np.testing.assert_allclose(again.annotate(few), found.annotator.annotate(few), rtol=1e-6)
    print(found.annotator.table(), file=sys.stderr)
    return {
        "judged": len(scores.p),
        "members": len(found.annotator.members_),
        "mean_average_precision": found.trial.mean,
        "model_bytes": (folder / "model.safetensors").stat().st_size,
    }


def annotate(folder: Path, sizes: dict) -> dict:
    from topicture.annotations.choice.presence import Presence
    from topicture.models.files import read_model
    from topicture.models.registry import load_annotator
    from topicture.search.index import WordIndex

    corpus = Corpus.load(folder / "corpus")
    annotator = load_annotator(folder / "model.safetensors")
    presence = Presence(**read_model(folder / "presence.safetensors")[1])
    suggested = 0

    def presences() -> Iterator[np.ndarray]:
        nonlocal suggested
        for _, p in annotator.annotate_blocks(corpus):
            found = presence(p)
            suggested += int((found >= 0.25).sum())
            yield found

    index = WordIndex.build(
        folder / "index", Vocabulary(corpus.vocabulary), corpus.image_ids, presences(), dtype="float16"
    )
    size = sum(path.stat().st_size for path in (folder / "index").iterdir())
    return {"suggested": suggested, "index_bytes": size, "index": type(index.log_p).__name__}


def search(folder: Path, sizes: dict) -> dict:
    from topicture.search.index import WordIndex

    index = WordIndex.open(folder / "index")
    worst = {"search_seconds": 0.0, "search_cpu_seconds": 0.0}
    for query in QUERIES:
        index.search(query, 50)
        for name, clock in zip(worst, (perf_counter, process_time), strict=True):
            seconds = []
            for _ in range(7):
                begin = clock()
                index.search(query, 50)
                seconds.append(clock() - begin)
            worst[name] = max(worst[name], median(seconds))
    return {**worst, "most": MOST_SEARCH_SECONDS}


def neighbours(folder: Path, sizes: dict) -> dict:
    """The similarity graph: 15 neighbours of every photo, and how many of the true ones are among them."""
    from topicture.models.neighbours import nearest, plan_of

    rows = Corpus.load(folder / "corpus").descriptor
    assert rows is not None
    near = nearest(rows, rows, 16)
    some = np.linspace(0, len(rows) - 1, 200).astype(int)
    true = nearest(rows[some], rows, 16, "exact")
    right = [len(np.intersect1d(near.rows[i], true.rows[k])) / 16 for k, i in enumerate(some)]
    return {"plan": plan_of(len(rows), len(rows), rows.shape[1]), "recall": float(np.mean(right))}


if __name__ == "__main__":
    stage, folder, sizes = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    begin, cpu = perf_counter(), process_time()
    told = globals()[stage](folder, sizes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    row = {
        "name": f"scale/{sizes['photos']:,} x {sizes['words']:,}: {stage}",
        "seconds": perf_counter() - begin,
        "cpu_seconds": process_time() - cpu,
        "peak_bytes": peak,
        "most_bytes": MOST_BYTES,
        **told,
    }
    print(json.dumps(row, default=float))
