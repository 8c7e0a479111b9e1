r"""What LSA and NLSA share: tagged images as joint vectors, a latent space, soft inference in it (MODELS.md 3.13).

x_n = (word_weight * w_n ; v_n) for a tagged image n, x_q = (0 ; v_q) for an image to annotate. A model learns a map of
such vectors to K coordinates; words come from the Z tagged images with the nearest coordinates (neighbours.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.empirical import word_frequencies
from topicture.models.neighbours import CANDIDATES, choose_n_neighbours, nearest, soft_inference

__all__ = ["Joint", "LatentSpace", "NeededViews", "Space"]

_VIEWS = ("descriptor", "visual_words")
_SEARCHES = ("auto", "exact", "faiss")
# Z as published, used where there are too few tagged images to choose it by validation.
_PUBLISHED_Z = 3
_FEWEST_TO_VALIDATE = 20
_VALIDATION_SHARE = 0.2
_MOST_VALIDATED = 2000


@dataclass(frozen=True)
class Joint:
    """Vectors x = (word_weight * w ; v), kept in two parts and never dense as a whole unless they are small."""

    words: sparse.csr_array  # (D, V), weighted
    visual: Any  # (D, L) dense, or sparse counts

    @property
    def n_columns(self) -> int:
        return self.words.shape[1] + self.visual.shape[1]

    def __len__(self) -> int:
        return self.words.shape[0]

    def at(self, rows: Any) -> np.ndarray:
        """Some vectors, dense, (n, V + L)."""
        visual = self.visual[rows]
        return np.hstack(
            [self.words[rows].toarray(), visual.toarray() if sparse.issparse(visual) else visual]
        )


class Space(Protocol):
    """A learned map of vectors to coordinates."""

    def project(self, joint: Joint) -> np.ndarray:
        """Coordinates (D, K)."""


class NeededViews:
    """`needs` of a model with a `view` parameter: on an instance its view, on the class the default one."""

    def __get__(self, instance: Any, owner: type) -> tuple[str, ...]:
        return _VIEWS[:1] if instance is None else (instance.view,)


class LatentSpace(Annotator):
    """An annotator by neighbours in a latent space; a subclass implements `_learn`, `_space_state`, `_restore_space`.

    Attributes
    ----------
    space_ : the learned map
    features_ : (N, K) coordinates of the tagged images
    captions_ : (N, V) their captions
    n_neighbours_ : Z, given or chosen
    """

    needs: ClassVar[Any] = NeededViews()

    n_components: int
    n_neighbours: int | str
    view: str
    word_weight: float | str
    search: str
    seed: int
    space_: Any
    features_: np.ndarray
    captions_: sparse.csr_array
    empirical_: np.ndarray
    word_weight_: float
    n_neighbours_: int

    # --- Learn -------------------------------------------------------------------------------------------

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(f"{self.name}: no image is tagged, so there are no words to learn")
        if not corpus.tagged.all():
            corpus = corpus[corpus.tagged]  # untagged images take no part (2.9)
        rng = np.random.default_rng(self.seed)
        self.captions_ = sparse.csr_array(corpus.captions)
        self.empirical_ = word_frequencies(corpus)
        self.word_weight_ = self._balance(corpus)
        joint = self._joint(corpus)
        self.n_neighbours_ = self._choose_n_neighbours(corpus, joint, rng)
        self.space_, features, self.result_ = self._learn(joint, rng)
        self.features_ = np.ascontiguousarray(features)
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0

    def _learn(self, joint: Joint, rng: np.random.Generator) -> tuple[Space, np.ndarray, str]:
        """The space, the coordinates (N, K) of the given images in it, and how it was found in words."""
        raise NotImplementedError

    def _balance(self, corpus: Corpus) -> float:
        """word_weight as a number; "balanced" gives captions and visual parts the same mean square length."""
        if not isinstance(self.word_weight, str):
            return float(self.word_weight)
        visual = getattr(corpus, self.view)
        visual_square = visual.power(2).sum() if sparse.issparse(visual) else np.vdot(visual, visual)
        return float(np.sqrt(visual_square / corpus.captions.power(2).sum())) or 1.0

    def _joint(self, corpus: Corpus, *, with_words: bool = True) -> Joint:
        words = self.word_weight_ * corpus.captions if with_words else sparse.csr_array(corpus.captions.shape)
        return Joint(sparse.csr_array(words), getattr(corpus, self.view))

    def _choose_n_neighbours(self, corpus: Corpus, joint: Joint, rng: np.random.Generator) -> int:
        """Z as given, or by the likelihood of the captions of a fifth of the images under a space of the others."""
        if self.n_neighbours != "auto":
            return int(self.n_neighbours)
        N = len(corpus)
        if N < _FEWEST_TO_VALIDATE:
            return _PUBLISHED_Z
        held_out = np.zeros(N, bool)
        held_out[rng.permutation(N)[: min(int(_VALIDATION_SHARE * N), _MOST_VALIDATED)]] = True
        rest, questions = Joint(joint.words[~held_out], joint.visual[~held_out]), corpus[held_out]
        space, features, _ = self._learn(rest, rng)
        candidates = [z for z in CANDIDATES if z < len(rest)]
        near = nearest(
            space.project(self._joint(questions, with_words=False)),
            features,
            candidates[-1],
            self.search,
        )
        known = corpus[~held_out]
        return choose_n_neighbours(
            near, known.captions, word_frequencies(known), questions.captions, candidates
        )

    # --- Use ---------------------------------------------------------------------------------------------

    def transform(self, corpus: Corpus) -> np.ndarray:
        """Coordinates in the latent space, (D, K), from the visual part alone."""
        self._check_usable(corpus)
        return self._project(corpus)

    def _project(self, corpus: Corpus) -> np.ndarray:
        return self.space_.project(self._joint(corpus, with_words=False))

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        near = nearest(self._project(corpus), self.features_, self.n_neighbours_, self.search)
        return soft_inference(near, self.captions_, self.empirical_)

    # --- Checks and files --------------------------------------------------------------------------------

    def _columns(self, corpus: Corpus) -> dict[str, int]:
        if self.view not in _VIEWS:
            raise TopictureError(f"{self.name}: view must be one of {', '.join(_VIEWS)}, not {self.view!r}")
        return super()._columns(corpus)

    def _check_params(self) -> None:
        _check_count(self.name, "n_components", self.n_components)
        if self.n_neighbours != "auto":
            _check_count(self.name, "n_neighbours", self.n_neighbours)
        if self.search not in _SEARCHES:
            raise TopictureError(
                f"{self.name}: search must be one of {', '.join(_SEARCHES)}, not {self.search!r}"
            )
        weight = self.word_weight
        if not (weight == "balanced" if isinstance(weight, str) else weight > 0):
            raise TopictureError(f"{self.name}: word_weight must be positive or 'balanced', not {weight!r}")

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = self._space_state()
        captions = {
            "captions.counts": self.captions_.data,
            "captions.words": self.captions_.indices.astype(np.int64),
            "captions.ends": self.captions_.indptr.astype(np.int64),
        }
        arrays = {f"space.{name}": array for name, array in arrays.items()}
        facts = {"space": facts, "n_neighbours": self.n_neighbours_, "word_weight": self.word_weight_}
        return {**arrays, **captions, "features": self.features_, "p_w": self.empirical_}, facts

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        self.features_, self.empirical_ = arrays["features"], arrays["p_w"]
        self.captions_ = sparse.csr_array(
            (arrays["captions.counts"], arrays["captions.words"], arrays["captions.ends"]),
            shape=(len(self.features_), len(self.empirical_)),
        )
        self.n_neighbours_ = int(facts["n_neighbours"])
        self.word_weight_ = float(facts["word_weight"])
        space = {name[6:]: array for name, array in arrays.items() if name.startswith("space.")}
        self.space_ = self._restore_space(space, facts["space"])

    def _space_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        raise NotImplementedError

    def _restore_space(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Space:
        raise NotImplementedError


def _check_count(model: str, parameter: str, value: Any) -> None:
    if not (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1):
        raise TopictureError(f"{model}: {parameter} must be a positive whole number, not {value!r}")
