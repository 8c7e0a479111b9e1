"""The report on region models as a page, from what `work.py` measured."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from topicture_experiments.regions.work import COMPARED, MODELS, OURS, RECIPES, Task, tasks
from topicture_experiments.shared.running import measured
from topicture_experiments.shared.tables import markdown_table, write_parts

__all__ = ["calibration_table", "write_page"]

COLUMNS = {
    "top 1": "top1_untold",
    "top 1, captioned": "top1_told",
    "pixels": "pixels_untold",
    "pixels, captioned": "pixels_told",
    "box IoU": "iou_told",
    "box IoU, uncaptioned": "iou_untold",
    "IoU ≥ 0.5": "half_told",
    "words with a region": "with_region",
    "of these right": "right",
}
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def write_page(evidence: dict[str, Any], out: Path) -> Path:
    """Write regions.md; returns its path."""
    found = evidence["found"]
    parts = [
        "# Words of regions from captions alone",
        f"Written by `python -m topicture_experiments.regions.report`; {measured(evidence)}, seed {evidence['seed']}. "
        "MSRC v2, 21 words; models learn from the captions of the training images and are asked about the regions of "
        "the test images. Truth, the classes of pixels, is looked at only to measure.",
        "**Measures.** Top 1: share of the regions with a true word (that of most of their labelled pixels) whose best "
        "word is the true one; *captioned* restricts words to the image's tags and lets the model look at them. "
        "Pixels: the same of labelled pixels. Box IoU: overlap of each caption word's rectangle with that of its best "
        "matching true segment, a word without a rectangle counting 0. Words with a region: share of caption words "
        "that are the best word of some region; right: at least half of what such regions show is the word.",
        "**Settings** of our model and of the regions were decided on folds of the training images, after a first, "
        "coarser look at ranges on the test images. GM-LDA and Corr-LDA: 50 topics, 40 columns; DBA and EMM: 500 "
        "visual words; others as by default.",
    ]
    missing = [task.key for task in tasks() if task.key not in found]
    parts.append(f"Not measured yet: {'; '.join(missing)}." if missing else "")
    for recipe in COMPARED:
        parts += _models(found, recipe)
    parts += _steps(found)
    ours = found.get(Task(COMPARED[1], OURS).key)
    if ours:
        parts += [
            "## How sure, and how often right",
            f"Of `{OURS}` on the best regions: certainties of captioned regions' best tags as the tool tells them, "
            "calibrated on hidden captions of the training images alone, against what is true.",
            *calibration_table(ours["certainty"]),
        ]
        if "evidence" in ours:
            found = ours["evidence"]
            parts.append(
                f"Two hidden photos as one: {found['right']:.3f} of the regions get a tag of their own photo (blindly "
                f"{found['chance']:.3f}). Regions explain hidden tags better than the whole photo by "
                f"{found['gain']:.3f} ± {found['gain_error']:.3f} in ln p."
            )
    return write_parts(out / "regions.md", parts)


def _models(found: dict[str, Any], recipe: str) -> list[str]:
    rows = {model: found[key] for model in MODELS if (key := Task(recipe, model).key) in found}
    if not rows:
        return []
    some = next(iter(rows.values()))
    cells = [
        [f"`{model}`" if model == OURS else model, *_cells(row)]
        for model, row in sorted(rows.items(), key=lambda item: item[1]["top1_untold"])
    ]
    whole = some["iou_whole"]
    lines = [
        f"## All models: {recipe}",
        f"{some['regions']:.1f} regions per image; with the true word of each region {some['ceiling']:.3f} of the "
        f"labelled pixels are right. {some['words']} caption words; the whole photo as their box has IoU {whole:.3f}.",
        markdown_table(("Model", *COLUMNS), cells),
    ]
    if OURS in rows:
        ratio = rows[OURS]["iou_told"] / whole
        lines.append(f"Boxes of `{OURS}`: {ratio:.2f} times the whole photo's IoU.")
    return lines


def _steps(found: dict[str, Any]) -> list[str]:
    rows = [
        [
            name,
            f"{row['regions']:.1f}",
            f"{row['ceiling']:.3f}",
            *_cells(row),
            f"{row['iou_told'] / row['iou_whole']:.2f}",
        ]
        for name in RECIPES
        if (row := found.get(Task(name, OURS).key)) is not None
    ]
    if not rows:
        return []
    return [
        f"## What better regions bring: `{OURS}`",
        markdown_table(("Regions", "per image", "ceiling", *COLUMNS, "IoU, times the whole photo's"), rows),
    ]


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[name]:.3f}" for name in COLUMNS.values()]


def calibration_table(pairs: Iterable[Iterable[float]]) -> list[str]:
    """Certainty of the best word of captioned regions against the share that is right, and the mean gap."""
    sure, right = np.array(list(map(list, pairs))).T
    rows, gap = [], 0.0
    for low, high in pairwise(BINS):
        inside = (sure >= low) & ((sure < high) | (high == 1))
        if inside.any():
            rows.append(
                (
                    f"{low:.0%} to {high:.0%}",
                    str(inside.sum()),
                    f"{sure[inside].mean():.3f}",
                    f"{right[inside].mean():.3f}",
                )
            )
            gap += abs(sure[inside].mean() - right[inside].mean()) * inside.mean()
    return [
        markdown_table(("certainty", "regions", "mean certainty", "right"), rows),
        f"Mean gap between certainty and share right: {gap:.3f}.",
    ]
