"""What an experiment found: its runs, mean and standard error of every measure, as text and as JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topicture.annotations.measures.metrics import Summary

__all__ = ["Experiment", "Run", "comparison"]

# Column of a table -> measure of a Summary.
COLUMNS = {
    "accuracy": "accuracy",
    "compl. length": "complete_length",
    "norm. score": "normalised_score",
    "F1@{k}": "f1",
    "MAP": "mean_average_precision",
    "perplexity": "perplexity",
    "N+": "n_plus",
}


@dataclass(frozen=True)
class Run:
    """One annotator, one part, one seed."""

    part: str
    seed: int | None  # None: the annotator takes no seed
    n_tagged: int
    n_hidden: int
    n_words: int
    fit_seconds: float
    annotate_seconds: float
    stopped: str  # why the fit ended, in the annotator's words
    measures: Summary


@dataclass(frozen=True)
class Experiment:
    """Runs of one annotator under one protocol, and their mean and standard error.

    Runs on the same part share its data, so seeds are averaged within each part first; the standard error is over
    parts, or over seeds when there is only one part. It is NaN for a single run.
    """

    name: str
    protocol: str
    runs: tuple[Run, ...]

    def mean(self) -> dict[str, float]:
        """Mean of every measure."""
        return {measure: float(values.mean()) for measure, values in self._independent().items()}

    def standard_error(self) -> dict[str, float]:
        """Standard error of the mean of every measure."""
        return {measure: _standard_error(values) for measure, values in self._independent().items()}

    def table(self) -> str:
        """Plain text: a line for every run, then mean ± standard error."""
        rows = [[_run_name(run), *_cells(run.measures.as_dict())] for run in self.runs]
        rows.append(["mean ± s.e.", *_cells(self.mean(), self.standard_error())])
        skipped = sum(run.measures.n_skipped for run in self.runs)
        note = (
            f"\n{skipped} hidden images without a true word were left out of the measures" if skipped else ""
        )
        titles = ["run", *_titles([self])]
        return f"{self.name}, {self.protocol}\n{_aligned([titles, *rows])}{note}"

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "name": self.name,
            "protocol": self.protocol,
            "mean": self.mean(),
            "standard_error": self.standard_error(),
            "runs": [asdict(run) for run in self.runs],
        }

    def to_json(self) -> str:
        """Strict JSON: NaN becomes null, an infinite value the string "inf" or "-inf"."""
        return json.dumps(_jsonable(self.as_dict()), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return self.table()

    def _independent(self) -> dict[str, np.ndarray]:
        """Values of every measure that may be taken as independent: one per part, or one per seed of one part."""
        by_part: dict[str, list[list[float]]] = {}
        for run in self.runs:
            by_part.setdefault(run.part, []).append(list(run.measures.as_dict().values()))
        groups = list(by_part.values())
        values = np.array(groups[0] if len(groups) == 1 else [np.mean(runs, axis=0) for runs in groups])
        return dict(zip(self.runs[0].measures.as_dict(), values.T, strict=True))


def comparison(experiments: Sequence[Experiment]) -> str:
    """Plain text table, one experiment per line: mean ± standard error of the usual measures."""
    rows = [[e.name, str(len(e.runs)), *_cells(e.mean(), e.standard_error())] for e in experiments]
    return _aligned([["annotator", "runs", *_titles(experiments)], *rows])


# --- Numbers and text -------------------------------------------------------------------------------------------


def _standard_error(values: np.ndarray) -> float:
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _titles(experiments: Sequence[Experiment]) -> list[str]:
    """Titles of the columns; k is named where it is the same in all runs."""
    ks = {run.measures.top_k for experiment in experiments for run in experiment.runs}
    k = str(ks.pop()) if len(ks) == 1 else "k"
    return [title.format(k=k) for title in COLUMNS]


def _run_name(run: Run) -> str:
    return run.part if run.seed is None else f"{run.part}, seed {run.seed}"


def _cells(values: dict[str, float], errors: dict[str, float] | None = None) -> list[str]:
    cells = []
    for measure in COLUMNS.values():
        value = values[measure]
        decimals = 0 if isinstance(value, int) else 3 if abs(value) < 2 else 1  # count, share, length
        text = f"{value:.{decimals}f}"
        if errors is not None and not math.isnan(errors[measure]):
            text += f" ± {errors[measure]:.{decimals}f}"
        cells.append(text)
    return cells


def _aligned(rows: list[list[str]]) -> str:
    """Columns of equal width: the first to the left, the others to the right, a rule below the titles."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
