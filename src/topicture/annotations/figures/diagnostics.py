"""Figures of the diagnostics: objective traces, calibration, quality curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from topicture.annotations.choice.quality_curves import Curve
from topicture.annotations.diagnostics import CalibrationPoint
from topicture.annotations.figures.plots import curve_with_errors
from topicture.annotations.figures.style import PALE, TEXT_SIZE, legend, line_looks, panels
from topicture.errors import CorpusError

__all__ = ["calibration_plot", "objective_traces", "quality_plot"]

TRACE_PANEL, CALIBRATION_PANEL = (3.4, 2.5), (4.6, 4.0)  # inches
TITLE: dict[str, Any] = {"color": PALE, "loc": "left"}


def objective_traces(traces: Mapping[str, ArrayLike]) -> Figure:
    """What each fit made larger, iteration by iteration; a panel a model.

    Parameters
    ----------
    traces : mapping from model to array (n_iter + 1,)
        NaN leaves a gap.
    """
    if not traces:
        raise CorpusError("no traces: there is nothing to draw")
    figure, axes = panels(list(traces), TRACE_PANEL)
    for panel, (name, trace) in zip(axes, traces.items(), strict=True):
        values = np.asarray(trace, dtype=np.float64)
        look = {**line_looks([name])[name], "marker": ""}
        panel.plot(np.arange(len(values)), values, **look)
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(4))
        panel.ticklabel_format(axis="y", useOffset=False, style="plain")
        panel.set_xlabel("iteration")
    axes[0].set_ylabel("objective")
    return figure


def calibration_plot(points: Sequence[CalibrationPoint]) -> Figure:
    """Promised probability against observed frequency with 95% intervals, and the number of pairs at each point."""
    if not points:
        raise CorpusError("no judged pairs: there is no calibration to draw")
    figure, (axes,) = panels([""], CALIBRATION_PANEL)
    x = np.array([point.promised for point in points])
    y = np.array([point.observed for point in points])
    intervals = np.array([[point.observed_low, point.observed_high] for point in points])
    bars = np.abs(intervals - y[:, None]).T
    axes.plot(
        [0, 1], [0, 1], color=PALE, linewidth=1.1, linestyle=(0, (1, 1.6)), label="promise kept exactly"
    )
    look = line_looks(["observed"])["observed"]
    axes.errorbar(x, y, bars, capsize=2.5, elinewidth=1, label="came true, with 95% interval", **look)
    style: dict[str, Any] = {"fontsize": TEXT_SIZE - 1.5, "color": PALE, "ha": "center", "va": "bottom"}
    for point in points:  # in a row above the panel, where no curve can run through them
        where = (point.low + point.high) / 2
        axes.text(where, 1.01, _short(point.n), transform=axes.get_xaxis_transform(), **style)
    axes.set_title("judged pairs of photo and word:", pad=16, **{**TITLE, "fontsize": TEXT_SIZE - 1})
    axes.set(
        xlim=(-0.02, 1.02), ylim=(-0.03, 1.03), xlabel="promised probability", ylabel="share that came true"
    )
    legend(figure, [axes])
    return figure


def quality_plot(curve: Curve, x_label: str) -> Figure:
    """Mean average precision and accuracy with standard errors against the x of a curve."""
    return curve_with_errors(
        [point.x for point in curve.points],
        {
            "mean average precision": [point.mean_average_precision for point in curve.points],
            "accuracy": [point.accuracy for point in curve.points],
        },
        {
            "mean average precision": [point.map_error for point in curve.points],
            "accuracy": [point.accuracy_error for point in curve.points],
        },
        x_label=x_label,
        y_label="quality on hidden captions",
    )


def _short(n: int) -> str:
    """A count in at most five characters."""
    for limit, divisor, unit in ((10_000, 1, ""), (10_000_000, 1000, "k")):
        if n < limit:
            return f"{n // divisor}{unit}"
    return f"{n // 1_000_000}M"
