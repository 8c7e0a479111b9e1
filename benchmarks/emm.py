"""EMM: the E-step against batched NumPy, a whole max-margin fit, and time and memory against the number of tags.

E-step: 2,000 images of 10 regions, 1,000 visual words, 300 tags, 10 sweeps, with statistics and bound. Two NumPy forms
over the whole batch: "softmax" takes exponentials of (images, regions, tags) every sweep, as the update is printed;
"products" takes them once, the way Topicture does. All forms must agree on the bound.

Tags: generated images, 64 candidates each; one fit in a fresh process, so that its peak memory is its own.
"""

import json
import subprocess
import sys
import time

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln

from topicture.corpus import Corpus
from topicture.models import em
from topicture.models.emm import EMM
from topicture.models.emm_margin import EMMMargin

SWEEPS = 10
ROUNDS = 3
# Tags and images of the fits with candidates.
QUICK_SIZES = [(100, 2_000), (1_000, 2_000)]
FULL_SIZES = [*((n_tags, 20_000) for n_tags in (100, 300, 1_000, 3_000, 10_000)), (10_000, 100_000)]
# The model whose E-step the NumPy forms below spell out.
FORM = {"label": "chord", "label_weight": 1.0}


def run(quick: bool = True) -> list[dict]:
    corpus = generated(2_000, n_tags=300)
    sizes = QUICK_SIZES if quick else FULL_SIZES
    return [*_e_step(corpus), _whole_fit(corpus), *(_with_tags(*size) for size in sizes)]


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


def _e_step(corpus: Corpus) -> list[dict]:
    forms = {
        "topicture float64": _ours(corpus, "float64"),
        "topicture float32": _ours(corpus, "float32"),
        "numpy softmax": _numpy(corpus, products=False),
        "numpy products": _numpy(corpus, products=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    bounds = {}
    for _ in range(ROUNDS):  # interleaved, so that a noisy neighbour hits all of them
        for name, step in forms.items():
            begin = time.perf_counter()
            bounds[name] = step()
            seconds[name].append(time.perf_counter() - begin)
    median = {name: float(np.median(times)) for name, times in seconds.items()}
    return [
        {
            "what": f"E-step, {name}",
            "seconds": median[name],
            "numpy softmax / this": median["numpy softmax"] / median[name],
            "numpy products / this": median["numpy products"] / median[name],
            "bound": bounds[name],
        }
        for name in forms
    ]


def _ours(corpus, precision):
    annotator = EMM(n_sweeps=SWEEPS, precision=precision, **FORM)
    model, batches = annotator._model(), annotator._batches(corpus)
    params = annotator._start(corpus, np.random.default_rng(0))
    start = [None] * len(batches)
    em.e_step(model, batches, params, start)  # compiles
    return lambda: em.e_step(model, batches, params, start)[2]


def _numpy(corpus, products):
    annotator = EMM(**FORM)
    tables = em.tables(annotator._model(), annotator._start(corpus, np.random.default_rng(0)))
    X, Y, M = corpus.region_words, corpus.captions.toarray(), 10.0
    D, C, lam, w = *Y.shape, tables.prior, tables.w
    coef = Y * w - np.logaddexp(w, 0) + np.log(2)
    start = np.repeat((Y / Y.sum(axis=1, keepdims=True))[:, None, :], 10, axis=1)

    def step():
        log_lik = (X @ tables.log_mu).reshape(D, 10, C)
        fixed = log_lik + coef[:, None, :] / M
        p = np.exp(fixed - fixed.max(axis=2, keepdims=True)) if products else None
        s = start.sum(axis=1)
        for sweep in range(SWEEPS):
            g, r, _ = _gammas(s, lam, M)
            e = digamma(g) + np.log(r)
            if products and sweep < SWEEPS - 1:
                t = np.exp(e)
                total = np.einsum("dmc,dc->dm", p, t)
                s = t * np.einsum("dmc,dm->dc", p, 1 / total)
                continue
            phi = fixed + e[:, None, :]
            phi -= phi.max(axis=2, keepdims=True)
            np.exp(phi, out=phi)
            phi /= phi.sum(axis=2, keepdims=True)
            s = phi.sum(axis=1)
        g, r, zeta = _gammas(s, lam, M)
        X.T @ phi.reshape(-1, C)  # the statistics of mu; those of lam and w are g r, s and Y s
        e = digamma(g) + np.log(r)
        theta = np.log(lam) - lam * g * r + np.log(r) + g + gammaln(g) - (g - 1) * digamma(g)
        entropy = -np.sum(phi * np.log(np.maximum(phi, 1e-300)))
        return float(
            np.sum(phi * log_lik)
            + np.sum(s * (e + coef / M))
            + entropy
            + theta.sum()
            - M * np.log(zeta).sum()
            - D * C * np.log(2)
        )

    return step


def _gammas(s, lam, M):
    g, zeta = 1 + s, np.zeros((len(s), 1))
    while True:
        weight = 1 / (lam * zeta + M)
        f = np.sum(g * weight, axis=1, keepdims=True)
        step = f * (f - 1) / np.sum(g * lam * weight * weight, axis=1, keepdims=True)
        zeta += step
        if (step <= 1e-13 * zeta).all():
            return g, zeta / (lam * zeta + M), zeta


# --- Fits --------------------------------------------------------------------------------------------------------


def _whole_fit(corpus: Corpus) -> dict:
    begin, cpu = time.perf_counter(), time.process_time()
    model = EMMMargin().fit(corpus)
    return {
        "what": f"whole max-margin fit, {model.n_iter_} rounds, {int(model.n_cuts_.sum())} cuts",
        "seconds": time.perf_counter() - begin,
        "CPU s": time.process_time() - cpu,
        "result": model.result_,
    }


def _with_tags(n_tags: int, n_images: int) -> dict:
    """A fit with 64 candidates in a process of its own."""
    call = f"fit_with_tags({n_tags}, {n_images})"
    code = f"import json; from benchmarks.emm import fit_with_tags; print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def fit_with_tags(n_tags: int, n_images: int, max_iter: int = 5) -> dict:
    """Time and peak memory of a few iterations, and of annotating 500 images."""
    import resource

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
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "recall at 5 (training images)": float(hits / corpus.captions[:500].sum()),
    }
