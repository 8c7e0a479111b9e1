"""Corr-LDA, one EM iteration: 5,000 images, 6-10 regions, 46 features, 168 words, K = 200, 20 sweeps.

Ours in float64 and float32, batched NumPy twins of the same iteration and, where Numba is installed, a per-image Numba
twin, all in one process (as a script, on one thread), and ours once more split over two cores, as the command line runs
it; the twins must give the same bound. The full run adds the cost over images (1,000 to 25,000) and topics (25 to 400).
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from importlib import util
from time import perf_counter, process_time
from typing import Any, NamedTuple

if __name__ == "__main__":  # before JAX and BLAS start: compare single threads
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax
import numpy as np
from scipy.special import digamma, gammaln, xlogy

from topicture.corpus import Corpus
from topicture.corpus.batches import Image, Tokens
from topicture.models.em import loop as em
from topicture.models.regions.corr_lda import CorrLDA
from topicture.models.regions.gaussian_lda import DirichletParams

N_IMAGES, N_TOPICS, N_FEATURES, N_WORDS, N_SWEEPS = 5_000, 200, 46, 168, 20


def run(quick: bool = True) -> list[dict]:
    """Rows with name, seconds and cpu_seconds of one iteration. "ratio" is the CPU time of NumPy on the same padded
    images to ours, "ratio_exact" that of NumPy on images grouped by exact size; with two cores they are of wall-clock
    times."""
    n_images = N_IMAGES // 5 if quick else N_IMAGES
    corpus = make_corpus(n_images)
    padded = padded_groups(corpus)
    twins = {
        "numpy": measure_twin(iteration_numpy, padded),
        "numpy exact sizes": measure_twin(iteration_numpy, exact_groups(corpus)),
    }
    if util.find_spec("numba"):
        twins["numba"] = measure_twin(iteration_numba(), padded)
    rows = []
    for precision in ("float64", "float32"):
        ours = measure_ours(corpus, N_TOPICS, precision)
        for twin in twins.values():
            check_same_bound(ours, twin, precision)
        ratios = {
            "ratio": twins["numpy"]["cpu_seconds"] / ours["cpu_seconds"],
            "ratio_exact": twins["numpy exact sizes"]["cpu_seconds"] / ours["cpu_seconds"],
        }
        rows.append(_row(f"corr-lda/ours {precision}", n_images, N_TOPICS, ours, **ratios))
    rows += [_row(f"corr-lda/{name} float64", n_images, N_TOPICS, twin) for name, twin in twins.items()]
    # NumPy's small products stay on one thread, so its wall-clock time is the same with two cores.
    two_cores = measure_two_cores(n_images)
    rows.append(
        _row(
            "corr-lda/ours float64, two cores",
            n_images,
            N_TOPICS,
            two_cores,
            ratio=twins["numpy"]["seconds"] / two_cores["seconds"],
            ratio_exact=twins["numpy exact sizes"]["seconds"] / two_cores["seconds"],
        )
    )
    if not quick:
        rows += [_curve_row(n, N_TOPICS) for n in (1_000, 5_000, 25_000)]
        rows += [_curve_row(N_IMAGES, k) for k in (25, 50, 100, 200, 400)]
    return rows


def _curve_row(n_images: int, n_topics: int) -> dict:
    ours = measure_ours(make_corpus(n_images), n_topics, "float64")
    return _row("corr-lda/curve", n_images, n_topics, ours)


def _row(name: str, n_images: int, n_topics: int, measured: dict, **more: float) -> dict:
    kept = {key: value for key, value in measured.items() if key != "bound"}
    return {"name": name, "images": n_images, "topics": n_topics, **kept, **more}


# --- The problem ------------------------------------------------------------------------------------------------


def make_corpus(n_images: int) -> Corpus:
    """Random images of the paper's size: 6 to 10 regions, 1 to 5 words."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(6, 11, n_images))])
    captions = np.zeros((n_images, N_WORDS))
    for caption, m in zip(captions, rng.integers(1, 6, n_images), strict=True):
        caption[rng.choice(N_WORDS, m, replace=False)] = 1
    regions = rng.normal(size=(offsets[-1], N_FEATURES))
    return Corpus.from_arrays(captions=captions, regions=regions, region_offsets=offsets)


def start(n_topics: int) -> DirichletParams:
    rng = np.random.default_rng(1)
    return DirichletParams(
        alpha=np.full(n_topics, 0.5),
        mu=rng.normal(size=(n_topics, N_FEATURES)),
        s2=rng.uniform(0.5, 1.5, (n_topics, N_FEATURES)),
        rho=rng.gamma(0.5, size=(n_topics, N_WORDS)) + 0.1,
        eta=np.array(0.1),
    )


# --- Ours -------------------------------------------------------------------------------------------------------


def measure_ours(corpus: Corpus, n_topics: int, precision: str, repeats: int = 3) -> dict:
    """E-step and M-step as `fit` runs them, posteriors warm; the first iteration, with compilation, apart."""
    estimator = CorrLDA(n_topics, max_sweeps=N_SWEEPS, sweep_tol=0.0, precision=precision)
    estimator._floor = np.full(N_FEATURES, 1e-3)
    model, prior, batches = estimator._model(), estimator._prior(), estimator._batches(corpus)
    params = start(n_topics)

    def iteration() -> float:
        posteriors, stats, bound = em.e_step(model, batches, params, [None] * len(batches))
        jax.block_until_ready((posteriors, em.m_step(model, params, stats, prior)))
        return bound

    began = perf_counter()
    bound = iteration()
    first = perf_counter() - began
    seconds, cpu_seconds = _best(iteration, repeats)
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "compile_seconds": first - seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "bound": bound,
    }


def measure_two_cores(n_images: int) -> dict:
    """The iteration as the command line runs it, split over two devices, which a process must set before JAX starts."""
    flags = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-m", "benchmarks.corr_lda", "--only-ours", str(n_images)]
    return json.loads(subprocess.run(command, env=flags, check=True, stdout=subprocess.PIPE).stdout)


# --- Twins: the same iteration without XLA -----------------------------------------------------------------------


class Expected(NamedTuple):
    alpha: np.ndarray  # (K,)
    mu: np.ndarray  # (K, F)
    s2: np.ndarray  # (K, F)
    log_beta: np.ndarray  # (V, K)


class Sums(NamedTuple):
    """Sufficient statistics, added to in place."""

    weight: np.ndarray  # (K,)
    first: np.ndarray  # (K, F)
    second: np.ndarray  # (K, F)
    words: np.ndarray  # (V, K)


def measure_twin(iteration: Callable[[list[Image], Expected, Sums], float], groups: list[Image]) -> dict:
    expected = _expected(start(N_TOPICS))

    def once() -> float:
        sums = Sums(
            np.zeros(N_TOPICS),
            *(np.zeros_like(expected.mu) for _ in range(2)),
            np.zeros_like(expected.log_beta),
        )
        return iteration(groups, expected, sums)

    bound = once()
    seconds, cpu_seconds = _best(once, repeats=3)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "bound": bound}


def _expected(params: DirichletParams) -> Expected:
    alpha, mu, s2, rho, _ = (np.asarray(value) for value in params)
    return Expected(alpha, mu, s2, (digamma(rho) - digamma(rho.sum(axis=1, keepdims=True))).T.copy())


def padded_groups(corpus: Corpus) -> list[Image]:
    """What our E-step gets: images of one padded shape together."""
    groups = []
    for rows, image in CorrLDA(N_TOPICS)._batches(corpus):
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), image)
        groups.append(_images(flat, 0, len(rows)))
    return groups


def _images(image: Image, first: int, last: int) -> Image:
    return jax.tree.map(lambda x: x[first:last], image)


def exact_groups(corpus: Corpus) -> list[Image]:
    """Images with equally many regions and words together: nothing is padded, but there are many shapes."""
    n_words = np.diff(corpus.captions.indptr)
    groups = []
    for n, m in sorted(set(zip(corpus.n_regions.tolist(), n_words.tolist(), strict=True))):
        (image,) = padded_groups(corpus[(corpus.n_regions == n) & (n_words == m)])
        words = Tokens(image.words.ids[:, :m], image.words.counts[:, :m])
        groups.append(
            image._replace(words=words, regions=image.regions[:, :n], region_mask=image.region_mask[:, :n])
        )
    return groups


def iteration_numpy(groups: list[Image], expected: Expected, sums: Sums, block: int = 32) -> float:
    """E-step with NumPy over blocks of images, as large as NumPy likes them; returns the bound."""
    bound = 0.0
    for image in groups:
        for i in range(0, len(image.weight), block):
            bound += _block_numpy(_images(image, i, i + block), expected, sums)
    return bound


def _block_numpy(image: Image, expected: Expected, sums: Sums) -> float:
    (ids, c), r, mask = image.words, image.regions, image.region_mask
    K, n = len(expected.alpha), mask.sum(axis=1)
    G, l = _log_density(r, expected), expected.log_beta[ids]  # (B, N, K), (B, M, K)
    gamma = expected.alpha + (n / K)[:, None]
    lam = np.broadcast_to((mask / n[:, None])[:, None, :], (*c.shape, mask.shape[1]))
    for _ in range(N_SWEEPS):
        a = (lam * c[:, :, None]).transpose(0, 2, 1) @ l
        a += G
        a += (digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))[:, None, :]
        a -= a.max(axis=2, keepdims=True)
        phi = np.exp(a, out=a)
        phi *= (mask / phi.sum(axis=2))[:, :, None]
        gamma = expected.alpha + phi.sum(axis=1)
        agreement = l @ phi.transpose(0, 2, 1)
        masked = np.where(mask[:, None, :] > 0, agreement, -np.inf)
        lam = np.exp(masked - masked.max(axis=2, keepdims=True))
        lam /= lam.sum(axis=2, keepdims=True)
    flat_phi, flat_r = phi.reshape(-1, K), r.reshape(-1, r.shape[2])
    sums.weight[:] += flat_phi.sum(axis=0)
    sums.first[:] += flat_phi.T @ flat_r
    sums.second[:] += flat_phi.T @ flat_r**2
    np.add.at(sums.words, ids.ravel(), ((lam * c[:, :, None]) @ phi).reshape(-1, K))
    return _bound(expected.alpha, gamma, phi, lam * c[:, :, None], lam, G, agreement, n)


def _log_density(r: np.ndarray, expected: Expected) -> np.ndarray:
    """(B, N, K) from two matrix products."""
    precision = 1 / expected.s2
    constant = (expected.mu**2 * precision + np.log(2 * np.pi * expected.s2)).sum(axis=1)
    return -0.5 * (r**2 @ precision.T - 2 * r @ (expected.mu * precision).T + constant)


def _bound(alpha, gamma, phi, weighted_lam, lam, G, agreement, n) -> float:
    """Summed ELBO of a block of images, docs/models.md 3.3."""
    e = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    theta = gammaln(gamma).sum() - gammaln(gamma.sum(axis=1)).sum() - ((gamma - alpha) * e).sum()
    theta -= len(gamma) * (gammaln(alpha).sum() - gammaln(alpha.sum()))
    regions = (phi * (G + e[:, None, :])).sum() - xlogy(phi, phi).sum()
    words = (weighted_lam * (agreement - np.log(np.maximum(lam, 1e-300)) - np.log(n)[:, None, None])).sum()
    return float(theta + regions + words)


def iteration_numba() -> Callable[[list[Image], Expected, Sums], float]:
    """The E-step image by image, compiled by Numba."""
    from numba import njit

    kernel = njit(fastmath=True)(_images_by_loops(njit(fastmath=True)(_digamma)))

    def iteration(groups: list[Image], expected: Expected, sums: Sums) -> float:
        bound = 0.0
        for image in groups:
            log_beta = expected.log_beta[image.words.ids]
            gamma, phi, lam = kernel(
                _log_density(image.regions, expected),
                image.region_mask,
                log_beta,
                image.words.counts,
                expected.alpha,
            )
            flat_phi, flat_r = (
                phi.reshape(-1, phi.shape[2]),
                image.regions.reshape(-1, image.regions.shape[2]),
            )
            sums.weight[:] += flat_phi.sum(axis=0)
            sums.first[:] += flat_phi.T @ flat_r
            sums.second[:] += flat_phi.T @ flat_r**2
            weighted = lam * image.words.counts[:, :, None]
            np.add.at(sums.words, image.words.ids.ravel(), (weighted @ phi).reshape(-1, phi.shape[2]))
            agreement = log_beta @ phi.transpose(0, 2, 1)
            G, n = _log_density(image.regions, expected), image.region_mask.sum(axis=1)
            bound += _bound(expected.alpha, gamma, phi, weighted, lam, G, agreement, n)
        return bound

    return iteration


def _digamma(x: float) -> float:
    shift = 0.0
    while x < 8:
        shift -= 1 / x
        x += 1
    u = 1 / (x * x)
    series = u * (1 / 12 - u * (1 / 120 - u * (1 / 252 - u * (1 / 240 - u * (1 / 132 - u * 691 / 32760)))))
    return shift + np.log(x) - 0.5 / x - series


def _images_by_loops(digamma: Callable[[float], float]) -> Callable[..., Any]:
    def kernel(G, mask, l, c, alpha):
        D, N, K = G.shape
        M = c.shape[1]
        gammas, phis, lams = np.empty((D, K)), np.zeros((D, N, K)), np.zeros((D, M, N))
        e, a = np.empty(K), np.empty(K)
        for d in range(D):
            n, m = int(mask[d].sum()), int((c[d] > 0).sum())
            gamma, phi, lam = gammas[d], phis[d], lams[d]
            gamma[:] = alpha + n / K
            lam[:m, :n] = 1 / n
            for _ in range(N_SWEEPS):
                total = digamma(gamma.sum())
                for k in range(K):
                    e[k] = digamma(gamma[k]) - total
                gamma[:] = alpha
                for i in range(n):
                    a[:] = G[d, i] + e
                    for v in range(m):
                        weight = c[d, v] * lam[v, i]
                        for k in range(K):
                            a[k] += weight * l[d, v, k]
                    top, norm = a.max(), 0.0
                    for k in range(K):
                        phi[i, k] = np.exp(a[k] - top)
                        norm += phi[i, k]
                    for k in range(K):
                        phi[i, k] /= norm
                        gamma[k] += phi[i, k]
                for v in range(m):
                    for i in range(n):
                        agreement = 0.0
                        for k in range(K):
                            agreement += phi[i, k] * l[d, v, k]
                        lam[v, i] = agreement
                    lam[v, :n] = np.exp(lam[v, :n] - lam[v, :n].max())
                    lam[v, :n] /= lam[v, :n].sum()
        return gammas, phis, lams

    return kernel


def check_same_bound(one: dict, other: dict, precision: str) -> None:
    """Twins that compute something else prove nothing."""
    np.testing.assert_allclose(one["bound"], other["bound"], rtol=1e-9 if precision == "float64" else 1e-5)


def _best(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Fewest wall-clock and fewest CPU seconds; on a busy machine the latter are the ones to compare."""
    seconds, cpu_seconds = [], []
    for _ in range(repeats):
        began, cpu_began = perf_counter(), process_time()
        call()
        seconds.append(perf_counter() - began)
        cpu_seconds.append(process_time() - cpu_began)
    return min(seconds), min(cpu_seconds)


if __name__ == "__main__":
    if "--only-ours" in sys.argv:
        print(json.dumps(measure_ours(make_corpus(int(sys.argv[-1])), N_TOPICS, "float64")))
        sys.exit()
    for row in run(quick="--full" not in sys.argv):
        print(
            "  ".join(
                f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in row.items()
            )
        )
