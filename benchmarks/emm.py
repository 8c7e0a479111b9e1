"""EMM: the E-step against batched NumPy, a whole max-margin fit, and time and memory against the number of tags.

E-step: 2,000 images of 10 regions, 1,000 visual words, 300 tags, 10 sweeps, with statistics and bound. Two NumPy forms
over the whole batch, both in float64: "softmax" takes exponentials of (images, regions, tags) every sweep, as the
update is printed; "products" takes them once, the way Topicture does, and is tuned (in place, its products by einsum,
which was faster than matmul). All forms must agree on the bound. Once on one thread, once with what two cores allow.

Tags: generated images, 64 candidates each. Every measurement has a process of its own, and so its own peak memory.
"""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln

from topicture.corpus import Corpus
from topicture.models.classes.emm import EMM
from topicture.models.classes.emm_margin import EMMMargin
from topicture.models.em import loop as em
from topicture.models.em import passes

SWEEPS = 10
ROUNDS = 9
# Tags and images of the fits with candidates.
QUICK_SIZES = [(100, 2_000), (1_000, 2_000)]
FULL_SIZES = [*((n_tags, 20_000) for n_tags in (100, 1_000, 10_000)), (10_000, 100_000)]
# The model whose E-step the NumPy forms below spell out.
FORM = {"label": "chord", "label_weight": 1.0}
# Two devices let a pass use two cores (see models/passes.py).
CORES = {
    1: {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    },
    2: {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
}


def run(quick: bool = True) -> list[dict]:
    steps = [row for cores in CORES for row in _in_process(f"e_steps({cores})", cores)]
    fits = [_in_process("whole_fit()", 2)]
    sizes = QUICK_SIZES if quick else FULL_SIZES
    return [*steps, *fits, *(_in_process(f"fit_with_tags{size}", 1) for size in sizes)]


def _in_process(call: str, cores: int):
    code = f"import json; from benchmarks import emm; print(json.dumps(emm.{call}))"
    environment = {**os.environ, **CORES[cores]}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def generated(
    n_images: int, n_tags: int, n_regions: int = 10, n_visual: int = 1_000, seed: int = 0
) -> Corpus:
    """Images with four tags whose regions hold about 20 visual words, each from one of the tags' distributions."""
    rng = np.random.default_rng(seed)
    # A tag's distribution is a handful of visual words with decaying weights: cheap to draw for ten thousand tags.
    support = rng.integers(n_visual, size=(n_tags, 30))
    cumulative = np.cumsum(rng.dirichlet(np.full(30, 0.5), n_tags), axis=1)
    tags = rng.integers(n_tags, size=(n_images, 4))
    z = np.take_along_axis(tags, rng.integers(4, size=(n_images, n_regions)), axis=1).ravel()
    drawn = (rng.random((len(z), 20, 1)) > cumulative[z][:, None, :]).sum(axis=2).clip(max=29)
    words = np.take_along_axis(support[z], drawn, axis=1)
    bags = sparse.coo_array(
        (np.ones(words.size), (np.repeat(np.arange(len(z)), 20), words.ravel())), shape=(len(z), n_visual)
    )
    captions = sparse.coo_array(
        (np.ones(tags.size), (np.repeat(np.arange(n_images), 4), tags.ravel())), shape=(n_images, n_tags)
    ).tocsr()
    captions.data[:] = 1
    return Corpus.from_arrays(
        captions=captions,
        region_words=bags.tocsr(),
        region_offsets=np.arange(n_images + 1) * n_regions,
    )


# --- E-step ------------------------------------------------------------------------------------------------------


def e_steps(cores: int) -> list[dict]:
    corpus = generated(2_000, n_tags=300)
    forms = {
        "topicture float64": _ours(corpus, "float64"),
        "topicture float32": _ours(corpus, "float32"),
        "numpy softmax": _numpy(corpus, products=False),
        "numpy products": _numpy(corpus, products=True),
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in forms}
    bounds = {}
    for _ in range(ROUNDS):  # interleaved, so that a noisy neighbour hits all of them
        for name, step in forms.items():
            begin, cpu = time.perf_counter(), time.process_time()
            bounds[name] = step()
            measured[name].append((time.perf_counter() - begin, time.process_time() - cpu))
    median = {name: np.median(times, axis=0) for name, times in measured.items()}
    return [
        {
            "what": f"E-step, {cores} core{'s' * (cores > 1)}, {name}",
            "seconds": seconds,
            "CPU s": cpu,
            "numpy softmax / this": median["numpy softmax"][0] / seconds,
            "numpy products / this": median["numpy products"][0] / seconds,
            "bound": bounds[name],
        }
        for name, (seconds, cpu) in median.items()
    ]


def _ours(corpus, precision):
    annotator = EMM(n_sweeps=SWEEPS, precision=precision, **FORM)
    model, batches = annotator._model(), annotator._batches(corpus)
    params = annotator._start(corpus, np.random.default_rng(0))
    # Posteriors to start from: the NumPy forms have theirs at hand, too.
    with passes.precision():
        tables = passes.tables(model, params, batches.dtype)
        start = [passes.init_posterior(model, tables, chunk.image) for chunk in batches]
    em.e_step(model, batches, params, start)  # compiles
    return lambda: em.e_step(model, batches, params, start)[2]


def _numpy(corpus, products):
    annotator = EMM(**FORM)
    tables = em.tables(annotator._model(), annotator._start(corpus, np.random.default_rng(0)))
    X, Y, M = corpus.region_words, corpus.captions.toarray(), 10.0
    (D, C), lam, w = Y.shape, tables.prior[0], tables.w
    coef = Y * w - np.logaddexp(w, 0) + np.log(2)
    start = np.repeat((Y / Y.sum(axis=1, keepdims=True))[:, None, :], 10, axis=1)
    # q(theta_c) is Gamma(1 + s_c, scale r), and zeta = E sum theta; with equal rates both have closed forms.
    zeta = C / lam
    r = zeta / (lam * zeta + M)

    def step():
        log_lik = (X @ tables.log_mu).reshape(D, 10, C)
        fixed = log_lik + coef[:, None, :] / M
        s = start.sum(axis=1)
        if products:
            fixed -= fixed.max(axis=2, keepdims=True)
            p = np.exp(fixed, out=fixed)
            for _ in range(SWEEPS - 1):
                t = np.exp(digamma(1 + s))
                s = t * np.einsum("dmc,dm->dc", p, 1 / np.einsum("dmc,dc->dm", p, t))
            t = np.exp(digamma(1 + s))
            phi = p
            phi *= t[:, None, :]
            phi /= phi.sum(axis=2, keepdims=True)
        else:
            for _ in range(SWEEPS):
                phi = fixed + digamma(1 + s)[:, None, :]
                phi -= phi.max(axis=2, keepdims=True)
                np.exp(phi, out=phi)
                phi /= phi.sum(axis=2, keepdims=True)
                s = phi.sum(axis=1)
        s = phi.sum(axis=1)
        g = 1 + s
        X.T @ phi.reshape(-1, C)  # the statistics of mu; those of w are s and Y s
        psi = digamma(g)
        theta = np.log(lam * r) - lam * r * g + g + gammaln(g) - s * psi
        entropy = -np.einsum("dmc,dmc->", phi, np.log(np.maximum(phi, 1e-300)))
        likelihood = np.einsum("dmc,dmc->", phi, log_lik)
        labels = np.sum(s * coef) / M - D * C * np.log(2)
        return float(
            likelihood + entropy + np.sum(s * (psi + np.log(r))) + theta.sum() - D * M * np.log(zeta) + labels
        )

    return step


# --- Fits --------------------------------------------------------------------------------------------------------


def whole_fit() -> dict:
    """Max-margin training with the defaults until it converges."""
    corpus = generated(2_000, n_tags=300)
    begin, cpu = time.perf_counter(), time.process_time()
    model = EMMMargin(max_iter=200).fit(corpus)
    return {
        "what": f"whole max-margin fit, {model.n_iter_} rounds, {int(model.n_cuts_.sum())} cuts",
        "seconds": time.perf_counter() - begin,
        "CPU s": time.process_time() - cpu,
        "peak GB": _peak_gb(),
        "result": model.result_,
    }


def fit_with_tags(n_tags: int, n_images: int, max_iter: int = 5) -> dict:
    """Time and peak memory of a few iterations with 64 candidates per image, and of annotating 500 images."""
    corpus = generated(n_images, n_tags)
    model = EMM(n_candidates=64, n_sweeps=3, n_sweeps_use=20, max_iter=max_iter, precision="float32")
    begin, cpu = time.perf_counter(), time.process_time()
    model.fit(corpus)
    fitted, cpu = time.perf_counter(), time.process_time() - cpu
    p = model.annotate(corpus[:500])
    top = np.argsort(-p, axis=1)[:, :5]
    hits = np.take_along_axis(corpus.captions[:500].toarray(), top, axis=1).sum()
    return {
        "what": f"{n_images} images, {n_tags} tags, 64 candidates, {model.n_iter_} iterations",
        "seconds": fitted - begin,
        "CPU s": cpu,
        "annotate 500 s": time.perf_counter() - fitted,
        "peak GB": _peak_gb(),
        "recall at 5 (training images)": float(hits / corpus.captions[:500].sum()),
        "result": model.result_,
    }
