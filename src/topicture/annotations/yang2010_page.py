"""The report on Yang et al. 2010 as a page with figures, from what `yang2010_report` measured."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.figure_style import legend, line_looks, panels, save_figure
from topicture.annotations.yang2010_run import COMPARED, KS, REGION_KS, VARIANTS
from topicture.annotations.yang2010_text import EQUATIONS, HEAD, REASONS, TITLES

__all__ = ["claims", "write_figures", "write_page"]

CLASSIFIERS = ("emm-margin", "emm-ml", "dba")
TOP = 4  # position of k = 5


# --- Numbers ----------------------------------------------------------------------------------------------------


class Evidence(NamedTuple):
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


def _evidence(evidence: dict[str, Any]) -> Evidence:
    found: dict[tuple[str, str, int, float], dict[int, dict[str, Any]]] = {}
    for key, result in evidence["found"].items():
        data, model, fold, n_words, share = key.split("|")
        found.setdefault((data, model, int(n_words), float(share)), {})[int(fold)] = result
    return Evidence(evidence["problems"], found)


def _mean(values: np.ndarray, index: int = TOP) -> float:
    return float(values[:, index].mean()) if len(values) else math.nan


def _error(values: np.ndarray) -> np.ndarray:
    """Standard error over folds (axis 0); NaN for fewer than two."""
    n = len(values)
    return values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(values.shape[1:], math.nan)


def _with_error(values: np.ndarray, signed: bool = False) -> str:
    """mean ± standard error of one value a fold."""
    if len(values) == 0:
        return "not measured"
    mean = f"{values.mean():{'+' if signed else ''}.3f}"
    return mean if len(values) < 2 else f"{mean} ± {float(_error(values)):.3f}"


# --- Claims -----------------------------------------------------------------------------------------------------


def claims(evidence: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The paper's findings, what was found here, and whether that agrees."""
    seen = _evidence(evidence)
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
        _zeros(seen, sets),
    ]


def _order(
    seen: Evidence,
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
            + ", ".join(f"{data} {_with_error(values, signed=True)}" for data, values in gaps.items())
        )
        held += [bool(values.mean() > 0) and _clear(values) for values in gaps.values() if len(values)]
    return claim, "; ".join(lines), _verdict(held)


def _clear(values: np.ndarray) -> bool:
    """Whether the mean is more than two standard errors from 0 (with one fold: any difference)."""
    return len(values) < 2 or bool(abs(values.mean()) > 2 * float(_error(values)))


def _best_at_every_k(seen: Evidence, sets: Sequence[str]) -> tuple[str, str, str]:
    lines, held = [], []
    for data in sets:
        curves = {model: seen.folds(data, model, "f1") for model in COMPARED}
        if any(len(curve) == 0 for curve in curves.values()):
            continue
        means = {model: curve.mean(axis=0) for model, curve in curves.items()}
        best = [max(means, key=lambda model: means[model][i]) == "emm-margin" for i in range(len(KS))]
        lines.append(f"{data}: at {sum(best)} of {len(KS)} k")
        held.append(all(best))
    return "EMM_d is best for every k up to 40", "; ".join(lines), _verdict(held)


def _stable(seen: Evidence, axis: str, claim: str) -> tuple[str, str, str]:
    """Compared by what is left of the top-5 accuracy at the hard end of the curve."""
    lines, held = [], []
    for data in seen.swept:
        points = seen.points(data, axis)
        easy, hard = (points[0], points[-1]) if axis == "tags" else (points[-1], points[0])
        kept = {}
        for model in ("emm-margin", "dba"):
            ends = [_mean(seen.folds(data, model, "f1", point)) for point in (easy, hard)]
            kept[model] = ends[1] / ends[0] if ends[0] > 0 else math.nan
        ends_in_words = f"{easy[0]} to {hard[0]} tags" if axis == "tags" else f"{hard[1]:.0%} of the images"
        lines.append(
            f"{data}, {ends_in_words}: {kept['dba']:.0%} of its accuracy left to dba, "
            f"{kept['emm-margin']:.0%} to emm-margin"
        )
        held.append(kept["emm-margin"] > kept["dba"] + 0.05)
    return claim, "; ".join(lines), _verdict(held)


def _zeros(seen: Evidence, sets: Sequence[str]) -> tuple[str, str, str]:
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


def _verdict(held: Sequence[bool]) -> str:
    if not held:
        return "not measured"
    return "holds" if all(held) else "holds partly" if any(held) else "does not hold"


# --- Page -------------------------------------------------------------------------------------------------------


def write_page(evidence: dict[str, Any], folder: Path) -> Path:
    """Write yang2010.md."""
    seen = _evidence(evidence)
    done = f"{len(evidence['found'])} of {evidence.get('n_jobs', 0)} fits"
    parts = [
        "# Hybrid generative/discriminative annotation (Yang, Bian and Zha, AISTATS 2010): our figures",
        "Written by `python -m topicture.annotations.yang2010_report`; measured on "
        f"{evidence['date']}, {done}. Means ± standard errors over the folds of one five-fold cross-validation.",
        HEAD,
        _table(
            (
                "Problem",
                "Images",
                "Tags",
                "Tags an image",
                "Regions",
                "Visual words",
                "Tokens a region",
                "Features",
            ),
            [
                (
                    data,
                    str(f["images"]),
                    str(f["words"]),
                    f"{f['words_per_image']:.1f}",
                    str(f["regions"]),
                    str(f["visual_words"]),
                    f"{f['tokens_per_region']:.0f}",
                    str(f["features"]),
                )
                for data, f in seen.problems.items()
            ],
        ),
        "## The paper's findings",
        "A difference counts where its mean over the folds is more than two standard errors from 0.",
        _table(("Finding", "Here", "Verdict"), claims(evidence)),
        REASONS,
        "## Top-k accuracy of images (Figure 2, left)",
        "Micro-averaged F1 of the k best words.",
        _image_table(seen),
        "![Top-k accuracy of images](yang2010-images.png)",
        "## Against the number of tags and of training images (Figure 2, middle and right)",
        *(_sweep_table(seen, data, axis) for data in seen.swept for axis in ("tags", "images")),
        "![Top-5 accuracy against the number of tags](yang2010-tags.png)",
        "![Top-5 accuracy against the number of training images](yang2010-training.png)",
        "## Regions (Figure 3)",
        "Share of the regions with a true word whose word is among their k best.",
        _region_table(seen),
        "![Top-k accuracy of regions](yang2010-regions.png)",
        "## What the corrections and the settings change",
        _variant_table(seen),
        EQUATIONS,
    ]
    path = folder / "yang2010.md"
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path


def _image_table(seen: Evidence) -> str:
    ks = (1, 2, 5, 10, 20, 40)
    lines = []
    for data in seen.problems:
        for model in COMPARED:
            curve = seen.folds(data, model, "f1")
            cells = [_with_error(curve[:, k - 1]) if len(curve) else "not measured" for k in ks]
            lines.append((data, model, *cells))
    return _table(("Problem", "Model", *(f"k = {k}" for k in ks)), lines)


def _sweep_table(seen: Evidence, data: str, axis: str) -> str:
    points = seen.points(data, axis)
    heading = [f"{p[0]} tags" if axis == "tags" else f"{p[1]:.0%} of the images" for p in points]
    lines = []
    for model in COMPARED:
        curves = [seen.folds(data, model, "f1", point) for point in points]
        lines.append((model, *(_with_error(c[:, TOP]) if len(c) else "not measured" for c in curves)))
    return f"Top 5, {data}:\n\n" + _table(("Model", *heading), lines)


def _region_table(seen: Evidence) -> str:
    ks = (1, 2, 3, 5, 10)
    lines = []
    for data in seen.with_truth:
        for measure, told in (("regions_captioned", "yes"), ("regions", "no")):
            for model in COMPARED:
                curve = seen.folds(data, model, measure)
                cells = [_with_error(curve[:, k - 1]) if len(curve) else "not measured" for k in ks]
                lines.append((data, told, model, *cells))
    return _table(("Problem", "Captioned", "Model", *(f"k = {k}" for k in ks)), lines)


def _variant_table(seen: Evidence) -> str:
    rows = []
    for model in (*CLASSIFIERS, *VARIANTS, "word frequency"):
        curves = [seen.folds(data, model, "f1") for data in seen.problems]
        if any(len(curve) for curve in curves):
            cells = [_with_error(c[:, TOP]) if len(c) else "not measured" for c in curves]
            rows.append((model, *cells))
    return _table(("Top 5", *seen.problems), rows)


def _table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [heading, ["---"] * len(heading), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# --- Figures ----------------------------------------------------------------------------------------------------


def write_figures(evidence: dict[str, Any], folder: Path) -> None:
    """Write the four figures beside the page."""
    seen = _evidence(evidence)
    images = {
        TITLES[data]: (KS, {model: seen.folds(data, model, "f1") for model in COMPARED})
        for data in seen.problems
    }
    _draw(images, "k", "top-k accuracy (F1)", folder / "yang2010-images.png", columns=2)
    for axis, name, label in (("tags", "tags", "number of tags"), ("images", "training", "training images")):
        swept = {}
        for data in seen.swept:
            points = seen.points(data, axis)
            x = [n if axis == "tags" else s * 0.8 * seen.problems[data]["images"] for n, s in points]
            swept[TITLES[data]] = (x, {model: _top_5(seen, data, model, points) for model in COMPARED})
        _draw(swept, label, "top-5 accuracy (F1)", folder / f"yang2010-{name}.png")
    regions = {
        f"{TITLES[data]}, {'with' if measure != 'regions' else 'no'} caption": (
            REGION_KS,
            {model: seen.folds(data, model, measure) for model in COMPARED},
        )
        for data in seen.with_truth
        for measure in ("regions_captioned", "regions")
    }
    _draw(regions, "k", "top-k accuracy of regions", folder / "yang2010-regions.png", columns=2)


def _top_5(seen: Evidence, data: str, model: str, points: Sequence[tuple[int, float]]) -> np.ndarray:
    """(folds, points), only folds that have all of them."""
    curves = [seen.folds(data, model, "f1", point) for point in points]
    n = min((len(curve) for curve in curves), default=0)
    return np.stack([curve[:n, TOP] for curve in curves], axis=1) if n else np.zeros((0, len(points)))


def _draw(
    groups: Mapping[str, tuple[Sequence[float], Mapping[str, np.ndarray]]],
    x_label: str,
    y_label: str,
    path: Path,
    columns: int = 3,
) -> None:
    """A panel a group: mean of each model's curve over the folds, with standard errors."""
    if not groups:
        return
    figure, axes = panels(list(groups), (4.2, 3.0), columns=columns)
    looks = line_looks(COMPARED)
    for panel, (x, curves) in zip(axes, groups.values(), strict=True):
        every = max(1, len(x) // 8)
        for model, values in curves.items():
            if len(values):
                bars = _error(values) if len(values) > 1 else None
                panel.errorbar(
                    x,
                    values.mean(axis=0),
                    bars,
                    label=model,
                    capsize=2,
                    elinewidth=0.9,
                    markevery=every,
                    errorevery=every,
                    **looks[model],
                )
        panel.set_xlabel(x_label)
        panel.set_ylabel(y_label)
        panel.set_ylim(bottom=0)
    legend(figure, axes)
    save_figure(figure, path)
