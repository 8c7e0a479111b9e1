r"""Mixture of unigrams regularised by a similarity graph: LapVar1, LapVar2 [shao2010] and LapEM [shao2009].

The base model is that of mix_unigram.py, the graph term that of lap.py: Q = F - lam R. Tagged and untagged images are
nodes of one graph; the words of an untagged image come from its smoothed posterior p_i (docs/models.md 3.10-3.12). A
new image is joined to the graph by edges to the training images and gets its own posterior; nothing else moves.

Differs from the papers: against poor local optima there are restarts, continuation in lam, and deterministic annealing,
which may end at a temperature above 1. The defaults come from cross-validation within the tagged images of the seven
Corel subsets (docs/results/shao.md). There, with 50 topics, five restarts raise Q by 250 nats and continuation by
nothing, and neither makes words better; annealing from 4 gains 0.002 accuracy, twice that in cross-validation; a
temperature that ends between 1.5 and 2 gains 0.01, and the graph 0.014 of what is reached then.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError, ModelFileError, TopictureError
from topicture.models.counts import mix_unigram
from topicture.models.counts.mix_unigram import MODEL, UnigramMixture
from topicture.models.em import loop as em
from topicture.models.em.estimator import EMAnnotator
from topicture.models.files import read_model
from topicture.models.graphs import lap
from topicture.models.graphs.graph import Graph, GraphRule, Views, combine
from topicture.models.id_arrays import ids_from, ids_state

__all__ = ["GraphMixture", "LapMixUnigram"]

_FIXED_POSTERIORS = lap.with_fixed_posteriors(MODEL, mix_unigram.statistics)


@dataclass(eq=False, repr=False)
class GraphMixture(UnigramMixture):
    """What the graph-regularised mixtures share: the graph, the stages of a fit, known and new images, files.

    Attributes
    ----------
    graph_ : Graph of the training images (not stored in model files)
    image_ids_ : (D,) ids of the training images, sorted: the nodes of the graph
    posteriors_ : (D, K) regularised posteriors p of the training images
    """

    _: KW_ONLY
    lam: float = 1.0
    graph: Any = None
    gamma: float = 0.1
    temperature: float = 1.0
    continuation: int = 0
    annealing: float = 1.0
    n_init: int = 3

    graph_: Graph = field(init=False)
    image_ids_: np.ndarray = field(init=False)
    posteriors_: np.ndarray = field(init=False)

    @abstractmethod
    def _update(self) -> lap.Update:
        """How posteriors are updated."""

    # --- Learn -------------------------------------------------------------------------------------------

    def fit(
        self,
        corpus: Corpus,
        *,
        graph: Any = None,
        callback: Callable[[Any], None] | None = None,
        earlier: EMAnnotator | None = None,
    ) -> Self:
        """Learn from the images, tagged and untagged, and the graph between them; `earlier` as for any EM model.

        `graph` (a Graph, or a matrix of weights in the order of the corpus: any network, such as shared albums or
        authors) stands in for the one that the parameter `graph` describes. Raises CorpusError if it does not fit.
        """
        self._given = None if graph is None else _in_canonical_order(graph, corpus)
        try:
            return super().fit(corpus, callback=callback, earlier=earlier)
        finally:
            del self._given

    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None:
        self.graph_ = self._given or self._build_graph(corpus)
        batches = self._batches(corpus)
        stages = self._stages(batches)
        best, tried = em.fit_restarts(
            _FIXED_POSTERIORS,
            batches,
            self._starts(corpus),
            self._prior(),
            # Easier problems prepare a start; earlier parameters are one.
            run=partial(self._run, stages if self._first_params is None else stages[-1:]),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=callback,
        )
        self.params_ = best.params
        self.objective_trace_ = best.trace
        self.n_iter_ = best.n_iter
        self.result_ = _result(best)
        self.restarts_ = np.array([result.objective for result in tried])
        self._keep_images(corpus, self._stages(batches)[-1], best)

    def _keep_images(self, corpus: Corpus, coupling: lap.Coupling, best: em.FitResult) -> None:
        """What annotating needs to know about the training images."""
        p = coupling.rows(best.posteriors)
        assert p is not None
        T = self.temperature
        _, self._steps = self._update()(coupling.A(best.params) / T, p, self.graph_, self.lam / T)
        self.image_ids_, self.posteriors_ = corpus.image_ids, p
        self._known = Views(corpus.visual_words, None, corpus.descriptor if self._by_descriptor() else None)
        self._has_rule = self._given is None

    def _run(self, stages: list[lap.Coupling], *args: Any, **settings: Any) -> em.FitResult:
        return lap.fit_stages(*args, stages=stages, **settings)

    def _stages(self, batches: Batches) -> list[lap.Coupling]:
        """Easier problems first: temperatures that halve down to the last, then lam that doubles up to its value."""
        n_hot = max(0, int(np.ceil(np.log2(self.annealing / self.temperature))))
        hot = [self.annealing / 2**i for i in range(n_hot)]
        weak = [self.lam / 2**i for i in range(self.continuation, 0, -1)]
        lams = [weak[0] if weak else self.lam] * n_hot + [*weak, self.lam]
        temperatures = hot + [self.temperature] * (len(weak) + 1)
        return [
            lap.Coupling(
                _FIXED_POSTERIORS, mix_unigram.log_joint, batches, self.graph_, self._update(), lam, T
            )
            for lam, T in zip(lams, temperatures, strict=True)
        ]

    # --- Graph -------------------------------------------------------------------------------------------

    def _rules(self) -> list[tuple[GraphRule, float]]:
        """The rules of the graph with their weights; more than one is a combination."""
        rules = []
        for one in self.graph if isinstance(self.graph, list | tuple) else [self.graph or {}]:
            settings = dict(one)
            weight = float(settings.pop("weight", 1.0))
            try:
                rules.append((GraphRule(**settings), weight))
            except TypeError:
                raise TopictureError(f"{self.name}: graph has an unknown setting: {one!r}") from None
        return rules

    def _by_descriptor(self) -> bool:
        return any(rule.features == "descriptor" for rule, _ in self._rules())

    def _build_graph(self, corpus: Corpus) -> Graph:
        rules = self._rules()
        return combine([rule.graph(Views.of(corpus)) for rule, _ in rules], [weight for _, weight in rules])

    def _links(self, corpus: Corpus) -> sparse.csr_array:
        """Edges from the images of a corpus to the training images, (n, D)."""
        none = sparse.csr_array((len(corpus), len(self.image_ids_)))
        rules = self._rules() if self._has_rule else []
        views = Views(corpus.visual_words, None, corpus.descriptor)
        return sparse.csr_array(sum((w * rule.links(views, self._known) for rule, w in rules), start=none))

    # --- Use ---------------------------------------------------------------------------------------------

    def _annotate(self, corpus: Corpus, *, links: Any = None) -> np.ndarray:
        """`annotate`, with the option `links`.

        An image of the training corpus (same id, same visual words) gets its place in the graph; a new one is joined
        to the graph by the rule that built it, or by `links` (n, D), weights of its edges to `image_ids_`.
        """
        p = self._posterior(corpus, links)
        p_w = p @ mix_unigram.word_means(self.params_)
        return p_w / p_w.sum(axis=1, keepdims=True)

    def transform(self, corpus: Corpus, *, links: Any = None) -> np.ndarray:
        """The regularised p(Z) of every image, (D, K); `links` as for `annotate`: see `_annotate`."""
        self._check_usable(corpus)
        return self._posterior(corpus, links)

    def _posterior(self, corpus: Corpus, links: Any) -> np.ndarray:
        nodes = self._nodes(corpus)
        p = self.posteriors_[nodes]
        new = np.flatnonzero(nodes < 0)
        if len(new):
            images = corpus[new].without_captions()
            edges = self._links(images) if links is None else self._checked(links, corpus)[new]
            A = lap.log_joints(MODEL, mix_unigram.log_joint, self._batches(images), self.params_)
            T = self.temperature
            p[new] = self._update().new_images(A / T, edges, self.posteriors_, self.lam / T, self._steps)
        return p

    def _nodes(self, corpus: Corpus) -> np.ndarray:
        """The node of every image, -1 for a new one. An id alone is not enough: other corpora may use it too."""
        ids = self.image_ids_
        at = np.minimum(np.searchsorted(ids, corpus.image_ids), len(ids) - 1)
        found = np.flatnonzero(ids[at] == corpus.image_ids)
        if not len(found):
            return np.full(len(corpus), -1)
        given, known = sparse.csr_array(corpus.visual_words)[found], self._known.visual[at[found]]
        same = np.asarray(abs(given - known).sum(axis=1)).ravel() == 0
        nodes = np.full(len(corpus), -1)
        nodes[found[same]] = at[found[same]]
        return nodes

    def _checked(self, links: Any, corpus: Corpus) -> sparse.csr_array:
        links, shape = sparse.csr_array(links, dtype=np.float64), (len(corpus), len(self.image_ids_))
        if links.shape != shape:
            raise CorpusError(f"{self.name}: links must have the shape {shape}, not {links.shape}")
        if not (np.isfinite(links.data) & (links.data >= 0)).all():
            raise CorpusError(f"{self.name}: a weight of the links is negative or not a number")
        return links

    def _check_params(self) -> None:
        super()._check_params()
        self._rules()
        self._check_not_negative("lam")
        self._require("gamma", 0 <= self.gamma <= 1, "lie in [0, 1]")
        for name in ("temperature", "annealing"):
            self._require(name, 1 <= getattr(self, name) < np.inf, "be at least 1")
        self._check_whole("continuation", least=0)

    # --- Files -------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, facts = super()._state()
        visual = self._known.visual
        arrays |= {f"visual.{part}": getattr(visual, part) for part in ("data", "indices", "indptr")}
        if self._known.descriptor is not None:
            arrays["descriptor"] = self._known.descriptor
        arrays |= {"posteriors": self.posteriors_, **ids_state(self.image_ids_)}
        facts |= {"steps": self._steps, "has_rule": self._has_rule}
        return arrays, facts

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        super()._restore(arrays, facts)
        self.image_ids_ = ids_from(arrays, facts)
        self.posteriors_ = arrays["posteriors"]
        self._steps, self._has_rule = int(facts["steps"]), bool(facts["has_rule"])
        shape = len(self.image_ids_), self.columns_["visual_words"]
        parts = (arrays["visual.data"], arrays["visual.indices"], arrays["visual.indptr"])
        self._known = Views(sparse.csr_array(parts, shape=shape), None, arrays.get("descriptor"))


ALGORITHMS = ("lap-var1", "lap-var2")


class _NameOfAlgorithm:
    """The registry name follows the algorithm; the class itself goes by the first."""

    def __get__(self, instance: Any, owner: type) -> str:
        return ALGORITHMS[0] if instance is None else instance.algorithm


@dataclass(eq=False, repr=False)
class LapMixUnigram(GraphMixture):
    """Mixture of unigrams whose posteriors vary little between neighbours in a graph of the images.

    Parameters
    ----------
    n_topics : number of mixture components K
    algorithm : "lap-var1" (exact updates, never falls) or "lap-var2" (smoothing steps, the best kept)
    lam : weight of the graph term
    graph : how images are connected: None for the default rule, a dict of settings of graph.GraphRule, or a list of
        such dicts, each with an optional "weight": the sum of those graphs
    schedule, sweeps : of lap-var1: "gs", "jacobi" or "mm", and sweeps an E-step
    gamma, max_smoothing : of lap-var2: size and largest number of the smoothing steps of an E-step
    after_fall : of lap-var2: "stop" at the first fall of the objective, or go on with the "sweeps" of lap-var1
    continuation : number of fits with smaller lam (doubling up to it) that come first
    temperature : weight of the posteriors' entropy in the objective; 1 is the papers', more makes posteriors softer,
        against the overconfidence of a product over many visual words
    annealing : temperature to start from, halving down to `temperature`; 1 switches annealing off
    smoothing, eta_visual, eta_words, eps_weights, start, max_iter, tol, n_init, seed, precision : see MixUnigram
    """

    name = _NameOfAlgorithm()  # type: ignore[assignment]

    _: KW_ONLY
    algorithm: str = "lap-var1"
    lam: float = 0.3
    schedule: str = "jacobi"
    sweeps: int = 1
    max_smoothing: int = 20
    after_fall: str = "stop"
    temperature: float = 1.5
    annealing: float = 4.0

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of either algorithm."""
        header, arrays = read_model(path)
        if header.get("model") not in ALGORITHMS:
            raise ModelFileError(
                f"{path}: holds a {header.get('model')!r} model, not {' or '.join(ALGORITHMS)}"
            )
        return cls.from_state(header, arrays, source=str(path))

    def _update(self) -> lap.Update:
        if self.algorithm == "lap-var1":
            return lap.Sweeps(self.schedule, self.sweeps)
        return lap.Smoothing("best_q", self.gamma, self.max_smoothing)

    def _run(self, stages: list[lap.Coupling], *args: Any, **settings: Any) -> em.FitResult:
        """Stages; a LapVar2 that fell may go on with sweeps, whose objective continues the trace."""
        result = super()._run(stages, *args, **settings)
        if result.reason is not em.Results.fell_as_allowed or self.after_fall == "stop":
            return result
        model, batches, _, prior = args
        couple = replace(stages[-1], update=lap.Sweeps(self.schedule, self.sweeps))
        more = em.fit(
            model,
            batches,
            result.params,
            prior,
            couple=couple,
            posteriors=result.posteriors,
            **settings,
        )
        trace = np.concatenate([result.trace, more.trace])
        return more._replace(trace=trace, n_iter=len(trace) - 1)

    def _check_params(self) -> None:
        super()._check_params()
        self._check_choice("algorithm", ALGORITHMS)
        self._check_choice("schedule", ("gs", "jacobi", "mm"))
        self._check_choice("after_fall", ("stop", "sweeps"))
        self._check_whole("sweeps", "max_smoothing")


def _in_canonical_order(graph: Any, corpus: Corpus) -> Graph:
    """A given graph with its nodes sorted by image id, as the fit sorts the images."""
    graph = graph if isinstance(graph, Graph) else Graph.from_adjacency(graph)
    if graph.n_nodes != len(corpus):
        raise CorpusError(f"graph: it has {graph.n_nodes} nodes, but the corpus has {len(corpus)} images")
    order = np.argsort(corpus.image_ids, kind="stable")
    return Graph(sparse.csr_array(graph.S[order][:, order]))


def _result(result: em.FitResult) -> str:
    if result.rejected is None:
        return result.reason.value
    return f"{result.reason.value} (it fell from {result.objective:.10g} to {result.rejected:.10g})"
