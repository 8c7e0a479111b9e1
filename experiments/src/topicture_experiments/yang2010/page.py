"""The report on Yang et al. 2010 as a page with figures, from what `report.py` measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicture.annotations.figures.style import legend, line_looks, panels, save_figure
from topicture_experiments.shared.running import measured
from topicture_experiments.shared.tables import markdown_table, standard_error, with_error, write_parts
from topicture_experiments.yang2010.claims import (
    CLASSIFIERS,
    TOP,
    Measured,
    claims,
    read_measured,
)
from topicture_experiments.yang2010.run import COMPARED, KS, REGION_KS, VARIANTS
from topicture_experiments.yang2010.settings import FAILING, Tried, ranked
from topicture_experiments.yang2010.text import EQUATIONS, HEAD, REASONS, TITLES

__all__ = ["write_figures", "write_page"]


# --- Page -------------------------------------------------------------------------------------------------------


def write_page(evidence: dict[str, Any], folder: Path) -> Path:
    """Write yang2010.md."""
    seen = read_measured(evidence)
    done = f"{len(evidence['found'])} of {evidence.get('n_jobs', 0)} fits"
    parts = [
        "# Hybrid generative/discriminative learning for automatic image annotation (Yang, Bian and Zha, 2010): "
        "our figures",
        f"Written by `python -m topicture_experiments.yang2010.report`; {measured(evidence)}, {done}. "
        "Means ± standard errors over the folds that were measured of one five-fold cross-validation; differences are "
        "taken over the folds that both models have.",
        HEAD,
        *evidence.get("notes", []),
        markdown_table(
            (
                "Problem",
                "Images",
                "Tags",
                "Tags per image",
                "Regions",
                "Visual words",
                "Tokens per region",
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
        "A difference counts if its mean over the folds is more than two standard errors from 0; with a single fold "
        "(no ±) any difference counts.",
        markdown_table(("Finding", "Here", "Verdict"), claims(evidence)),
        REASONS,
        "## Top-k accuracy of images (Figure 2, left)",
        "Micro-averaged F1 of the k best words.",
        _image_table(seen),
        "![Top-k accuracy of images](yang2010-images.png)",
        "## Against the number of tags and of training images (Figure 2, middle and right)",
        *(_sweep_table(seen, data, axis) for data in seen.swept for axis in ("tags", "images")),
        "![Top-5 accuracy against the number of tags](yang2010-tags.png)" if seen.swept else "Not measured.",
        "![Top-5 accuracy against the number of training images](yang2010-training.png)"
        if seen.swept
        else "",
        "## Regions (Figure 3)",
        "Share of the regions with a known true word that have it among their k best.",
        _region_table(seen),
        "![Top-k accuracy of regions](yang2010-regions.png)",
        "## What the corrections and the settings change",
        _variant_table(seen),
        _settings_table(folder / "yang2010-settings.json"),
        EQUATIONS,
    ]
    return write_parts(folder / "yang2010.md", parts)


def _image_table(seen: Measured) -> str:
    ks = (1, 2, 5, 10, 20, 40)
    lines = []
    for data in seen.problems:
        for model in COMPARED:
            curve = seen.folds(data, model, "f1")
            cells = [with_error(curve[:, k - 1]) if len(curve) else "not measured" for k in ks]
            lines.append((data, model, str(len(curve)), *cells))
    return markdown_table(("Problem", "Model", "Folds", *(f"k = {k}" for k in ks)), lines)


def _sweep_table(seen: Measured, data: str, axis: str) -> str:
    points = seen.points(data, axis)
    heading = [f"{p[0]} tags" if axis == "tags" else f"{p[1]:.0%} of the images" for p in points]
    lines = []
    for model in COMPARED:
        curves = [seen.folds(data, model, "f1", point) for point in points]
        lines.append((model, *(with_error(c[:, TOP]) if len(c) else "not measured" for c in curves)))
    return f"Top 5, {data}:\n\n" + markdown_table(("Model", *heading), lines)


def _region_table(seen: Measured) -> str:
    ks = (1, 2, 3, 5, 10)
    lines = []
    for data in seen.with_truth:
        for measure, told in (("regions_captioned", "yes"), ("regions", "no")):
            for model in COMPARED:
                curve = seen.folds(data, model, measure)
                cells = [with_error(curve[:, k - 1]) if len(curve) else "not measured" for k in ks]
                lines.append((data, told, model, *cells))
    return markdown_table(("Problem", "Captioned", "Model", *(f"k = {k}" for k in ks)), lines)


def _variant_table(seen: Measured) -> str:
    rows = []
    for model in (*CLASSIFIERS, *VARIANTS, "word frequency"):
        curves = [seen.folds(data, model, "f1") for data in seen.problems]
        if any(len(curve) for curve in curves):
            cells = [with_error(c[:, TOP]) if len(c) else "not measured" for c in curves]
            rows.append((model, *cells))
    return markdown_table(("Top 5", *seen.problems), rows)


def _settings_table(path: Path) -> str:
    """How the defaults were chosen, if that was measured."""
    if not path.exists():
        return ""
    tried = [Tried(*row) for row in json.loads(path.read_text(encoding="utf-8"))]
    rows = ranked(tried)
    if not rows:
        return ""
    problems = list(rows[0][2])
    lines = [
        (
            model,
            _named(params),
            *(f"{f1[problem]:.3f}" for problem in problems),
            f"{ratio:.2f}",
        )
        for model, params, f1, ratio in rows
    ]
    mends = [
        (row.model, _named(row.params) or "defaults", f"{row.f1:.3f}")
        for row in tried
        if row.problem == FAILING and row.fold == 0
    ]
    return (
        "## How the defaults were chosen\n\nTop-5 accuracy on hidden thirds of the training images, measured by "
        "`python -m topicture_experiments.yang2010.settings`. The last column, the mean ratio to word frequency, "
        "decides.\n\n"
        + markdown_table(("Model", "Settings", *problems, "Ratio"), lines)
        + "\n\nWhere EMM_d fails (SIFT bags of Corel), by the same command, with a third of the first fold's training "
        "images hidden:\n\n" + markdown_table(("Model", "Settings", "Top 5"), mends)
    )


def _named(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in params.items())


# --- Figures ----------------------------------------------------------------------------------------------------


def write_figures(evidence: dict[str, Any], folder: Path) -> None:
    """Write the four figures beside the page."""
    seen = read_measured(evidence)
    images = {
        TITLES[data]: (KS, {model: seen.folds(data, model, "f1") for model in COMPARED})
        for data in seen.problems
    }
    _draw(images, "k", "top-k accuracy (F1)", folder / "yang2010-images.png")
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
    _draw(regions, "k", "top-k accuracy of regions", folder / "yang2010-regions.png")


def _top_5(seen: Measured, data: str, model: str, points: Sequence[tuple[int, float]]) -> np.ndarray:
    """(folds, points), only folds that have all of them."""
    curves = [seen.folds(data, model, "f1", point) for point in points]
    n = min((len(curve) for curve in curves), default=0)
    return np.stack([curve[:n, TOP] for curve in curves], axis=1) if n else np.zeros((0, len(points)))


def _draw(
    groups: Mapping[str, tuple[Sequence[float], Mapping[str, np.ndarray]]],
    x_label: str,
    y_label: str,
    path: Path,
) -> None:
    """A panel for each group: mean of each model's curve over the folds, with standard errors."""
    if not groups:
        return
    figure, axes = panels(list(groups), (4.2, 3.0), columns=2)
    looks = line_looks(COMPARED)
    for panel, (x, curves) in zip(axes, groups.values(), strict=True):
        every = max(1, len(x) // 8)
        for model, values in curves.items():
            if len(values):
                bars = standard_error(values) if len(values) > 1 else None
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
