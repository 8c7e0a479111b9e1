"""Mixture of unigrams: one EM iteration against straightforward NumPy and SciPy forms of the same iteration.

5,000 images with about ten of 600 visual words and three of 168 words each, K = 100, Dirichlet posteriors. All forms
compute posteriors, new parameters and the objective, and must agree on the objective.
"""

import time

import numpy as np
from scipy.special import digamma, gammaln

from topicture.corpus.batches import Batches
from topicture.models.counts import mix_unigram
from topicture.models.counts.mix_unigram import EXACT, DirichletParams, PointParams, Prior
from topicture.models.em import loop as em

PRIOR = Prior(0.01, 0.1, 0.1)
ROUNDS = 7
ITERATIONS = 25


def run(quick: bool = True) -> list[dict]:
    rng = np.random.default_rng(0)
    D, U, V, K = 5_000, 600, 168, 100
    truth = PointParams(
        rng.dirichlet(np.ones(K)), rng.dirichlet(np.full(U, 0.05), K), rng.dirichlet(np.full(V, 0.05), K)
    )
    corpus = mix_unigram.sample(rng, truth, D, n_visual=10, n_words=3)
    start = mix_unigram.init_params(corpus, K, PRIOR, DirichletParams, "random", np.random.default_rng(1))

    forms = {
        "topicture float64": lambda: _ours(corpus, start, np.float64),
        "topicture float32": lambda: _ours(corpus, start, np.float32),
        "numpy, dense counts": lambda: _theirs(
            corpus.visual_words.toarray(), corpus.captions.toarray(), start
        ),
        "scipy, sparse counts": lambda: _theirs(corpus.visual_words, corpus.captions, start),
    }
    rows = []
    steps = {name: make() for name, make in forms.items()}
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    objectives = {}
    for _ in range(ROUNDS):  # interleaved, so that a noisy neighbour hits all of them
        for name, (step, _) in steps.items():
            begin = time.perf_counter()
            objectives[name] = step(ITERATIONS)
            seconds[name].append((time.perf_counter() - begin) / ITERATIONS)
    best = {name: float(np.median(times)) for name, times in seconds.items()}
    for name in forms:
        rows.append(
            {
                "form": name,
                "ms per iteration": 1e3 * best[name],
                "numpy / this": best["numpy, dense counts"] / best[name],
                "scipy / this": best["scipy, sparse counts"] / best[name],
                "first call s": steps[name][1],
                "objective": objectives[name],
            }
        )
    return rows


def _ours(corpus, start, dtype):
    blocks = em.block_images(len(start.a), dtype, width=lambda sizes: 1)
    batches = Batches(corpus, EXACT.views, dtype=dtype, block_images=blocks, multiple=em.n_lanes())

    def step(iterations):
        return em.fit(EXACT, batches, start, PRIOR, max_iter=iterations - 1, tol=0.0).objective

    begin = time.perf_counter()
    step(2)
    return step, time.perf_counter() - begin


def _theirs(F, W, start):
    n_images = F.shape[0]

    def step(iterations):
        a, rB, rPhi = (np.asarray(value) for value in start)
        for _ in range(iterations):
            A = np.log(a) + F @ _elog(rB).T + W @ _elog(rPhi).T
            top = A.max(axis=1, keepdims=True)
            p = np.exp(A - top)
            total = p.sum(axis=1, keepdims=True)
            p /= total
            objective = (
                (top + np.log(total)).sum()
                - _kl(rB, PRIOR.eta_b)
                - _kl(rPhi, PRIOR.eta_phi)
                + PRIOR.eps_a * np.log(a).sum()
            )
            a = (p.sum(axis=0) + PRIOR.eps_a) / (n_images + len(a) * PRIOR.eps_a)
            rB, rPhi = PRIOR.eta_b + (F.T @ p).T, PRIOR.eta_phi + (W.T @ p).T
        return float(objective)

    begin = time.perf_counter()
    step(2)
    return step, time.perf_counter() - begin


def _elog(rho):
    return digamma(rho) - digamma(rho.sum(axis=1, keepdims=True))


def _kl(rho, eta):
    n = rho.shape[1]
    prior = n * gammaln(eta) - gammaln(n * eta)
    posterior = gammaln(rho).sum(axis=1) - gammaln(rho.sum(axis=1))
    return float((prior - posterior + ((rho - eta) * _elog(rho)).sum(axis=1)).sum())
