"""What became of the findings of Yang et al. 2010, judged by what `report.py` measured."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topicture_experiments.shared.tables import standard_error, verdict, with_error
from topicture_experiments.yang2010.run import COMPARED, KS

__all__ = ["CLASSIFIERS", "TOP", "Measured", "claims", "read_measured"]

CLASSIFIERS = ("emm-margin", "emm-ml", "dba")
TOP = 4  # position of k = 5


# --- Numbers ----------------------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """What was measured, by problem, model, number of tags, share of the training images and fold."""

    problems: dict[str, Any]
    found: dict[tuple[str, str, int, float], dict[int, dict[str, Any]]]

    def folds(
        self, data: str, model: str, measure: str, point: tuple[int, float] | None = None
    ) -> np.ndarray:
        """Curves of the measure, (folds, points of the curve), in the order of the folds."""
        by_fold = self.found.get((data, model, *(point or (self.problems[data]["words"], 1.0))), {})
        return np.array([by_fold[fold][measure] for fold in sorted(by_fold) if measure in by_fold[fold]])

    def difference(self, data: str, a: str, b: str, measure: str, index: int) -> np.ndarray:
        """a - b at one point of the measure, one value for every fold that both have."""
        point = (self.problems[data]["words"], 1.0)
        ours, theirs = (self.found.get((data, model, *point), {}) for model in (a, b))
        shared = sorted(set(ours) & set(theirs))
        return np.array([ours[f][measure][index] - theirs[f][measure][index] for f in shared])

    def points(self, data: str, axis: str) -> list[tuple[int, float]]:
        """(tags, share) of the curve over "tags" or "images", smallest first."""
        V = self.problems[data]["words"]
        known = {(n, s) for d, _, n, s in self.found if d == data}
        return sorted(p for p in known if (p[1] == 1.0 if axis == "tags" else p[0] == V))

    @property
    def swept(self) -> list[str]:
        return [d for d in self.problems if len(self.points(d, "tags")) > 1]

    @property
    def with_truth(self) -> list[str]:
        return [d for d, facts in self.problems.items() if facts["known_regions"] is not None]


def read_measured(evidence: dict[str, Any]) -> Measured:
    found: dict[tuple[str, str, int, float], dict[int, dict[str, Any]]] = {}
    for key, result in evidence["found"].items():
        data, model, fold, n_words, share = key.split("|")
        found.setdefault((data, model, int(n_words), float(share)), {})[int(fold)] = result
    return Measured(evidence["problems"], found)


def _mean(values: np.ndarray, index: int = TOP) -> float:
    return float(values[:, index].mean()) if len(values) else math.nan


# --- Claims -----------------------------------------------------------------------------------------------------


def claims(evidence: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The paper's findings, what was found here, and whether that agrees."""
    seen = read_measured(evidence)
    sets, truth = list(seen.problems), seen.with_truth
    return [
        _order(seen, "Top-5 of images: EMM_d above EMM_m", sets, [("emm-margin", "emm-ml")]),
        _order(seen, "Top-5 of images: EMM_m above DBA", sets, [("emm-ml", "dba")]),
        _order(
            seen,
            "Top-5 of images: the classifiers above Corr-LDA",
            sets,
            [(model, "corr-lda") for model in CLASSIFIERS],
        ),
        _best_at_every_k(seen, sets),
        _stable(seen, "tags", "With more tags DBA falls off while EMM_d is stable"),
        _stable(seen, "images", "With fewer training images DBA falls off while EMM_d is stable"),
        _order(
            seen,
            "Regions of captioned images: EMM_d best (top 1)",
            truth,
            [("emm-margin", model) for model in ("emm-ml", "dba", "corr-lda")],
            "regions_captioned",
            0,
        ),
        _order(
            seen,
            "Regions of images without captions: EMM_d best at the head (top 1)",
            truth,
            [("emm-margin", model) for model in ("emm-ml", "dba", "corr-lda")],
            "regions",
            0,
        ),
        *(
            _order(
                seen,
                f"Regions of images {told} captions: the classifiers above Corr-LDA (top 1)",
                truth,
                [(model, "corr-lda") for model in CLASSIFIERS],
                measure,
                0,
            )
            for measure, told in (("regions_captioned", "with"), ("regions", "without"))
        ),
        _zeros(seen, sets),
    ]


def _order(
    seen: Measured,
    claim: str,
    sets: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    measure: str = "f1",
    index: int = TOP,
) -> tuple[str, str, str]:
    """Whether the first of every pair is above the second, judged by paired differences over the folds."""
    lines, held = [], []
    for a, b in pairs:
        gaps = {data: seen.difference(data, a, b, measure, index) for data in sets}
        lines.append(
            f"{a} - {b}: "
            + ", ".join(f"{data} {with_error(values, sign='+')}" for data, values in gaps.items())
        )
        held += [bool(values.mean() > 0) and _clear(values) for values in gaps.values() if len(values)]
    seen_on = sum(any(len(seen.difference(data, *pair, measure, index)) for pair in pairs) for data in sets)
    return claim, "; ".join(lines), _verdict(held, seen_on, len(sets))


def _clear(values: np.ndarray) -> bool:
    """Whether the mean is more than two standard errors from 0 (with one fold: any difference)."""
    return len(values) < 2 or bool(abs(values.mean()) > 2 * float(standard_error(values)))


def _best_at_every_k(seen: Measured, sets: Sequence[str]) -> tuple[str, str, str]:
    lines, held = [], []
    for data in sets:
        curves = {model: seen.folds(data, model, "f1") for model in COMPARED}
        if any(len(curve) == 0 for curve in curves.values()):
            continue
        means = {model: curve.mean(axis=0) for model, curve in curves.items()}
        n = min(len(KS), seen.problems[data]["words"] - 1)  # beyond that all words are predicted
        best = [max(means, key=lambda model: means[model][i]) == "emm-margin" for i in range(n)]
        lines.append(f"{data}: at {sum(best)} of {n} k")
        held.append(all(best))
    return "EMM_d is best for every k up to 40", "; ".join(lines), _verdict(held, len(held), len(sets))


def _stable(seen: Measured, axis: str, claim: str) -> tuple[str, str, str]:
    """Compared by what is left of the top-5 accuracy at the hard end of the curve."""
    lines, held = [], []
    for data in seen.swept:
        points = [
            point
            for point in seen.points(data, axis)
            if all(len(seen.folds(data, model, "f1", point)) for model in ("emm-margin", "dba"))
        ]
        if len(points) < 2:
            continue
        easy, hard = (points[0], points[-1]) if axis == "tags" else (points[-1], points[0])
        kept = {}
        for model in ("emm-margin", "dba"):
            ends = [_mean(seen.folds(data, model, "f1", point)) for point in (easy, hard)]
            kept[model] = ends[1] / ends[0] if ends[0] > 0 else math.nan
        ends_in_words = f"{easy[0]} to {hard[0]} tags" if axis == "tags" else f"{hard[1]:.0%} of the images"
        lines.append(
            f"{data}, {ends_in_words}: dba keeps {kept['dba']:.0%} of its accuracy, "
            f"emm-margin {kept['emm-margin']:.0%}"
        )
        held.append(kept["emm-margin"] > kept["dba"] + 0.05)
    return claim, "; ".join(lines), _verdict(held, len(held), len(seen.problems))


def _zeros(seen: Measured, sets: Sequence[str]) -> tuple[str, str, str]:
    shares = []
    for data in sets:
        results = seen.found.get((data, "emm-ml", seen.problems[data]["words"], 1.0), {})
        shares += [result["zeros"] for result in results.values()]
    text = f"{np.mean(shares):.2%} of emm-ml's scores are exactly 0" if shares else "not measured"
    return (
        "The exponential prior gives exact zeros",
        text + " (underflow apart, none can be: the estimate is proportional to a softmax)",
        _verdict([float(np.mean(shares)) > 0.5] if shares else []),
    )


def _verdict(held: Sequence[bool], n_measured: int = 1, n_problems: int = 1) -> str:
    """In words, and on how many of the problems where that is not on all of them."""
    if not held:
        return "not measured"
    where = "" if n_measured == n_problems else f" ({n_measured} of {n_problems} problems measured)"
    return verdict(held) + where
