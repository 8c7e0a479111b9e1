"""The estimators of GM-Mixture, GM-LDA and Corr-LDA: what they share. It holds no mathematics."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Sizes
from topicture.errors import CorpusError
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator
from topicture.models.regions.gaussian_lda import (
    Answers,
    DirichletParams,
    PointParams,
    Prior,
    Story,
    Tables,
    make_infer,
    make_model,
    word_means,
)
from topicture.models.regions.start import init_params, variance_floor

__all__ = ["GaussianLDA", "GaussianTopics"]

SMOOTHINGS = ("ml", "eb")
ETA_UPDATES = ("alternate", "direct", "fixed")
STARTS = ("kmeans", "random")


@dataclass(eq=False, repr=False)
class GaussianTopics(EMAnnotator):
    """Settings and checks that the three models share."""

    needs = ("regions",)
    word_tables = ("beta", "rho")

    _: KW_ONLY
    smoothing: str = "eb"
    eta: float = 0.1
    eta_update: str = "alternate"
    eps_words: float = 1e-10
    start: str = "kmeans"

    _floor: np.ndarray = field(init=False)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("smoothing", SMOOTHINGS)
        self._check_choice("eta_update", ETA_UPDATES)
        self._check_choice("start", STARTS)
        self._check_positive("eta")

    def _fit(self, corpus: Corpus, callback: Any) -> None:
        n_regions = corpus.n_regions
        if not n_regions.sum():
            raise CorpusError(f"{self.name}: none of the {len(corpus)} images has a region")
        if not (corpus.tagged & (n_regions > 0)).any():
            raise CorpusError(f"{self.name}: no image with regions is tagged, so no word can be learned")
        assert corpus.regions is not None
        self._floor = variance_floor(corpus.regions.var(axis=0))
        super()._fit(corpus, callback)

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        if hasattr(self.params_, "eta"):  # a file holds a number as an array of one
            self.params_ = self.params_._replace(eta=np.reshape(self.params_.eta, ()))


@dataclass(eq=False, repr=False)
class GaussianLDA(GaussianTopics):
    """The estimator of both models; see their own classes."""

    labels_regions = True
    params_types = (PointParams, DirichletParams)

    _: KW_ONLY
    alpha: float = 1.0
    learn_alpha: bool = True
    max_sweeps: int = 50
    sweep_tol: float = 1e-6

    @property
    @abstractmethod
    def story(self) -> Story:
        """How images and captions come about: what tells the two models apart."""

    def label_regions(self, corpus: Corpus, *, use_captions: bool = False) -> list[np.ndarray]:
        """p(word | region), one (N_d, V) array an image.

        With `use_captions` the topics of a captioned image's regions are found from its regions and its caption.
        """
        self._check_usable(corpus)
        return self._label_regions(corpus if use_captions else corpus.without_captions())

    def transform(self, corpus: Corpus) -> np.ndarray:
        """Expected topic proportions of every image given its regions, (D, K). Captions are not looked at."""
        self._check_usable(corpus)
        gamma = self._answers(corpus.without_captions()).gamma
        return gamma / gamma.sum(axis=1, keepdims=True)

    def log_likelihood(self, corpus: Corpus) -> np.ndarray:
        """Lower bound on log p(regions, caption) of every image, (D,)."""
        self._check_usable(corpus)
        return self._answers(corpus).bound

    def _annotate(self, corpus: Corpus) -> np.ndarray:
        return _distributions(self._answers(corpus.without_captions()).caption, word_means(self.params_))

    def _label_regions(self, corpus: Corpus) -> list[np.ndarray]:
        labels = [np.zeros((0, corpus.n_words))] * len(corpus)
        some = np.flatnonzero(corpus.n_regions > 0)
        if not len(some):
            return labels
        means = word_means(self.params_)
        for rows, phi in self._map_images(make_infer(self.story)[1], corpus[some]):
            for image, topics in zip(some[rows], phi, strict=True):
                labels[image] = _distributions(topics[: corpus.n_regions[image]], means)
        return labels

    def _answers(self, corpus: Corpus) -> Answers:
        K = self.n_topics
        found = Answers(np.zeros((len(corpus), K)), np.zeros((len(corpus), K)), np.zeros(len(corpus)))
        for rows, part in self._map_images(make_infer(self.story)[0], corpus):
            for whole, values in zip(found, part, strict=True):
                whole[rows] = values
        return found

    def _tables_for_use(self) -> Tables:
        return em.tables(self._model(), self.params_)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_positive("alpha", "eps_words")
        self._check_not_negative("sweep_tol")
        self._check_steps("max_sweeps")

    def _model(self) -> em.Model:
        return make_model(
            self.story, self.max_sweeps, float(self.sweep_tol), bool(self.learn_alpha), self.eta_update
        )

    def _prior(self) -> Prior:
        return Prior(self.eps_words, self._floor)

    def _start(self, corpus: Corpus, rng: np.random.Generator) -> Any:
        return init_params(
            corpus,
            self.n_topics,
            self._prior(),
            rng,
            alpha=self.alpha,
            smoothing=self.smoothing,
            eta=self.eta,
            start=self.start,
        )

    def _width(self, sizes: Sizes) -> int:
        # G and phi are both read in every sweep.
        return 2 * max(1, sizes.regions)


def _distributions(topics: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Rows of topics (n, K) times E[beta] (K, V); float32 inference sums to one only to 1e-6."""
    p_w = topics.astype(np.float64) @ means
    return p_w / p_w.sum(axis=1, keepdims=True)
