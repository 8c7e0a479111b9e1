"""The report on `auto` as a page, from what `work.py` measured."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicture_experiments.auto.work import PARTS
from topicture_experiments.shared.ranking import BY_ITSELF, PLAIN, TOGETHER
from topicture_experiments.shared.tables import markdown_table, with_error, write_parts

__all__ = ["write_page"]

# Title -> measure, digits.
COLUMNS = {
    "accuracy": ("accuracy", 3),
    "complete length": ("complete_length", 1),
    "norm. score": ("normalised_score", 3),
    "F1@5": ("f1", 3),
    "perplexity": ("perplexity", 1),
}
SMALLER = ("complete_length", "perplexity")
# What was to be reached, as means of subsets 1 to 7.
GOALS = {
    "usual split": {"accuracy": 0.32, "complete_length": 41.0, "normalised_score": 0.62, "perplexity": 44.0},
    "25% tagged": {"accuracy": 0.29, "complete_length": 48.0, "normalised_score": 0.575, "perplexity": 53.0},
}
# File that may lie beside the page: what another annotator reached before, as means of subsets 1 to 7.
BEFORE = "auto-before.json"
# Subsets on whose tagged images fixed settings were found.
DECIDED_ON = (1, 2)
GOALS_PIXELS = {BY_ITSELF: (0.48, 200), TOGETHER: (0.50, 205)}
# Members that were made for `auto`: they are no competitors.
OWN = ("network", "matching")

Runs = Sequence[dict[str, Any]]


def write_page(evidence: dict[str, Any], out: Path) -> Path:
    """Write auto.md; returns its path."""
    lines = [
        "# `auto` beside its competitors",
        f"Written by `python -m topicture_experiments.auto.report`; measured on {evidence['date']} with "
        f"{_versions(evidence)}, seed {evidence['seed']}. Corel subsets: means ± standard errors over subsets.",
        "**Rule.** Settings of every annotator, and the share of word frequencies in its answers, are chosen by the "
        "likelihood of the captions in three hidden folds of the tagged images; `auto` learns the weights of its "
        "blend on the same folds. In the usual split the annotators learn from the tagged images alone; with 25% "
        "tagged they also see the untagged images, without captions, which label-spreading, mix-unigram, lap-var1, "
        "network, matching and auto use.",
        *_older(evidence["found"]),
        *_not_alone(evidence["found"]),
    ]
    path = out / BEFORE
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    for protocol in PARTS:
        runs = [run for run in evidence["found"].values() if run["protocol"] == protocol]
        runs.sort(key=lambda run: run["subset"])
        if runs:
            lines += _protocol(protocol, runs, before)
    if "pixels" in evidence["found"]:
        lines += _pixels(evidence["found"]["pixels"])
    return write_parts(out / "auto.md", lines)


def _versions(evidence: dict[str, Any]) -> str:
    """Of everything that was measured; parts may have been measured on different machines."""
    used: dict[str, set[str]] = {}
    for run in evidence["found"].values():
        for name, number in run["versions"].items():
            used.setdefault(name, set()).add(number)
    return ", ".join(f"{name} {' and '.join(sorted(numbers))}" for name, numbers in used.items())


def _older(found: dict[str, dict[str, Any]]) -> list[str]:
    """A note, where parts were measured before `auto` was what it is; their tables tell."""
    parts = [key for key, run in found.items() if not any(_is_new(row) for row in run["table"])]
    if not parts:
        return []
    which = "all of it" if len(parts) == len(found) else "; ".join(parts)
    return [
        f"**Older than the code:** {which}. It was measured before `companions` was a member of `auto` (decision "
        "*Words that go together*). Figures of `auto`, weights of its members and seconds may be others now. Rows of "
        "single annotators are not concerned, but one of `companions` is missing.",
    ]


def _not_alone(found: dict[str, dict[str, Any]]) -> list[str]:
    """A note, where `auto` was measured again by itself, since `companions` is one of its members."""
    subsets = [run for run in found.values() if run.get("subset") is not None]
    newer = [run for run in subsets if any(_is_new(row) for row in run["table"])]
    if all(any(name.startswith("companions") for name in run["measures"]) for run in newer):
        return []
    return [
        "On the Corel subsets `auto` was measured again since `companions` is a member of it; rows of single "
        "annotators are of before, and one of `companions` alone is missing."
    ]


def _is_new(row: dict[str, Any]) -> bool:
    return row["member"].startswith("companions")


# --- Corel subsets ------------------------------------------------------------------------------------------------


def _protocol(protocol: str, runs: Runs, before: dict[str, Any] | None) -> list[str]:
    subsets = ", ".join(str(run["subset"]) for run in runs)
    names = sorted(
        {name: None for run in runs for name in run["measures"]},
        key=lambda name: -_values(runs, name, "accuracy").mean(),
    )
    cells = [[_title(runs, name), *_cells(runs, name)] for name in names]
    if before is not None:
        reached = before["measures"][protocol]
        cells.append(
            [before["annotator"], *(f"{reached[measure]:.{digits}f}" for measure, digits in COLUMNS.values())]
        )
    goal = [
        f"{GOALS[protocol][measure]:g}" if measure in GOALS[protocol] else ""
        for measure, _ in COLUMNS.values()
    ]
    cells.append(["goal", *goal])
    return [
        f"## {protocol[0].upper()}{protocol[1:]}, subsets {subsets}",
        markdown_table(["annotator", *COLUMNS], cells),
        _against(protocol, runs),
        *_untouched(runs),
        "Members of the blend, with their mean weights: "
        + "; ".join(
            f"{member} {np.mean(weights):.2f} (used in {sum(w > 0 for w in weights)} of {len(weights)})"
            for member, weights in _weights(runs).items()
        )
        + f". Trying and learning took {np.mean([run['seconds'] for run in runs]):.0f} s "
        "per subset on one core.",
    ]


def _against(protocol: str, runs: Runs) -> str:
    """Where `auto` leads, subset by subset, and which goals it meets."""
    leads, goals = [], []
    for title, (measure, digits) in COLUMNS.items():
        sign = -1 if measure in SMALLER else 1
        own = sign * _values(runs, "auto", measure)
        best = np.array([max(sign * found[measure] for found in _competitors(run)) for run in runs])
        leads.append(f"{title} in {int((own > best).sum())} of {len(runs)}")
        goal = GOALS[protocol].get(measure)
        if goal is not None:
            met = own.mean() >= sign * goal
            goals.append(
                f"{title} {'met' if met else 'missed'} ({sign * own.mean():.{digits}f}, goal {goal:g})"
            )
    return (
        "Where `auto` is ahead of a subset's best competitor (not counting networks and matching, which are made for "
        f"it): {'; '.join(leads)} subsets. Goals: {'; '.join(goals)}."
    )


def _untouched(runs: Runs) -> list[str]:
    """Measures on subsets on which nothing was decided."""
    others = [run for run in runs if run["subset"] not in DECIDED_ON]
    if not others:
        return []
    measures = ", ".join(
        f"{title} {cell}" for title, cell in zip(COLUMNS, _cells(others, "auto"), strict=True)
    )
    return [
        "Sizes, dropout shares and numbers of updates of networks and matching were chosen on hidden folds of the "
        f"tagged images of subsets {' and '.join(map(str, DECIDED_ON))}, in both protocols; what is tagged in one is "
        f"annotated in the other. `auto` on the other subsets alone: {measures}.",
    ]


def _weights(runs: Runs) -> dict[str, list[float]]:
    weights: dict[str, list[float]] = {}
    for run in runs:
        for row in run["table"]:
            if row["perplexity"] is not None:
                weights.setdefault(row["member"], []).append(row["weight"])
    return {member: values for member, values in weights.items() if any(values)}


def _competitors(run: dict[str, Any]) -> list[dict[str, float]]:
    """What the others reached."""
    return [found for name, found in run["measures"].items() if name.split(" on ")[0] not in ("auto", *OWN)]


def _title(runs: Runs, name: str) -> str:
    """Of a row; `auto` drops some members of some subsets, which then have no figures there."""
    n_runs = sum(name in run["measures"] for run in runs)
    only = "" if n_runs == len(runs) else f" (in {n_runs} of {len(runs)} subsets)"
    return f"`{name}`" if name == "auto" else f"{name}{only}"


def _values(runs: Runs, name: str, measure: str) -> np.ndarray:
    return np.array([run["measures"][name][measure] for run in runs if name in run["measures"]])


def _cells(runs: Runs, name: str) -> list[str]:
    return [with_error(_values(runs, name, measure), digits) for measure, digits in COLUMNS.values()]


# --- Corel-5k -----------------------------------------------------------------------------------------------------


def _pixels(pixels: dict[str, Any]) -> list[str]:
    rows = sorted(pixels["measures"].items(), key=lambda item: -item[1][TOGETHER]["f1"])
    cells = [
        [
            f"`{name}`" if name == "auto" else name,
            *(_f1_and_n(found.get(way)) for way in (BY_ITSELF, PLAIN, TOGETHER)),
            f"{found['accuracy']:.3f}",
            f"{found['perplexity']:.1f}",
        ]
        for name, found in rows
    ]
    own = pixels["measures"]["auto"]
    goals = [
        f"{way} F1 {f1:.2f} and N+ {n}: {_f1_and_n(own[way])}, "
        + ("met" if own[way]["f1"] >= f1 and own[way]["n_plus"] >= n else "missed")
        for way, (f1, n) in GOALS_PIXELS.items()
    ]
    return [
        "## Corel-5k from pixels",
        (f"Measured on {pixels['date']}. " if "date" in pixels else "")
        + f"{pixels['train']} training and {pixels['test']} test images, 260 words, features: {pixels['features']}, "
        f"side by side in {pixels['columns']} columns. Five words per image; F1 / N+, means over words. *By itself*: "
        "p(w | image) over the mean of the word's highest answers for hidden folds of the training images, to the "
        f"power {own[BY_ITSELF]['evenness']:g}, chosen on these folds; an image's words do not depend on the other "
        "images. *Plain*: by p(w | image). Apart, since it looks at all test images at once (not at their captions): "
        f"*among each other*, over the highest answers among the test images, to the power "
        f"{own[TOGETHER]['evenness']:g} (one for all, chosen for `auto` on hidden folds).",
        markdown_table(["annotator", BY_ITSELF, PLAIN, TOGETHER, "accuracy", "perplexity"], cells),
        f"Goals of `auto`: {'; '.join(goals)}.",
        f"On the hidden folds: {pixels['result']}.",
    ]


def _f1_and_n(found: dict[str, Any] | None) -> str:
    return "" if found is None else f"{found['f1']:.3f} / {found['n_plus']}"
