r"""Image-Word Embedding, IWE [liu2005nlsa]: images and words as points of one plane; nearness is probability.

Sections: docs/models.md (3.15). Image n is at r_n, word i at phi_i, both in d dimensions (2: a map).

    Q_ni = softmax_i( ln q_i - |r_n - phi_i|^2 / 2 ),   q = word frequencies of the tagged images
    E = - sum_ni P_ni ln Q_ni + xi_r/2 sum |r_n|^2 + xi_w/2 sum |phi_i|^2,   P_n = caption of image n, normalised

Since |r_n|^2 cancels in the softmax, ln Q_ni = a_ni - LSE_i a_ni with a_ni = r_n.phi_i + b_i and
b_i = ln q_i - |phi_i|^2 / 2. Given phi, every r_n is a convex problem of its own, solved exactly by Newton's method. A
new image gets P from any other annotator, is placed by the same problem, and is answered with Q at its place. The
mathematics is in embedding.py.

Symbol -> code, shape:  r -> r N d | phi -> phi V d | q -> log_q V | P -> P N V | a, b -> a N V, b V
Differs from the paper: the ridges xi, without which an image whose caption is one word at the rim has no place; L-BFGS
over phi with r solved for (its gradient is dE/dphi at the solution); the best of several random starts; dimensions and
ridges may be chosen by validation.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.empirical import word_frequencies
from topicture.models.id_arrays import ids_from, ids_state
from topicture.models.interrupts import all_or_nothing
from topicture.models.neighbours import log_likelihood_of_captions
from topicture.models.registry import annotator_class, make_annotator
from topicture.models.spaces.embedding import Embedding, Ridge, Words, descend, embed, minimise, posterior

__all__ = ["IWE"]

_STARTING_IMAGES = 4000
# What a validation chooses from, on at most this many images and with this many iterations.
_CANDIDATES: dict[str, tuple[Any, ...]] = {
    "n_dims": (5, 2, 10),
    "ridge_images": (0.1, 0.3, 1.0),
    "ridge_words": (0.5, 5.0),
}
_MOST_VALIDATED, _VALIDATION_SHARE, _VALIDATION_ITERATIONS = 2500, 0.2, 40
_FEWEST_TO_VALIDATE = 20


class Plan(NamedTuple):
    """Dimensions and ridges of a map."""

    n_dims: int
    ridge: Ridge


class NeededViews:
    """`needs` of the base annotator; on the class, those of the default one."""

    def __get__(self, instance: Any, owner: type) -> tuple[str, ...]:
        base = "nlsa" if instance is None else instance.base
        return tuple((annotator_class(base) if isinstance(base, str) else base).needs)


@dataclass(eq=False, repr=False)
class IWE(Annotator):
    """Places images and words on one map and answers with the words near an image's place.

    The map is learned from the captions of the tagged images. A new image is placed by the probabilities that the
    base annotator gives it.

    Parameters
    ----------
    base : registry name of an annotator, or an annotator; fitted on the same corpus
    n_dims : dimensions of the map d; 2 can be drawn, 10 annotate better
    ridge_images, ridge_words : xi_r, xi_w; how strongly points are drawn to the origin. With small ones every place of
        the map stands for few words, and a base annotator's broad probabilities have no place; with large ones images
        crowd in the middle, or a small collection's words do. The defaults make good maps of 100 images and more.
        Each of the three may be "auto", which annotates better: chosen by the captions of held-out tagged images
    optimiser : "lbfgs", or "descent" (steepest descent, as published)
    step : first step length of "descent"
    max_iter, tol : of the optimiser; tol is the relative change of E
    n_init : number of random starts; the one with the least E is kept (a large collection compares them on a sample)
    seed : of the starts, and of a base given by name

    Attributes
    ----------
    base_ : the fitted base annotator
    plan_ : dimensions and ridges, given or chosen
    word_coordinates_ : (V, d)
    image_coordinates_ : (N, d) of the tagged images
    image_ids_ : (N,) their ids
    word_counts_ : (V,) how often each word was seen
    restarts_ : minus E of every start (of a sample of 4,000 images, where there are more than twice as many)
    """

    name = "iwe"
    needs: ClassVar[Any] = NeededViews()

    base: str | Annotator = "nlsa"
    _: KW_ONLY
    n_dims: int | str = 2
    ridge_images: float | str = 0.1
    ridge_words: float | str = 0.5
    optimiser: str = "lbfgs"
    step: float = 0.5
    max_iter: int = 200
    tol: float = 1e-5
    n_init: int = 5
    seed: int = 0

    def transform(self, corpus: Corpus) -> np.ndarray:
        """Places of images on the map, (D, d), from the base annotator's probabilities."""
        self._check_usable(corpus)
        return self._place(corpus)

    def _place(self, corpus: Corpus) -> np.ndarray:
        P = _over_seen_words(self.base_.annotate(corpus), self._words())
        return embed(P, self._words(), self.plan_.ridge.images)

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return posterior(self._place(corpus), self._words())

    def _words(self) -> Words:
        return Words(self.word_coordinates_, self.log_q_)

    # --- Learn -------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        for name in ("n_dims", "n_init", "max_iter"):
            if not self._is_free(name):
                self._check_whole(name)
        for name in ("ridge_images", "ridge_words", "step"):
            if not self._is_free(name):
                self._check_positive(name)
        self._check_choice("optimiser", ("lbfgs", "descent"))

    def _is_free(self, parameter: str) -> bool:
        return (
            parameter in _CANDIDATES
            and isinstance(value := getattr(self, parameter), str)
            and value == "auto"
        )

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(f"{self.name}: no image is tagged, so there are no words to place")
        with all_or_nothing():
            self.base_ = self._new_base().fit(corpus, callback=callback)
        tagged = corpus if corpus.tagged.all() else corpus[corpus.tagged]
        self.word_counts_ = np.asarray(tagged.captions.sum(axis=0)).ravel()
        self.log_q_ = _log(word_frequencies(tagged))
        rng = np.random.default_rng(self.seed)
        self.plan_ = self._choose_plan(tagged)
        best, values = self._best_start(_normalised(tagged.captions), rng)
        self.word_coordinates_ = np.ascontiguousarray(best.words.phi)
        self.image_coordinates_ = best.r
        self.image_ids_ = tagged.image_ids
        self.restarts_ = -np.array(values)
        self.objective_trace_ = -np.array(best.trace)
        self.n_iter_ = len(best.trace) - 1
        self.result_ = "converged" if best.converged else f"stopped after {self.n_iter_} iterations"

    def _choose_plan(self, tagged: Corpus) -> Plan:
        """What is given, and for the rest what makes the captions of held-out images most probable."""
        options = {
            name: values if self._is_free(name) else (getattr(self, name),)
            for name, values in _CANDIDATES.items()
        }
        n_dims, *ridges = (values[0] for values in options.values())
        first = Plan(n_dims, Ridge(*ridges))
        if len(tagged) < _FEWEST_TO_VALIDATE or all(len(values) == 1 for values in options.values()):
            return first
        rng = np.random.default_rng(self.seed)
        n_images = min(len(tagged), _MOST_VALIDATED)
        order = rng.permutation(len(tagged))[:n_images]
        n_held_out = int(_VALIDATION_SHARE * n_images)
        questions, known = tagged[np.sort(order[:n_held_out])], tagged[np.sort(order[n_held_out:])]
        with all_or_nothing():
            P = self._new_base().fit(known).annotate(questions)
        captions, q = _normalised(known.captions), word_frequencies(known)
        start = rng.standard_normal((tagged.n_words, max(options["n_dims"])))

        def likelihood(plan: Plan) -> float:
            words = Words(start[:, : plan.n_dims], _log(q))
            words = minimise(captions, words, plan.ridge, max_iter=_VALIDATION_ITERATIONS, tol=self.tol).words
            Q = posterior(embed(_over_seen_words(P, words), words, plan.ridge.images), words)
            return log_likelihood_of_captions(Q, q, questions.captions)

        # The best ridges hardly depend on the dimensions, so they are chosen first.
        pairs = product(options["ridge_images"], options["ridge_words"])
        first = max((Plan(n_dims, Ridge(*pair)) for pair in pairs), key=likelihood)
        return max((Plan(n_dims, first.ridge) for n_dims in options["n_dims"]), key=likelihood)

    def _new_base(self) -> Annotator:
        if not isinstance(self.base, str):
            return clone(self.base)
        return make_annotator(self.base, seed=self.seed)

    def _best_start(self, P: sparse.csr_array, rng: np.random.Generator) -> tuple[Embedding, list[float]]:
        """The embedding from the start with the least E, and E of all starts.

        Starts are compared on a sample of a large collection; only the best goes on with all images.
        """
        few = P[np.sort(rng.choice(P.shape[0], _STARTING_IMAGES, replace=False))] if _is_large(P) else P
        starts = [rng.standard_normal((P.shape[1], self.plan_.n_dims)) for _ in range(self.n_init)]
        tried = [self._learn(few, Words(phi, self.log_q_)) for phi in starts]
        best = min(tried, key=lambda found: found.trace[-1])
        return self._learn(P, best.words) if _is_large(P) else best, [found.trace[-1] for found in tried]

    def _learn(self, P: sparse.csr_array, start: Words) -> Embedding:
        ridge = self.plan_.ridge
        if self.optimiser == "lbfgs":
            return minimise(P, start, ridge, max_iter=self.max_iter, tol=self.tol)
        return descend(P, start, ridge, step0=self.step, max_iter=self.max_iter, tol=self.tol)

    # --- Files -------------------------------------------------------------------------------------------

    def _header_params(self) -> dict[str, Any]:
        # An annotator as base is not JSON: its own part of the file says what it is (`_state`).
        return {
            **super()._header_params(),
            "base": self.base if isinstance(self.base, str) else self.base_.name,
        }

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        header, arrays = self.base_._file_content()
        own = {
            "word_coordinates": self.word_coordinates_,
            "word_counts": self.word_counts_,
            "image_coordinates": self.image_coordinates_,
            "restarts": self.restarts_,
            **ids_state(self.image_ids_),
        }
        facts = {
            "base": header,
            "base_is_named": isinstance(self.base, str),
            "ridges": list(self.plan_.ridge),
        }
        return {**own, **{f"base.{name}": array for name, array in arrays.items()}}, facts

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        header = facts["base"]
        base_arrays = {name[5:]: array for name, array in arrays.items() if name.startswith("base.")}
        self.base_ = annotator_class(header["model"]).from_state(
            header, base_arrays, source=f"the base of {self.name}"
        )
        if not facts["base_is_named"]:
            self.base = clone(self.base_)
        elif self.base != header["model"]:
            raise ValueError(
                f"the base is called {self.base!r}, and holds a model called {header['model']!r}"
            )
        self.word_coordinates_ = arrays["word_coordinates"]
        self.word_counts_ = arrays["word_counts"]
        self.image_coordinates_ = arrays["image_coordinates"]
        self.restarts_ = arrays["restarts"]
        self.image_ids_ = ids_from(arrays, facts)
        self.log_q_ = _log(self.word_counts_ / self.word_counts_.sum())
        ridge = Ridge(*map(float, facts["ridges"]))
        if not all(0 < value < np.inf for value in ridge):
            raise ValueError(f"the ridges are {list(ridge)}")
        self.plan_ = Plan(self.word_coordinates_.shape[1], ridge)


def _log(q: np.ndarray) -> np.ndarray:
    """ln q; minus infinity for words never seen."""
    with np.errstate(divide="ignore"):
        return np.log(q)


def _is_large(P: sparse.csr_array) -> bool:
    return P.shape[0] > 2 * _STARTING_IMAGES


def _normalised(captions: sparse.csr_array) -> sparse.csr_array:
    """P_n, the captions with rows that sum to 1."""
    return sparse.csr_array(captions.multiply(1 / np.asarray(captions.sum(axis=1)).ravel()[:, None]))


def _over_seen_words(P: np.ndarray, words: Words) -> np.ndarray:
    """P without the words that training never saw, rows summing to 1; the word frequencies if nothing is left."""
    q = np.exp(words.log_q)
    P = np.where(q > 0, P, 0.0)
    totals = P.sum(axis=1, keepdims=True)
    return np.where(totals > 0, P / np.where(totals > 0, totals, 1.0), q)
