"""Link-LDA against other libraries' topic models: CPU seconds until the same held-out perplexity of visual words.

Corpora are sampled from a Link-LDA of known size. Every library learns K = 100 topics; one evaluator, whose time is
not counted, folds half of the visual words of held-out images into the topics and scores the other half. The target is
1.05 times the best perplexity that any library reached. CPU seconds count everything between a count matrix in memory
and the topics: handing over the counts (`setup_cpu_seconds` of it) and training; for Topicture a whole `fit`, with what
the first fit of a process takes longer than others (`setup_cpu_seconds`), compiled code kept by an earlier process as
the tool does (topicture.compiled). Starts are random and their luck matters, so all but the
slowest run with several seeds: `cpu_seconds` is the median, `quickest` and `slowest` are those of the seeds, and
`reached` says how many came to the target.

`topicture` chooses its algorithm by the length of the images, as `algorithm="auto"` does; the rows of single algorithms
are to compare. Their settings are the same for both corpora, and were chosen on other draws of them.

The other libraries run one after another in interpreters of their own, one thread each. `TOPICTURE_PEER_PYTHON` names
the interpreter that has tomotopy and gensim; without it they are skipped, and the rows say so.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.counts.link_lda import LinkLDA

K, SLACK, SEEDS = 100, 1.05, (1, 2, 3, 4, 5)
# Of Topicture, by row; all look after so many epochs.
ALGORITHMS = {"topicture": "auto", "topicture-variational": "variational", "topicture-cvb0": "cvb0"}
EPOCHS = (1, 2, 3, 4)
# The priors are those of the other libraries. Minibatches are smaller and the first steps longer than by default: with
# 512 images and tau0 = 16 the topics are still alike after an epoch, and some of them stay merged.
SETTINGS = {"alpha": 0.1, "eta_words": 0.05, "batch_size": 256, "tau0": 2.0}
PEERS = Path(__file__).with_name("link_lda_peers.py")


class Spec(NamedTuple):
    """A corpus, and after how many iterations each library is looked at (further ones; scikit-learn-batch: in all)."""

    true_topics: int
    alpha: float
    eta: float
    eta_words: float
    n_visual: int  # size of the visual vocabulary
    tokens: int  # visual tokens an image
    seed: int
    steps: dict[str, list[int]]
    one_seed: tuple[str, ...] = ()  # libraries too slow for several
    n_train: int = 5000
    n_test: int = 500
    n_words: int = 150
    caption: int = 3


SPECS = {
    "small": Spec(
        30,
        0.02,
        0.02,
        0.02,
        600,
        10,
        20031,
        {
            "tomotopy": [20, 10, 10, 10, 10, 40, 100, 100],
            "gensim": [1, 1, 2],
            "scikit-learn-online": [1] * 8,
        },
        n_test=1000,
    ),
    "mid": Spec(
        60,
        0.05,
        0.05,
        0.03,
        1000,
        200,
        20092,
        {
            "tomotopy": [15, 5, 5, 5, 10, 60],
            "gensim": [1, 1, 1],
            "scikit-learn-online": [1, 1, 2],
            "scikit-learn-batch": [6, 8, 10, 12, 15, 20],
        },
        ("scikit-learn-online", "scikit-learn-batch"),
    ),
}


class Data(NamedTuple):
    train: Corpus
    seen: sparse.csr_array  # (n_test, U) one half of the visual words of held-out images
    hidden: sparse.csr_array  # (n_test, U) the other half


class Point(NamedTuple):
    """A library's topics after some training."""

    cpu_seconds: float
    perplexity: float


def run(quick: bool = True) -> list[dict]:
    """One row per library and corpus; `quick` leaves out the mid corpus."""
    return [row for name in (["small"] if quick else SPECS) for row in _compare(name)]


def _compare(name: str) -> list[dict]:
    spec = SPECS[name]
    data = make_data(spec)
    curves, facts = {}, {}
    for row, algorithm in ALGORITHMS.items():
        curves[row], setup = _topicture(name, algorithm)
        facts[row] = {"setup_cpu_seconds": setup}
    for library, steps in spec.steps.items():
        python = _interpreter(library)
        if python is None:
            facts[library] = {
                "skipped": "not installed; TOPICTURE_PEER_PYTHON may name an interpreter that has it"
            }
            continue
        seeds = SEEDS[:1] if library in spec.one_seed else SEEDS
        runs = [_peer(python, library, steps, data, seed) for seed in seeds]
        curves[library] = [points for points, _ in runs]
        facts[library] = {"setup_cpu_seconds": float(np.median([setup for _, setup in runs]))}
    target = SLACK * min(point.perplexity for runs in curves.values() for points in runs for point in points)
    named = {library: {"name": f"link-lda/{name}/{library}", **known} for library, known in facts.items()}
    return [{**row, **_summary(curves.get(library, []), target)} for library, row in named.items()]


def _summary(runs: list[list[Point]], target: float) -> dict:
    """Medians over the seeds; a seed that never comes to the target takes for ever."""
    if not runs:
        return {}
    times = [
        min((p.cpu_seconds for p in points if p.perplexity <= target), default=np.inf) for points in runs
    ]
    seconds = {"cpu_seconds": np.median(times), "quickest": min(times), "slowest": max(times)}
    return {
        **{name: float(value) if np.isfinite(value) else None for name, value in seconds.items()},
        "reached": f"{int(np.isfinite(times).sum())} of {len(times)}",
        "perplexity": float(np.median([min(p.perplexity for p in points) for points in runs])),
        "target_perplexity": target,
    }


# --- Data and evaluation ---------------------------------------------------------------------------------------


def make_data(spec: Spec) -> Data:
    """The same draws as those of the peers' own benchmark, so that figures may be compared with theirs."""
    rng = np.random.default_rng(spec.seed)
    B = rng.dirichlet(np.full(spec.n_visual, spec.eta), spec.true_topics)
    Phi = rng.dirichlet(np.full(spec.n_words, spec.eta_words), spec.true_topics)
    n = spec.n_train + spec.n_test
    theta = rng.dirichlet(np.full(spec.true_topics, spec.alpha), n)
    lengths = np.maximum(2, rng.poisson(spec.tokens, n)) if spec.tokens < 100 else np.full(n, spec.tokens)
    captions = np.clip(rng.poisson(spec.caption - 1, n) + 1, 1, 5)
    F, W = (
        np.stack([rng.multinomial(size, p / p.sum()) for size, p in zip(sizes, rows, strict=True)])
        for sizes, rows in ((lengths, theta @ B), (captions, theta @ Phi))
    )
    halves = [_half(rng, row) for row in F[spec.n_train :]]
    corpus = Corpus.from_arrays(captions=W[: spec.n_train], visual_words=F[: spec.n_train])
    return Data(corpus, *(sparse.csr_array(np.stack(part)) for part in zip(*halves, strict=True)))


def _half(rng: np.random.Generator, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens of an image in two random halves, as counts."""
    tokens = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(tokens)
    seen, hidden = np.split(tokens, [len(tokens) // 2])
    return np.bincount(seen, minlength=len(counts)), np.bincount(hidden, minlength=len(counts))


def perplexity(topics: np.ndarray, data: Data, n_iter: int = 60) -> float:
    """Of the hidden visual words, proportions folded into the topics (K, U) from the seen ones by MAP-like EM."""
    B = topics / topics.sum(axis=1, keepdims=True)
    B = np.float32(0.999 * B + 0.001 / B.shape[1])  # the same smoothing for every library
    seen = data.seen.toarray().astype(np.float32)
    theta = np.full((len(seen), len(B)), 1 / len(B), np.float32)
    for _ in range(n_iter):
        theta = 1 / len(B) + theta * ((seen / (theta @ B)) @ B.T)
        theta /= theta.sum(axis=1, keepdims=True)
    hidden = data.hidden.toarray()
    return float(np.exp(-np.sum(hidden * np.log(theta @ B)) / hidden.sum()))


# --- The libraries ---------------------------------------------------------------------------------------------


def _topicture(name: str, algorithm: str) -> tuple[list[list[Point]], float]:
    """Points of every seed from a process of its own, the second one: the first leaves compiled code to it."""
    with tempfile.TemporaryDirectory(prefix="topicture-") as folder:
        kept = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "OMP_NUM_THREADS": "1",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        }
        for what in ("--compile", "--ours"):
            command = [sys.executable, "-m", "benchmarks.link_lda", what, name, algorithm]
            told = subprocess.run(command, env={**os.environ, **kept}, check=True, stdout=subprocess.PIPE)
    found = json.loads(told.stdout)
    return [[Point(*point) for point in points] for points in found["curves"]], found["setup"]


def fits_of_ours(name: str, algorithm: str) -> dict:
    """Whole fits of more and more epochs for every seed, each with what the process's first fit took longer."""
    data = make_data(SPECS[name])
    setup = 0.0

    def fit(n_epochs: int, seed: int) -> Point:
        start = process_time()
        model = LinkLDA(
            K,
            algorithm=algorithm,
            n_epochs=n_epochs,
            max_iter=0,
            n_init=1,
            precision="float32",
            seed=seed,
            **SETTINGS,
        )
        model.fit(data.train)
        return Point(process_time() - start + setup, perplexity(model.params_.rB, data))

    first = fit(EPOCHS[0], SEEDS[0]).cpu_seconds
    if "--compile" in sys.argv:
        return {}
    setup = first - fit(EPOCHS[0], SEEDS[0]).cpu_seconds
    curves = [[fit(n, seed) for n in EPOCHS] for seed in SEEDS]
    return {"setup": setup, "curves": curves}


def _peer(python: str, library: str, steps: list[int], data: Data, seed: int) -> tuple[list[Point], float]:
    n_visual = data.train.visual_words.shape[1]
    counts = sparse.hstack([data.train.visual_words, data.train.captions], format="csr")
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "counts.npz"), Path(folder, "topics.npz")
        sparse.save_npz(given, counts)
        one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        arguments = [library, str(given), str(out), str(K), ",".join(map(str, steps)), str(seed)]
        subprocess.run([python, str(PEERS), *arguments], check=True, env={**os.environ, **one_thread})
        with np.load(out) as arrays:
            points = [
                Point(
                    float(arrays[f"cpu_seconds_{i}"]), perplexity(arrays[f"topics_{i}"][:, :n_visual], data)
                )
                for i in range(len(arrays.files) // 2)
            ]
            return points, float(arrays["setup"])


def _interpreter(library: str) -> str | None:
    """The interpreter that can import the library, if there is one."""
    if library.startswith("scikit-learn"):
        return sys.executable
    for python in (os.environ.get("TOPICTURE_PEER_PYTHON"), sys.executable):
        if python and not subprocess.run([python, "-c", f"import {library}"], capture_output=True).returncode:
            return python
    return None


if __name__ == "__main__":
    if "--ours" in sys.argv or "--compile" in sys.argv:
        print(json.dumps(fits_of_ours(*sys.argv[-2:])))
        sys.exit()
    for row in run(quick="--quick" in sys.argv):
        print(row)
