r"""Words of regions from captions alone, discriminatively. Numbers of sections: docs/models.md (10).

p_nw = softmax_w(a_w . x_n + b_w) over the V words and the background. Region n of an image with tags T has one of
them as label, or is background; every tag w is the label of a region y_w ~ Unif(1..N). The objective is that of both:

  sum_n ln(sum_(w in T) p_nw + tau p_n0) + kappa N sum_(w in T) ln((1/N) sum_n p_nw)   over images, - R rho/2 |a|^2

Symbol -> code, shape:  a, b -> weights F C, offset C (C = V + 1 with a background, else V) | x -> rows R F, scaled
  q -> q R C | lambda -> lam R C, one column per word, summing to 1 over an image's regions | p -> p R C
  tau -> background | kappa -> pull | rho -> ridge | R -> number of regions learned from
EM: q and lam are the posteriors of z_n and y_w; the M-step is a weighted multinomial regression, of which L-BFGS takes
some steps. It need not end at the maximum: any step up raises the objective, and a fall ends the fit.
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from topicture.corpus import Corpus
from topicture.errors import CorpusError, FitWarning
from topicture.models.base import Annotator
from topicture.models.em.loop import Progress, Results
from topicture.models.empirical import word_frequencies

__all__ = ["Params", "Posterior", "RegionLogistic", "Seen", "e_step", "m_step", "objective", "sample"]

BLOCK = 4096  # regions at a time: of thousands of words, all at once would not fit into memory
OFFSET_RIDGE = 1e-3  # enough for a word that no region has to stay finite

# --- Values ----------------------------------------------------------------------------------------------------


class Params(NamedTuple):
    """The regression; the last class is the background, where there is one."""

    weights: Any  # (F, C)
    offset: Any  # (C,)


class Posterior(NamedTuple):
    """q of all images: what each region shows, and where each tag is."""

    q: np.ndarray  # (R, C)
    lam: np.ndarray  # (R, C)


class Seen(NamedTuple):
    """What is learned from: images with tags and regions, one after the other."""

    rows: np.ndarray  # (R, F), scaled
    starts: np.ndarray  # (D,) first region of each image
    tags: np.ndarray  # (D, C) 0/1; 0 for the background
    sizes: np.ndarray  # (D,) regions of each image


# --- Start -----------------------------------------------------------------------------------------------------


def sample(rng: np.random.Generator, params: Params, n_images: int, n_regions: int = 3) -> Corpus:
    """Images whose regions are standard normal, each labelled by the regression; their labels are the caption."""
    F, V = np.asarray(params.weights).shape
    regions, captions = [], np.zeros((n_images, V))
    for caption in captions:
        x = rng.normal(size=(1 + rng.poisson(n_regions - 1), F))
        regions.append(x)
        caption[[rng.choice(V, p=row) for row in np.exp(_log_p(params, x))]] = 1
    return Corpus.from_arrays(captions=captions, regions=regions)


def init_posterior(seen: Seen, background: float) -> Posterior:
    """Every region shows each of its image's tags alike, every tag is in each region alike."""
    flat = np.zeros((len(seen.rows), seen.tags.shape[1]))
    return _posterior(seen, flat, background)


# --- Learn: all images at once -----------------------------------------------------------------------------------


def e_step(params: Params, seen: Seen, background: float) -> Posterior:
    """q_nw ~ p_nw over the image's tags, tau p_n0 for the background; lam_wn ~ p_nw over the image's regions."""
    return _posterior(seen, _log_p(params, seen.rows), background)


def objective(params: Params, seen: Seen, pull: float, ridge: float, background: float) -> float:
    """The two terms of the regions and tags, and the ridge. It is the bound at its best q, so no step may lower it."""
    log_p = _log_p(params, seen.rows)
    own = np.repeat(seen.tags, seen.sizes, axis=0)
    labels = np.where(own > 0, np.exp(log_p), 0).sum(axis=1)
    if background:
        labels = labels + background * np.exp(log_p[:, -1])
    found = np.add.reduceat(np.exp(log_p), seen.starts, axis=0) / seen.sizes[:, None]
    tags = (seen.sizes[:, None] * np.where(seen.tags > 0, _log(found), 0)).sum()
    return float(_log(labels).sum() + pull * tags - _penalty(params, ridge * len(seen.rows)))


def bound(
    params: Params, seen: Seen, q: Posterior, pull: float, ridge: float, background: float, xp: Any = np
) -> Any:
    """ELBO (10): what `objective` is at the posteriors of `e_step`, and more than at any others."""
    a = seen.rows @ params.weights + params.offset
    log_p = a - xp.log(xp.exp(a).sum(axis=1, keepdims=True))
    entropy = -(q.q * xp.log(xp.maximum(q.q, 1e-300))).sum()
    allowed = q.q[:, -1].sum() * np.log(background) if background else 0.0
    n = np.repeat(seen.sizes, seen.sizes)[:, None]
    tags = (n * q.lam * (log_p - xp.log(xp.maximum(q.lam, 1e-300)) - np.log(n))).sum()
    return (q.q * log_p).sum() + entropy + allowed + pull * tags - _penalty(params, ridge * len(seen.rows))


def m_step(params: Params, seen: Seen, q: Posterior, pull: float, ridge: float, n_steps: int) -> Params:
    """Weighted multinomial regression on the targets t_nw = q_nw + kappa N lam_wn, from where the last one ended."""
    targets = q.q + pull * np.repeat(seen.sizes, seen.sizes)[:, None] * q.lam
    F, C = params.weights.shape
    shrink = np.append(np.full(F, ridge * len(seen.rows)), OFFSET_RIDGE)[:, None]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        theta = theta.reshape(F + 1, C)
        value, gradient = (shrink * theta**2).sum() / 2, shrink * theta
        for start in range(0, len(targets), BLOCK):
            x, t = seen.rows[start : start + BLOCK], targets[start : start + BLOCK]
            log_p = log_softmax(x @ theta[:-1] + theta[-1], axis=1)
            residual = t.sum(axis=1, keepdims=True) * np.exp(log_p) - t
            value -= np.vdot(t, log_p)
            gradient[:-1] += x.T @ residual
            gradient[-1] += residual.sum(axis=0)
        return float(value), gradient.ravel()

    theta = np.vstack([params.weights, params.offset]).ravel()
    found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": n_steps})
    theta = found.x.reshape(F + 1, C)
    return Params(theta[:-1].copy(), theta[-1].copy())


# --- Estimator: no mathematics -----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class RegionLogistic(Annotator):
    """Multi-instance logistic regression: which tag each region has is latent, and every tag has a region.

    It learns from tagged images with regions. The answer for a region sums to less than 1 where there is a background:
    what is missing is the probability that it has no word.

    Parameters
    ----------
    ridge : penalty of squared weights, for each region
    pull : weight of a tag that looks for its region, as a share of the image's regions
    background : how readily a region of a tagged image is background, as a factor of its probability; 0 for none
    max_iter, tol : of EM; it ends when the objective changes by less than `tol`, relatively
    m_steps : steps of L-BFGS within one M-step
    max_regions : learn from an even sample of images with at most about this many regions
    """

    name = "region-logistic"
    needs = ("regions",)
    labels_regions = True

    ridge: float = 1e-3
    _: KW_ONLY
    pull: float = 0.6
    background: float = 0.0
    max_iter: int = 60
    tol: float = 1e-4
    m_steps: int = 10
    max_regions: int = 40_000

    params_: Params = field(init=False)
    p_w_: np.ndarray = field(init=False)

    def _check_params(self) -> None:
        self._check_positive("ridge", "tol")
        self._check_not_negative("pull", "background")
        self._check_whole("m_steps", "max_regions")
        self._check_whole("max_iter", least=0)

    # --- Learn -------------------------------------------------------------------------------------------

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        usable = np.flatnonzero(corpus.tagged & (corpus.n_regions > 0))
        if not len(usable):
            raise CorpusError(f"{self.name}: no image with regions is tagged, so no word can be learned")
        self.p_w_ = word_frequencies(corpus, 0.5)
        n_images = max(1, int(len(usable) * min(1.0, self.max_regions / corpus.n_regions[usable].sum())))
        chosen = corpus[usable[np.linspace(0, len(usable) - 1, n_images).round().astype(int)]]
        assert chosen.regions is not None
        self.centre_ = chosen.regions.mean(axis=0)
        # Rows of mean squared length 1: the same ridge then suits few columns and many, of any network.
        self.scale_ = float(np.sqrt(np.mean(((chosen.regions - self.centre_) ** 2).sum(axis=1)))) or 1.0
        seen = self._seen(chosen)
        C = seen.tags.shape[1]
        params = Params(np.zeros((seen.rows.shape[1], C)), np.zeros(C))
        q = init_posterior(seen, self.background)
        params = m_step(params, seen, q, self.pull, self.ridge, self.m_steps)
        trace: list[float] = []
        good, reason = params, Results.max_iter
        for iteration in range(self.max_iter + 1):
            value = objective(params, seen, self.pull, self.ridge, self.background)
            if not np.isfinite(value) or (trace and value < trace[-1] - 1e-9 * abs(trace[-1])):
                reason = Results.objective_fell if np.isfinite(value) else Results.not_finite
                warnings.warn(f"after {len(trace)} iterations: {reason.value}", FitWarning, stacklevel=2)
                break
            converged = bool(trace) and abs(value - trace[-1]) <= self.tol * abs(trace[-1])
            trace.append(value)
            good = params
            if callback is not None:
                callback(Progress(0, 1, iteration, self.max_iter, value))
            if converged:
                reason = Results.converged
                break
            if iteration < self.max_iter:
                q = e_step(params, seen, self.background)
                params = m_step(params, seen, q, self.pull, self.ridge, self.m_steps)
        self.params_ = good
        self.objective_trace_, self.n_iter_ = np.array(trace), max(0, len(trace) - 1)
        self.result_ = reason.value

    def _seen(self, corpus: Corpus) -> Seen:
        assert corpus.region_offsets is not None
        tags = (corpus.captions.toarray() > 0).astype(float)
        if self.background:
            tags = np.pad(tags, ((0, 0), (0, 1)))
        return Seen(self._rows(corpus), corpus.region_offsets[:-1], tags, corpus.n_regions)

    def _rows(self, corpus: Corpus) -> np.ndarray:
        assert corpus.regions is not None
        return (corpus.regions - self.centre_) / self.scale_

    # --- Use ---------------------------------------------------------------------------------------------

    def label_regions(self, corpus: Corpus, *, use_captions: bool = False) -> list[np.ndarray]:
        """p(word | region), one (N_d, V) array an image; with `use_captions`, q among the tags of a tagged image."""
        self._check_usable(corpus)
        return self._label_regions(corpus if use_captions else corpus.without_captions())

    def _label_regions(self, corpus: Corpus) -> list[np.ndarray]:
        offsets = corpus.region_offsets
        assert offsets is not None
        tags = corpus.captions > 0
        found = []
        for image in range(len(corpus)):
            p = np.exp(_log_p(self.params_, self._rows(corpus[image : image + 1])))
            if tags[[image]].nnz:
                p[:, : corpus.n_words] *= tags[[image]].toarray()
                if self.background:
                    p[:, -1] *= self.background
                p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            found.append(p[:, : corpus.n_words])
        return found

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        """Each word's share of the regions; the word frequencies for an image without any."""
        found = np.tile(self.p_w_, (len(corpus), 1))
        for image, p in enumerate(self._label_regions(corpus.without_captions())):
            if len(p):
                found[image] = p.sum(axis=0)
        return found / found.sum(axis=1, keepdims=True)

    # --- Files -------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {**self.params_._asdict(), "centre": self.centre_, "p_w": self.p_w_}
        return arrays, {"scale": self.scale_}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.params_ = Params(arrays["weights"], arrays["offset"])
        self.centre_, self.p_w_, self.scale_ = arrays["centre"], arrays["p_w"], float(facts["scale"])
        n_classes = len(self.p_w_) + (self.background > 0)
        self._require("background", len(self.params_.offset) == n_classes, "fit the classes of the file")


# --- Pieces ------------------------------------------------------------------------------------------------------


def _log_p(params: Params, rows: np.ndarray) -> np.ndarray:
    """ln p_nw, (R, C)."""
    return log_softmax(rows @ params.weights + params.offset, axis=1)


def _posterior(seen: Seen, log_p: np.ndarray, background: float) -> Posterior:
    p = np.exp(log_p)
    own = np.repeat(seen.tags, seen.sizes, axis=0)
    q = p * own
    if background:
        q[:, -1] = background * p[:, -1]
    lam = p * own
    totals = np.add.reduceat(lam, seen.starts, axis=0)
    lam /= np.maximum(np.repeat(totals, seen.sizes, axis=0), np.finfo(float).tiny)
    return Posterior(q / np.maximum(q.sum(axis=1, keepdims=True), np.finfo(float).tiny), lam)


def _penalty(params: Params, ridge: float) -> Any:
    return ridge / 2 * (params.weights**2).sum() + OFFSET_RIDGE / 2 * (params.offset**2).sum()


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, np.finfo(float).tiny))
