"""The experiment of Liu and Tang 2005: maximum normalised score against the number of latent components (Table 1).

Each part is learned from its tagged images and measured on its hidden ones, with the threshold that gives the largest
score (docs/models.md, section 6). LSA by propagation has a ranked list without probabilities: at each threshold it is
cut to the mean number of words, over all parts, that LSA by soft inference predicts there. The table holds means and
standard errors over the parts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from topicture.annotations.measures.metrics import ThresholdSweep, normalised_score_of_lists, threshold_sweep
from topicture.annotations.measures.protocols import Part, with_training_words
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.lsa import LSA
from topicture.models.spaces.nlsa import NLSA
from topicture_experiments.shared.tables import standard_error

__all__ = [
    "BASELINE",
    "COMPONENTS",
    "PRINTED",
    "PUBLISHED",
    "TITLES",
    "Setting",
    "Table",
    "assembled",
    "measure_baselines",
    "measure_reach",
    "measure_spaces",
    "merged",
    "run",
]

COMPONENTS = (20, 40, 60, 80, 100)
# Table 1 of the paper, by the same number of components.
PUBLISHED = {
    "PLSA": (0.445, 0.447, 0.450, 0.448, 0.446),
    "LSA1": (0.490, 0.517, 0.521, 0.536, 0.546),
    "LSA2": (0.493, 0.513, 0.523, 0.535, 0.548),
    "NLSA": (0.535, 0.567, 0.583, 0.602, 0.598),
    "NLSA+IWE": (0.548, 0.583, 0.608, 0.624, 0.615),
}
# A row that the paper lacks: the same words, those most frequent in the tagged images, for every image.
BASELINE = "word frequency"
TITLES = (BASELINE, *PUBLISHED)
# Where the curves of LSA2 and LSA1 are compared; thresholds of different parts have to be the same ones.
THRESHOLDS = np.concatenate([[-np.inf], np.geomspace(1e-5, 1, 400)])

Cell = dict[str, Any]
"""What was measured at one K on one part, as JSON values: {"scores": {title: score}} and what LSA1 needs."""


class Setting(NamedTuple):
    """What the paper fixes, or leaves open.

    Attributes
    ----------
    view : "descriptor" (the paper's colour histograms) or "visual_words"; PLSA always learns from visual words
    n_neighbours : Z of soft inference; 3 as published, or "auto" for the one that a validation chooses
    word_weight : of LSA and NLSA; 1, or "auto"
    nlsa, iwe : further settings of NLSA (such as centre, kernel) and of IWE (n_dims, ridges)
    """

    view: str = "descriptor"
    n_neighbours: int | str = 3
    word_weight: float | str = 1.0
    nlsa: Mapping[str, Any] = MappingProxyType({})
    iwe: Mapping[str, Any] = MappingProxyType({})


PRINTED = Setting()


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
        return {title: standard_error(values) for title, values in self.scores.items()}

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


# --- One part, one number of components -------------------------------------------------------------------------


def measure_baselines(part: Part, n_components: int, *, seed: int = 0) -> Cell:
    """Word frequencies and, where there are visual words, PLSA: what no setting of the latent spaces changes."""
    models = {BASELINE: make_annotator("empirical")}
    if part.tagged.visual_words is not None:
        models["PLSA"] = make_annotator(
            "plsa", n_topics=n_components, n_init=1, precision="float32", seed=seed
        )
    part = with_training_words(part)
    return {"scores": {title: _sweep(model.fit(part.tagged), part).best for title, model in models.items()}}


def measure_spaces(part: Part, n_components: int, setting: Setting = PRINTED, *, seed: int = 0) -> Cell:
    """LSA2, NLSA and NLSA+IWE; of LSA1 its score by the length of the lists, and LSA2's mean number of words."""
    part = with_training_words(part)
    shared: dict[str, Any] = {
        "view": setting.view,
        "n_neighbours": setting.n_neighbours,
        "word_weight": setting.word_weight,
        "seed": seed,
    }
    lsa = LSA(n_components, **shared).fit(part.tagged)
    iwe = IWE(NLSA(n_components, **{**shared, **setting.nlsa}), **{"seed": seed, **setting.iwe}).fit(
        part.tagged
    )
    nlsa = iwe.base_
    soft = _sweep(lsa, part)
    lists = lsa.propagate(part.hidden.without_captions(), part.tagged.n_words)
    by_length = normalised_score_of_lists(lists, part.hidden.captions, np.arange(part.tagged.n_words + 1))
    return {
        "scores": {"LSA2": soft.best, "NLSA": _sweep(nlsa, part).best, "NLSA+IWE": _sweep(iwe, part).best},
        "list_scores": by_length.round(6).tolist(),
        "soft_words": _words_at(soft).round(3).tolist(),
        "chosen": {
            "LSA2": {"Z": lsa.n_neighbours_, "word_weight": lsa.word_weight_},
            "NLSA": {"Z": nlsa.n_neighbours_, "word_weight": nlsa.word_weight_},
            "NLSA+IWE": {"n_dims": iwe.plan_.n_dims, **iwe.plan_.ridge._asdict()},
        },
    }


def measure_reach(
    part: Part, n_components: int, view: str, neighbours: Sequence[int], *, seed: int = 0
) -> Cell:
    """Why the number of neighbours decides what IWE adds to NLSA; P is NLSA's answer, Q that of a map of 2 dimensions.

    For each number: the share of the true words with P > 0, which bounds NLSA's score, and the mean divergences of P
    from Q and from the word frequencies, which tell how much of P the map has a place for.
    """
    part = with_training_words(part)
    questions, truth = part.hidden.without_captions(), part.hidden.captions.toarray() > 0
    base = NLSA(n_components, view=view, word_weight="auto", centre=True, seed=seed)
    rows = []
    for Z in neighbours:
        iwe = IWE(clone(base).set_params(n_neighbours=Z), n_init=1, seed=seed).fit(part.tagged)
        P, frequencies = iwe.base_.annotate(questions), np.exp(iwe.log_q_)
        rows.append(
            {
                "Z": Z,
                "reached": float((P > 0)[truth].mean()),
                "from_map": float(_divergence(P, iwe.annotate(questions)).mean()),
                "from_frequencies": float(_divergence(P, frequencies).mean()),
            }
        )
    return {"scores": {}, "reach": rows}


def _divergence(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """KL(P || Q) of every row, in nats, (D,)."""
    return np.where(P > 0, P * (np.log(np.where(P > 0, P, 1.0)) - np.log(Q)), 0.0).sum(axis=1)


def _sweep(model: Annotator, part: Part) -> ThresholdSweep:
    return threshold_sweep(model.annotate(part.hidden.without_captions()), part.hidden.captions)


def _words_at(sweep: ThresholdSweep) -> np.ndarray:
    """Mean number of predicted words at each of THRESHOLDS."""
    # A threshold between two scores predicts as the lower of them does.
    return sweep.n_words[np.searchsorted(sweep.thresholds, THRESHOLDS, side="right") - 1]


# --- The table --------------------------------------------------------------------------------------------------


def assembled(cells: Mapping[tuple[str, int], Cell]) -> Table:
    """The table of cells (part, K), which are those of all parts at all K; LSA1's lists are cut here."""
    parts = tuple(dict.fromkeys(part for part, _ in cells))
    components = tuple(dict.fromkeys(K for _, K in cells))
    titles = [
        title for title in TITLES if title == "LSA1" or title in cells[parts[0], components[0]]["scores"]
    ]
    scores = {title: np.zeros((len(parts), len(components))) for title in titles}
    for k, K in enumerate(components):
        column = [cells[part, K] for part in parts]
        n_words = np.floor(np.mean([cell["soft_words"] for cell in column], axis=0) + 0.5).astype(int)
        for p, cell in enumerate(column):
            by_length = np.array(cell["list_scores"])
            scores["LSA1"][p, k] = by_length[np.minimum(n_words, len(by_length) - 1)].max()
            for title, score in cell["scores"].items():
                scores[title][p, k] = score
    return Table(components, parts, scores)


def run(
    parts: Iterable[Part],
    setting: Setting = PRINTED,
    *,
    components: Sequence[int] = COMPONENTS,
    seed: int = 0,
    on_cell: Callable[[str, int, Cell], None] | None = None,
) -> Table:
    """The table for some divisions of the data, one cell after the other.

    Parameters
    ----------
    parts : iterable of Part
        The vocabulary of each is cut to the words of its tagged images.
    setting : of the latent spaces
    components : numbers of latent components K (topics, for PLSA)
    seed : of all draws
    on_cell : told part, K and what was measured as it comes
    """
    cells: dict[tuple[str, int], Cell] = {}
    for part in parts:
        for K in components:
            cell = merged(measure_baselines(part, K, seed=seed), measure_spaces(part, K, setting, seed=seed))
            cells[part.name, K] = cell
            if on_cell is not None:
                on_cell(part.name, K, cell)
    return assembled(cells)


def merged(baselines: Cell, spaces: Cell) -> Cell:
    """One cell with the scores of both."""
    return {**spaces, "scores": {**baselines["scores"], **spaces["scores"]}}
