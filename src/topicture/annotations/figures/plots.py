"""Figures of the papers: fit against the number of topics, retrieval curves, labelled regions, words of topics.

Every function takes plain arrays and mappings and returns a matplotlib Figure of its own; nothing of the host program's
matplotlib is touched. The figure numbers are those of [blei2003annotated].
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from topicture.annotations.figures.regions import compared_region_words, labelled_regions
from topicture.annotations.figures.style import (
    INK,
    PALE,
    TEXT_SIZE,
    bare,
    legend,
    level,
    line_looks,
    panels,
    save_figure,
)
from topicture.annotations.measures.ranking import rank
from topicture.annotations.measures.retrieval import PrecisionRecall
from topicture.errors import CorpusError

__all__ = [
    "compared_region_words",
    "curve_with_errors",
    "labelled_regions",
    "likelihood_against_topics",
    "perplexity_against_topics",
    "precision_recall_curves",
    "save_figure",
    "topic_words",
]

Curves = Mapping[str, ArrayLike]  # model -> one value per x
Floats = NDArray[np.float64]

# A curve leaves the graph where it rises above the highest point of the calmest panel by more than this factor.
CEILING = 1.5
PANEL, SINGLE_PANEL = (3.7, 2.9), (4.8, 3.1)  # inches
BAR_COLOUR = "#9ecae1"  # light enough for dark text upon it


# --- Curves -----------------------------------------------------------------------------------------------------


def curve_with_errors(
    x: ArrayLike,
    means: Curves,
    errors: Curves | None = None,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Mean ± standard error of several models against x.

    Parameters
    ----------
    x : array (X,)
    means : mapping from model to array (X,)
        NaN leaves a gap.
    errors : mapping from model to array (X,), optional
        Standard errors; a model without them, or a NaN, gets no bar.
    x_label, y_label, title : str
    levels : mapping from name to value, optional
        Horizontal lines, for baselines that do not depend on x.

    Raises
    ------
    CorpusError
        If a curve does not have one value per x.
    """
    figure, axes = panels([title], SINGLE_PANEL)
    x = np.asarray(x, dtype=np.float64)
    for name, look in line_looks(means).items():
        bars = _curve(errors[name], x, name) if errors and name in errors else None
        axes[0].errorbar(x, _curve(means[name], x, name), bars, label=name, capsize=2.5, elinewidth=1, **look)
    _finish(figure, axes, x_label, y_label, levels)
    return figure


def likelihood_against_topics(
    n_topics: ArrayLike,
    curves: Curves | Mapping[str, Curves],
    *,
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Minus the mean held-out log-likelihood per image, in nats, against K (Figure 4; lower is better).

    Parameters
    ----------
    n_topics : array (X,)
        The K of each point, at least 1.
    curves : mapping from model to array (X,), or from a panel's title to such a mapping
        A panel for each kind of estimate: {"maximum likelihood": {...}, "smoothed": {...}}.
    levels : mapping from name to value, optional
        Horizontal lines: the model that takes regions and words for independent.
    """
    return _against_topics(n_topics, curves, "average negative log probability", levels, None)


def perplexity_against_topics(
    n_topics: ArrayLike,
    curves: Curves | Mapping[str, Curves],
    *,
    levels: Mapping[str, float] | None = None,
    ceiling: float | None = None,
) -> Figure:
    """Perplexity of the held-out captions against K (Figure 5; lower is better).

    Parameters
    ----------
    n_topics, curves, levels
        As for `likelihood_against_topics`. Infinity is allowed.
    ceiling : float, optional
        Points above it are shown as arrows at the upper edge, the highest of a model with its value. Without it the
        panel with the lowest peak decides, so that a model that overfits does not flatten the others.
    """
    if ceiling is None:
        ceiling = _ceiling(_grouped(curves), levels)
    return _against_topics(n_topics, curves, "caption perplexity", levels, ceiling)


def precision_recall_curves(queries: Mapping[str, Mapping[str, PrecisionRecall]]) -> Figure:
    """Precision against recall of several models, a panel per query (Figure 8, top).

    Parameters
    ----------
    queries : mapping from query to a mapping from model to PrecisionRecall
        As `metrics.precision_recall` gives them. Points are drawn at the ranks of relevant images; the horizontal
        line of a model is its average precision.
    """
    if not queries:
        raise CorpusError("precision and recall of no query: there is nothing to draw")
    figure, axes = panels(list(queries), PANEL, share_y=True)
    looks = line_looks(name for curves in queries.values() for name in curves)
    for panel, curves in zip(axes, queries.values(), strict=True):
        for name, curve in curves.items():
            recall, precision = _at_hits(curve)
            if len(recall) == 0:
                panel.text(0.5, 0.5, "no relevant image", color=PALE, fontsize=TEXT_SIZE, ha="center")
                break
            every = max(1, len(recall) // 12)  # a marker at each of hundreds of points would hide the curve
            panel.plot(recall, precision, label=name, markevery=every, **looks[name])
            level(panel, float(precision.mean()), "_", looks[name]["color"])
        panel.set(xlim=(0, 1.02), ylim=(0, 1.04))
    # A line that is nowhere, for the legend: one grey entry stands for the lines of all models.
    level(axes[-1], np.nan, "average precision")
    _finish(figure, axes, "recall", "precision")
    return figure


# --- Words --------------------------------------------------------------------------------------------------


def topic_words(
    p_w_given_z: ArrayLike,
    words: Sequence[str],
    *,
    n_words: int = 8,
    weights: ArrayLike | None = None,
    max_topics: int = 20,
) -> Figure:
    """The most probable words of each topic, with bars as long as their probabilities; one scale for all topics.

    Parameters
    ----------
    p_w_given_z : array (K, V)
    words : sequence of V words
    n_words : int
        Words per topic.
    weights : array (K,), optional
        Share of each topic: topics are then shown from the largest, with their share.
    max_topics : int
        Only the first (or largest) topics are shown, this many.
    """
    table = np.asarray(p_w_given_z, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(words) or len(table) == 0:
        raise CorpusError(f"topics of shape {table.shape} do not fit {len(words)} words")
    shares = None if weights is None else _curve(weights, table[:, 0], "weights")
    topics = (np.arange(len(table)) if shares is None else rank(shares))[:max_topics]
    titles = [f"topic {z + 1}" + ("" if shares is None else f"   {_percent(shares[z])}") for z in topics]
    n_words = min(n_words, len(words))
    figure, axes = panels(titles, (1.7, 0.45 + 0.17 * n_words), columns=5)
    best = rank(table[topics])[:, :n_words]
    longest = np.take_along_axis(table[topics], best, axis=1).max()
    style: dict[str, Any] = {"fontsize": TEXT_SIZE - 1, "color": INK, "va": "center", "parse_math": False}
    for panel, z, chosen in zip(axes, topics, best, strict=True):
        bare(panel)
        panel.barh(np.arange(n_words), table[z, chosen], height=0.82, color=BAR_COLOUR)
        for line, w in enumerate(chosen):
            panel.text(0.02 * longest, line, words[w], **style)
        panel.set(xlim=(0, longest), ylim=(n_words - 0.5, -0.5))
    return figure


def _percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


# --- Parts of curves --------------------------------------------------------------------------------------------


def _against_topics(
    n_topics: ArrayLike,
    curves: Curves | Mapping[str, Curves],
    y_label: str,
    levels: Mapping[str, float] | None,
    ceiling: float | None,
) -> Figure:
    groups, x = _grouped(curves), np.asarray(n_topics, dtype=np.float64)
    figure, axes = panels(list(groups), SINGLE_PANEL if len(groups) == 1 else PANEL, share_y=True)
    looks = line_looks(name for group in groups.values() for name in group)
    for panel, group in zip(axes, groups.values(), strict=True):
        for name, values in group.items():
            y = _curve(values, x, name)
            panel.plot(x, y, label=name, **looks[name])
            if ceiling is not None:
                _mark_above(panel, x, y, ceiling, looks[name]["color"])
        # K is usually doubled from point to point; each K is named and none in between.
        panel.set_xscale("log", base=2)
        panel.xaxis.set(
            major_locator=FixedLocator(x.tolist()),
            major_formatter=FixedFormatter([f"{k:g}" for k in x]),
            minor_locator=NullLocator(),
        )
    if ceiling is not None:
        lowest = min((_finite(group).min() for group in groups.values() if _finite(group).size), default=0.0)
        axes[0].set_ylim(lowest - 0.06 * (ceiling - lowest), ceiling)
    _finish(figure, axes, "number of topics K", y_label, levels)
    return figure


def _grouped(curves: Curves | Mapping[str, Curves]) -> Mapping[str, Curves]:
    if not curves:
        raise CorpusError("no curves: there is nothing to draw")
    if all(isinstance(value, Mapping) for value in curves.values()):
        return curves  # type: ignore[return-value]
    return {"": curves}  # type: ignore[dict-item]


def _ceiling(groups: Mapping[str, Curves], levels: Mapping[str, float] | None) -> float | None:
    """Where to cut the graph; None where everything fits below."""
    peaks = [_finite(group).max() for group in groups.values() if _finite(group).size]
    if not peaks:
        return None
    ceiling = CEILING * max([min(peaks), *(levels or {}).values()])
    return ceiling if any((_flat(group) > ceiling).any() for group in groups.values()) else None


def _flat(group: Curves) -> Floats:
    return np.concatenate([np.ravel(np.asarray(values, dtype=np.float64)) for values in group.values()])


def _finite(group: Curves) -> Floats:
    return _flat(group)[np.isfinite(_flat(group))]


def _mark_above(axes: Axes, x: Floats, y: Floats, ceiling: float, colour: str) -> None:
    """Arrows at the upper edge for points beyond it, and how far the farthest is."""
    above = np.flatnonzero(y > ceiling)
    if len(above) == 0:
        return
    edge = axes.get_xaxis_transform()  # x in data, y from 0 to 1
    axes.plot(x[above], np.full(len(above), 0.975), "^", color=colour, markersize=5, transform=edge, zorder=3)
    highest = above[np.argmax(y[above])]
    style: dict[str, Any] = {"fontsize": TEXT_SIZE - 1, "color": colour, "ha": "center", "va": "top"}
    axes.text(x[highest], 0.94, f"{y[highest]:,.0f}", transform=edge, **style)


def _at_hits(curve: PrecisionRecall) -> tuple[Floats, Floats]:
    """Recall and precision at the ranks of relevant images; empty where nothing is relevant."""
    recall = np.nan_to_num(np.asarray(curve.recall, dtype=np.float64))
    hit = np.diff(recall, prepend=0.0) > 0
    return recall[hit], np.asarray(curve.precision, dtype=np.float64)[hit]


def _curve(values: ArrayLike, x: Floats, name: str) -> Floats:
    y = np.asarray(values, dtype=np.float64)
    if y.shape != x.shape or x.ndim != 1:
        raise CorpusError(f"{name}: values of shape {y.shape}, where {x.shape} are needed")
    return y


def _finish(
    figure: Figure,
    axes: Sequence[Axes],
    x_label: str,
    y_label: str,
    levels: Mapping[str, float] | None = None,
) -> None:
    for panel in axes:
        panel.set_xlabel(x_label)
        for name, value in (levels or {}).items():
            level(panel, value, name)
    axes[0].set_ylabel(y_label)
    legend(figure, axes)
