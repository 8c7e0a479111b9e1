"""Pieces of report pages: Markdown tables, means with their errors, verdicts, and the page itself."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicture.atomic import write_atomically

__all__ = ["columns_of_topics", "markdown_table", "standard_error", "verdict", "with_error", "write_parts"]


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_error(values: np.ndarray, digits: int = 3, sign: str = "") -> str:
    """Mean ± standard error; one value stands alone. `sign` "+" shows it always."""
    if len(values) == 0:
        return "not measured"
    mean = f"{values.mean():{sign}.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {float(standard_error(values)):.{digits}f}"


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over axis 0; NaN for fewer than two values."""
    n = len(values)
    return values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(values.shape[1:], math.nan)


def columns_of_topics(topics: Iterable[int]) -> tuple[str, ...]:
    """Headings of the columns of a table against the number of topics or components."""
    return tuple(f"K = {K}" for K in topics)


def verdict(held: Iterable[Any]) -> str:
    """Of a finding that was looked at in several places."""
    cases = [bool(case) for case in held]
    return "holds" if all(cases) else "holds partly" if any(cases) else "does not hold"


def write_parts(path: Path, parts: Iterable[str]) -> Path:
    """Write a page of paragraphs, tables and headings; empty ones are left out."""
    write_atomically(path, ("\n\n".join(part for part in parts if part) + "\n").encode())
    return path
