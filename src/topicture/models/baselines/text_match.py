r"""Text match: what a text encoder says of words counts as far as tags bear it out (docs/models.md 12).

First, how much the text of each word says. A word w has a weight a_w, drawn from pi; an image that carries w is drawn
from the tagged ones with the chance exp(a_w s_iw) / (N M_w(a_w)),   M_w(a) = (1/N) sum_i exp(a s_iw):

    ln L_w(a) = sum_i y_iw (a s_iw - ln M_w(a)),        objective = sum_w ln sum_g pi_g L_w(a_g) + sum_g c_g ln pi_g
    o_iw = ln sum_g r_wg exp(a_g s_iw) / M_w(a_g),      r_wg = p(a_w = a_g | tags)

s_iw is the likeness of image and text. Weights a_g = 0, 0.25, .. 8 are a grid: nothing is approximated; pi is what all
words share. A name that only its owner knows ends near a_w = 0, where its text says nothing; a word with few images, or
none, has the weights of the others. The objective is concave in pi: EM finds its one maximum, and nothing is random.

Then what texts leave unsaid is learned from images: presence_iw = sigmoid(o_iw + x_i' W_w + b_w), with a ridge on W, as
`logistic` does, which is the case o = 0.

Symbol -> code, shape:  x -> rows D L | s -> likeness D V | y -> present N V | ln L -> log_lik V G | pi -> pi G
  r -> r V G | c -> counts G | max_i s_iw -> top V | M -> mean of powers of e = exp(0.25 (s - top)), V G
  r/M -> ratio V G | W, b -> linear L V, V
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logsumexp

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.baselines.logistic import Linear, fit_logistic
from topicture.models.baselines.one_view import OneView, Tell
from topicture.models.em.results import Results
from topicture.models.neighbours import blocks, unit_rows

__all__ = [
    "Evidence",
    "TextMatch",
    "Texts",
    "e_step",
    "evidence",
    "log_ratio",
    "m_step",
    "objective",
    "sample",
    "texts_of",
]

STEP, N_STEPS = 0.25, 32
WEIGHTS = STEP * np.arange(N_STEPS + 1)
"""The grid of a, for likenesses whose mean square is 1, so that it means the same for every word."""
# An image may be more like a text than all tagged ones: by so much, or it counts as if.
MOST_BEYOND = 2.0


# --- Values -------------------------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """How images are described and compared with texts."""

    centre: np.ndarray  # (L,) the mean image
    scale: float  # of images
    vectors: np.ndarray  # (V, L) of the words; 0 for those without a text

    def rows(self, descriptor: np.ndarray) -> np.ndarray:
        """x (D, L): directions of descriptors (D, L), centred, with columns of mean variance 1."""
        return (unit_rows(np.asarray(descriptor, np.float64)) - self.centre) / self.scale

    def likeness(self, rows: np.ndarray) -> np.ndarray:
        """s (D, V)."""
        return rows @ self.vectors.T


class Evidence(NamedTuple):
    """What tags say of weights."""

    log_lik: np.ndarray  # (V, G)
    means: np.ndarray  # (V, G) mean of e^g over the tagged images
    top: np.ndarray  # (V,)


# --- Start --------------------------------------------------------------------------------------------------------


def sample(rng: np.random.Generator, weights: np.ndarray, n_images: int, n_tags: int, L: int = 16) -> Corpus:
    """Images and texts of random directions; each word has a weight (V,) and `n_tags` images, by the story above."""
    descriptor, vectors = rng.normal(size=(n_images, L)), rng.normal(size=(len(weights), L))
    texts = texts_of(descriptor, vectors)
    s = texts.likeness(texts.rows(descriptor))
    captions = np.zeros((n_images, len(weights)))
    for w, a in enumerate(weights):
        p = np.exp(a * (s[:, w] - s[:, w].max()))
        captions[rng.choice(n_images, size=n_tags, replace=False, p=p / p.sum()), w] = 1
    return Corpus.from_arrays(captions, descriptor=descriptor, word_vectors=vectors)


def texts_of(descriptor: np.ndarray, word_vectors: np.ndarray) -> Texts:
    """Both sides centred; columns of images have the mean variance 1, and likenesses to every text the mean square 1.

    Encoders put all images in one corner and all texts in another; what tells them apart is the rest. One text more,
    at the origin, takes part in the mean: a single one keeps its direction.
    """
    known = word_vectors.any(axis=1)
    vectors = unit_rows(np.asarray(word_vectors, np.float64))
    vectors[known] -= vectors.sum(axis=0) / (known.sum() + 1)
    parts = list(blocks(len(descriptor), 4 * 8 * max(descriptor.shape[1], len(vectors))))
    images = [unit_rows(np.asarray(descriptor[part], np.float64)).sum(axis=0) for part in parts]
    texts = Texts(np.sum(images, axis=0) / len(descriptor), 1.0, unit_rows(vectors))
    spread, squares = 0.0, np.zeros(len(vectors))
    for part in parts:
        rows = texts.rows(descriptor[part])
        spread += float((rows**2).sum()) / descriptor.size
        squares += (texts.likeness(rows) ** 2).sum(axis=0) / len(descriptor)
    # Images that do not differ say nothing, whatever rounding makes of it.
    scale = float(np.sqrt(spread)) if spread > 1e-18 else 1.0
    gain = np.where(squares > 1e-18, scale / np.sqrt(np.maximum(squares, 1e-18)), 0.0)
    return Texts(texts.centre, scale, texts.vectors * gain[:, None])


# --- Learn --------------------------------------------------------------------------------------------------------


def evidence(texts: Texts, rows: np.ndarray, present: sparse.csr_array) -> Evidence:
    """ln L_w(a_g) from the tagged images' rows; block by block, powers of e instead of 33 exponentials."""
    N, V = present.shape
    parts = list(blocks(N, 6 * 8 * V))
    top = np.max([texts.likeness(rows[part]).max(axis=0) for part in parts], axis=0)
    means, linear = np.zeros((V, N_STEPS + 1)), np.zeros(V)
    for part in parts:
        s = texts.likeness(rows[part]) - top
        linear += np.asarray((present[part] * s).sum(axis=0)).ravel()
        e, power = np.exp(STEP * s), np.ones_like(s)
        for g in range(N_STEPS + 1):
            means[:, g] += power.sum(axis=0) / N
            power *= e
    counts = np.asarray(present.sum(axis=0)).ravel()
    return Evidence(linear[:, None] * WEIGHTS - counts[:, None] * np.log(means), means, top)


def e_step(pi: np.ndarray, log_lik: np.ndarray) -> np.ndarray:
    """r_wg ~ pi_g L_w(a_g), (V, G)."""
    joint = np.log(pi) + log_lik
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def m_step(r: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """pi_g = (sum_w r_wg + c_g) / (V + sum_g c_g)."""
    return (r.sum(axis=0) + counts) / (len(r) + counts.sum())


def objective(pi: np.ndarray, log_lik: np.ndarray, counts: np.ndarray) -> float:
    """Log-likelihood of all words' images, their weights summed out, and the log-prior of pi."""
    return float(logsumexp(np.log(pi) + log_lik, axis=1).sum() + counts @ np.log(pi))


# --- Use ----------------------------------------------------------------------------------------------------------


def log_ratio(likeness: np.ndarray, ratio: np.ndarray, top: np.ndarray) -> np.ndarray:
    """o (D, V) of likenesses: a polynomial in e, by Horner's rule."""
    e = np.exp(STEP * np.minimum(likeness - top, MOST_BEYOND))
    found = np.zeros_like(e)
    for column in ratio.T[::-1]:
        found *= e
        found += column
    return np.log(np.maximum(found, np.finfo(float).tiny))  # a power may underflow


# --- Estimator: no mathematics -------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class TextMatch(OneView):
    """Texts of words as far as tags bear them out, the rest learned from images; for a corpus with `word_vectors`.

    Parameters
    ----------
    ridge : penalty of squared weights of what is learned from images
    private : words whose text says nothing, and
    pseudo_count : words of each weight that are thought to have been seen before any is
    max_iter, tol : of EM and of L-BFGS; they end when a step changes the objective by less than `tol`, relatively
    background : share of the word frequencies in the answer

    Attributes
    ----------
    weights_ : (V,) expected weight of every word's text; 0 for a word without one
    pi_ : (33,) how common each weight of the grid is among words
    """

    name = "text-match"
    needs = ("descriptor",)
    view: str = field(default="descriptor", init=False)

    ridge: float = 10.0
    _: KW_ONLY
    private: float = 4.0
    pseudo_count: float = 0.03
    max_iter: int = 100
    tol: float = 1e-5
    background: float = 0.05

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("ridge", "pseudo_count", "tol")
        self._require("private", 0 <= self.private < np.inf, "be at least 0")
        self._check_whole("max_iter", least=1)

    def _learn(self, corpus: Corpus, tell: Tell) -> str:
        if corpus.word_vectors is None or not corpus.word_vectors.any():
            raise CorpusError(
                f"{self.name}: no word has a vector: name a text encoder in the network's manifest, or give "
                "word_vectors=..."
            )
        tagged = corpus[corpus.tagged]
        present = sparse.csr_array(tagged.captions.minimum(1.0))
        self.texts_ = texts_of(getattr(corpus, self.view), corpus.word_vectors)
        rows = self.texts_.rows(getattr(tagged, self.view))
        found = evidence(self.texts_, rows, present)
        known = self.texts_.vectors.any(axis=1)
        self.pi_, trace, reason = self._shared_weights(found.log_lik[known])
        r = e_step(self.pi_, found.log_lik)
        self.weights_ = np.where(known, r @ WEIGHTS, 0.0)
        self.ratio_, self.top_ = r / found.means, found.top
        self.linear_, n_steps = fit_logistic(
            rows, present, self.ridge, self.max_iter, self.tol, tell, lambda block: self._said(rows[block])
        )
        self.objective_trace_, self.n_iter_ = np.array(trace), len(trace) - 1
        return f"weights of texts {reason.value}; L-BFGS: {n_steps} steps"

    def _shared_weights(self, log_lik: np.ndarray) -> tuple[np.ndarray, list[float], Results]:
        counts = self.pseudo_count + self.private * (WEIGHTS == 0)
        pi = np.full(len(WEIGHTS), 1 / len(WEIGHTS))
        trace = [objective(pi, log_lik, counts)]
        while len(trace) <= self.max_iter:
            pi = m_step(e_step(pi, log_lik), counts)
            trace.append(objective(pi, log_lik, counts))
            if abs(trace[-1] - trace[-2]) <= self.tol * abs(trace[-2]):
                return pi, trace, Results.converged
        return pi, trace, Results.max_iter

    def _said(self, rows: np.ndarray) -> np.ndarray:
        return log_ratio(self.texts_.likeness(rows), self.ratio_, self.top_)

    def _scores(self, corpus: Corpus) -> np.ndarray:
        rows = self.texts_.rows(getattr(corpus, self.view))
        return expit(self.linear_(rows) + self._said(rows))

    def _view_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        own = {"text_weights": self.weights_, "pi": self.pi_, "ratio": self.ratio_, "top": self.top_}
        texts = {"centre": self.texts_.centre, "vectors": self.texts_.vectors}
        return {**texts, **own, **self.linear_._asdict()}, {"scale": self.texts_.scale}

    def _restore_view(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.texts_ = Texts(arrays["centre"], float(facts["scale"]), arrays["vectors"])
        self.weights_, self.pi_ = arrays["text_weights"], arrays["pi"]
        self.ratio_, self.top_ = arrays["ratio"], arrays["top"]
        self.linear_ = Linear(arrays["weights"], arrays["offset"])
