r"""What LSA and NLSA share: tagged images as joint vectors, a latent space, soft inference in it (docs/models.md 3.13).

x_n = (word_weight * w_n ; v_n) for a tagged image n, x_q = (0 ; v_q) for an image to annotate. A model learns a map of
such vectors to K coordinates; words come from the Z tagged images with the nearest coordinates (neighbours.py).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.empirical import word_frequencies
from topicture.models.neighbours import caption_log_likelihood, nearest, soft_inference

__all__ = ["Joint", "LatentSpace", "NeededViews", "Space"]

_VIEWS = ("descriptor", "visual_words")
_SEARCHES = ("auto", "exact", "faiss")
# What a validation chooses from: Z, and the weight of words relative to the balanced one. Images to annotate carry no
# words, so words that weigh little often do better.
_CANDIDATE_Z = (1, 3, 10, 30, 100, 300)
_CANDIDATE_WEIGHTS = (1.0, 0.3, 0.1, 0.03)
# With fewer tagged images, the published Z and the balanced weight.
_PUBLISHED_Z = 3
_FEWEST_TO_VALIDATE = 20
_VALIDATION_SHARE = 0.2
# Images that take part in choosing the weight, and images whose captions are predicted in choosing Z.
_MOST_TO_WEIGH = 2500
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


@dataclass(eq=False, repr=False)
class LatentSpace(Annotator):
    """An annotator by neighbours in a latent space; a subclass implements `_learn`, `_space_state`, `_restore_space`.

    Attributes
    ----------
    space_ : the learned map
    features_ : (N, K) coordinates of the tagged images
    captions_ : (N, V) their captions
    n_neighbours_ : Z, given or chosen
    word_weight_ : weight of the captions, given or chosen
    """

    needs: ClassVar[Any] = NeededViews()

    n_components: int = 50
    _: KW_ONLY
    n_neighbours: int | str = "auto"
    view: str = "descriptor"
    word_weight: float | str = "auto"
    search: str = "auto"
    seed: int = 0

    space_: Any = field(init=False)
    features_: np.ndarray = field(init=False)
    captions_: sparse.csr_array = field(init=False)
    empirical_: np.ndarray = field(init=False)
    word_weight_: float = field(init=False)
    n_neighbours_: int = field(init=False)

    # --- Learn -------------------------------------------------------------------------------------------

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        if not corpus.tagged.any():
            raise CorpusError(f"{self.name}: no image is tagged, so there are no words to learn")
        if not corpus.tagged.all():
            corpus = corpus[corpus.tagged]  # untagged images take no part (2.9)
        rng = np.random.default_rng(self.seed)
        self.captions_ = sparse.csr_array(corpus.captions)
        self.empirical_ = word_frequencies(corpus)
        self.word_weight_ = self._choose_word_weight(corpus, rng)
        self.n_neighbours_ = self._choose_n_neighbours(corpus, rng)
        joint = self._joint(corpus)
        self.space_, features, self.result_ = self._learn(joint, rng)
        self.features_ = np.ascontiguousarray(features)
        self.objective_trace_ = np.zeros(0)
        self.n_iter_ = 0

    @abstractmethod
    def _learn(self, joint: Joint, rng: np.random.Generator) -> tuple[Space, np.ndarray, str]:
        """The space, the coordinates (N, K) of the given images in it, and how it was found in words."""

    def _joint(self, corpus: Corpus, *, with_words: bool = True) -> Joint:
        words = self.word_weight_ * corpus.captions if with_words else sparse.csr_array(corpus.captions.shape)
        return Joint(sparse.csr_array(words), getattr(corpus, self.view))

    def _choose_word_weight(self, corpus: Corpus, rng: np.random.Generator) -> float:
        """The weight of words as given, balanced with the visual part, or the best share of that by validation."""
        if not isinstance(self.word_weight, str):
            return float(self.word_weight)
        visual = getattr(corpus, self.view)
        visual_square = visual.power(2).sum() if sparse.issparse(visual) else np.vdot(visual, visual)
        balanced = float(np.sqrt(visual_square / corpus.captions.power(2).sum())) or 1.0
        if self.word_weight == "balanced" or len(corpus) < _FEWEST_TO_VALIDATE:
            return balanced
        if len(corpus) > _MOST_TO_WEIGH:
            corpus = corpus[np.sort(rng.choice(len(corpus), _MOST_TO_WEIGH, replace=False))]
        held_out = _held_out(len(corpus), rng)

        def likelihood(share: float) -> float:
            self.word_weight_ = share * balanced
            return max(self._validate(corpus, held_out, rng).values())

        return balanced * max(_CANDIDATE_WEIGHTS, key=likelihood)

    def _choose_n_neighbours(self, corpus: Corpus, rng: np.random.Generator) -> int:
        """Z as given, or the one under which the captions of a fifth of the images are most probable."""
        if not isinstance(self.n_neighbours, str):
            return int(self.n_neighbours)
        if len(corpus) < _FEWEST_TO_VALIDATE:
            return _PUBLISHED_Z
        likelihoods = self._validate(corpus, _held_out(len(corpus), rng), rng)
        return max(likelihoods, key=likelihoods.__getitem__)

    def _validate(self, corpus: Corpus, held_out: np.ndarray, rng: np.random.Generator) -> dict[int, float]:
        """Z -> log-likelihood of the held-out captions, with a space learned from the other images."""
        known, questions = corpus[~held_out], corpus[held_out]
        space, features, _ = self._learn(self._joint(known), rng)
        candidates = (
            [z for z in _CANDIDATE_Z if z < len(known)]
            if isinstance(self.n_neighbours, str)
            else [self.n_neighbours]
        )
        queries = space.project(self._joint(questions, with_words=False))
        near = nearest(queries, features, max(candidates), self.search)
        return {
            z: caption_log_likelihood(near, known.captions, word_frequencies(known), questions.captions, z)
            for z in candidates
        }

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
        self._check_choice("view", _VIEWS)
        return super()._columns(corpus)

    def _check_params(self) -> None:
        self._check_whole("n_components")
        if self.n_neighbours != "auto":
            self._check_whole("n_neighbours")
        self._check_choice("search", _SEARCHES)
        weight = self.word_weight
        fits = weight in ("auto", "balanced") if isinstance(weight, str) else weight > 0
        self._require("word_weight", fits, "be positive, 'auto' or 'balanced'")

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
        self.n_neighbours_ = facts["n_neighbours"]
        self._check_whole("n_neighbours_")
        self.word_weight_ = float(facts["word_weight"])
        space = {name[6:]: array for name, array in arrays.items() if name.startswith("space.")}
        self.space_ = self._restore_space(space, facts["space"])

    @abstractmethod
    def _space_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]: ...

    @abstractmethod
    def _restore_space(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Space: ...


def _held_out(n_images: int, rng: np.random.Generator) -> np.ndarray:
    """A random fifth of the images, (n_images,) bool."""
    chosen = rng.permutation(n_images)[: min(int(_VALIDATION_SHARE * n_images), _MOST_VALIDATED)]
    return np.isin(np.arange(n_images), chosen)
