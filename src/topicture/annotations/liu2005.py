"""The experiment of Liu and Tang 2005: maximum normalised score against the number of latent components (Table 1).

Each part is learned from its tagged images and measured on its hidden ones, with the threshold that gives the largest
score (MODELS.md section 6). LSA by propagation has a ranked list without probabilities: at each threshold it is cut to
the mean number of words, over all parts, that LSA by soft inference predicts there. The table holds means and standard
errors over the parts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.metrics import normalised_score_of_lists, threshold_sweep
from topicture.annotations.protocols import Part, with_training_words
from topicture.models.base import Annotator
from topicture.models.iwe import IWE
from topicture.models.lsa import LSA
from topicture.models.nlsa import NLSA
from topicture.models.registry import make_annotator, model_names

__all__ = ["COMPONENTS", "PUBLISHED", "Table", "run"]

COMPONENTS = (20, 40, 60, 80, 100)
# Table 1 of the paper, by the same number of components.
PUBLISHED = {
    "PLSA": (0.445, 0.447, 0.450, 0.448, 0.446),
    "LSA1": (0.490, 0.517, 0.521, 0.536, 0.546),
    "LSA2": (0.493, 0.513, 0.523, 0.535, 0.548),
    "NLSA": (0.535, 0.567, 0.583, 0.602, 0.598),
    "NLSA+IWE": (0.548, 0.583, 0.608, 0.624, 0.615),
}
# Where the curves of LSA2 and LSA1 are compared; thresholds of different parts have to be the same ones.
THRESHOLDS = np.concatenate([[-np.inf], np.geomspace(1e-5, 1, 400)])


class Table(NamedTuple):
    """Maximum normalised scores: title -> (parts, components)."""

    components: tuple[int, ...]
    parts: tuple[str, ...]
    scores: dict[str, np.ndarray]

    def mean(self) -> dict[str, np.ndarray]:
        """Mean over the parts, (components,)."""
        return {title: values.mean(axis=0) for title, values in self.scores.items()}

    def standard_error(self) -> dict[str, np.ndarray]:
        """Standard error of the mean; NaN for a single part."""
        n = len(self.parts)
        unknown = np.full(len(self.components), np.nan)
        return {
            title: values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else unknown
            for title, values in self.scores.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "components": list(self.components),
            "parts": list(self.parts),
            "scores": {title: values.tolist() for title, values in self.scores.items()},
        }

    def __str__(self) -> str:
        means, errors = self.mean(), self.standard_error()
        lines = [f"{'K':12}" + "".join(f"{k:>15}" for k in self.components)]
        for title in self.scores:
            cells = [
                f"{mean:.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")
                for mean, error in zip(means[title], errors[title], strict=True)
            ]
            lines.append(f"{title:12}" + "".join(cell.rjust(15) for cell in cells))
        return "\n".join(lines)


def run(
    parts: Iterable[Part],
    *,
    components: Sequence[int] = COMPONENTS,
    view: str = "descriptor",
    n_neighbours: int | str = 3,
    word_weight: float | str = 1.0,
    nlsa_params: Mapping[str, Any] | None = None,
    iwe_params: Mapping[str, Any] | None = None,
    baseline: bool = True,
    seed: int = 0,
    on_score: Callable[[str, str, int, float], None] | None = None,
) -> Table:
    """The table for some divisions of the data.

    Parameters
    ----------
    parts : iterable of Part
        The vocabulary of each is cut to the words of its tagged images.
    components : numbers of latent components K (topics, for PLSA)
    view : "descriptor" (the paper's colour histograms) or "visual_words"; PLSA always learns from visual words
    n_neighbours : Z of soft inference; 3 as published, or "auto" for the one that a validation chooses
    word_weight : of LSA and NLSA; 1 as published, or "auto"
    nlsa_params, iwe_params : further settings of NLSA (such as centre, kernel) and of IWE (n_dims, ridges)
    baseline : whether to add a row that the paper lacks: word frequencies alone
    seed : of all draws
    on_score : told part, title, K and score as they come (not those of LSA1, which needs all parts)
    """
    divisions = [with_training_words(part) for part in parts]
    shared: dict[str, Any] = {
        "view": view,
        "n_neighbours": n_neighbours,
        "word_weight": word_weight,
        "seed": seed,
    }
    makers: dict[str, Callable[[int], Annotator]] = {}
    if baseline:
        makers["word frequency"] = lambda K: make_annotator("empirical")
    if _has_plsa(divisions):
        makers["PLSA"] = lambda K: make_annotator("plsa", n_topics=K, seed=seed)
    titles = (*makers, "LSA1", "LSA2", "NLSA", "NLSA+IWE")
    makers["LSA2"] = lambda K: LSA(K, **shared)
    makers["NLSA"] = lambda K: NLSA(K, **{**shared, **(nlsa_params or {})})
    makers["NLSA+IWE"] = lambda K: IWE(makers["NLSA"](K), **{"seed": seed, **(iwe_params or {})})

    scores = {title: np.zeros((len(divisions), len(components))) for title in titles}
    for k, K in enumerate(components):
        walks = []
        for p, part in enumerate(divisions):
            questions, truth = part.hidden.without_captions(), part.hidden.captions
            for title, make in makers.items():
                model = make(K).fit(part.tagged)
                sweep = threshold_sweep(model.annotate(questions), truth)
                scores[title][p, k] = sweep.best
                if isinstance(model, LSA):
                    lists = model.propagate(questions, part.tagged.n_words)
                    walks.append((lists, truth, _words_at(sweep)))
                if on_score is not None:
                    on_score(part.name, title, K, sweep.best)
        n_words = np.mean([words for _, _, words in walks], axis=0)
        scores["LSA1"][:, k] = [
            normalised_score_of_lists(lists, truth, n_words).max() for lists, truth, _ in walks
        ]
    return Table(tuple(components), tuple(part.name for part in divisions), scores)


def _has_plsa(parts: Sequence[Part]) -> bool:
    return "plsa" in model_names() and all(part.tagged.visual_words is not None for part in parts)


def _words_at(sweep: Any) -> np.ndarray:
    """Mean number of predicted words at each of THRESHOLDS."""
    # A threshold between two scores predicts as the lower of them does.
    return sweep.n_words[np.searchsorted(sweep.thresholds, THRESHOLDS, side="right") - 1]
