"""Pieces of report pages: Markdown tables, means with their errors, verdicts."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["markdown_table", "verdict", "with_error"]


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_error(values: np.ndarray, digits: int = 3, sign: str = "") -> str:
    """Mean ± standard error; one value stands alone. `sign` "+" shows it always."""
    if len(values) == 0:
        return "not measured"
    mean = f"{values.mean():{sign}.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def verdict(held: Iterable[Any]) -> str:
    """Of a finding that was looked at in several places."""
    cases = [bool(case) for case in held]
    return "holds" if all(cases) else "holds partly" if any(cases) else "does not hold"
