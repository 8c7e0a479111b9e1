"""The look that all figures share, and how they are saved.

Nothing here goes through pyplot or changes matplotlib's settings: a Figure belongs to whoever asked for it. Colours are
Okabe and Ito's, told apart with any colour vision; every curve also has a marker and a dash of its own. The typeface is
the host's choice. Names and words are shown as they are: a tag with dollar signs is no formula. And no figure is set
by TeX: settings of a host, or of a `matplotlibrc` that lies beside photos, must not run a program on their words.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from topicture.atomic import write_atomically

__all__ = [
    "INK",
    "PALE",
    "TEXT_SIZE",
    "bare",
    "legend",
    "level",
    "line_looks",
    "panels",
    "save_figure",
    "without_tex",
]

INK, PALE, GRID = "#222222", "#6b6b6b", "#e4e4e4"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.5, 1.5)))
TEXT_SIZE, TITLE_SIZE = 9.0, 10.5  # points
DPI = 150
# What a file says of itself by default includes the day or the version, which would differ between equal figures.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def without_tex() -> Iterator[None]:
    """Here, and as a decorator: texts that are made are not for TeX."""
    with matplotlib.rc_context({"text.usetex": False}):
        yield


class _PlainFigure(Figure):
    """A figure that is never typeset by TeX, whoever draws it, and under which settings."""

    def draw(self, renderer: RendererBase) -> None:
        with without_tex():  # tick labels are made while drawing
            for text in self.findobj(Text):
                text.set_usetex(False)
            super().draw(renderer)


def panels(
    titles: Sequence[str], size: tuple[float, float], *, columns: int = 3, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A white figure with one panel of `size` inches per title, at most `columns` side by side."""
    n_columns = min(columns, len(titles))
    n_rows = math.ceil(len(titles) / n_columns)
    size = (size[0] * n_columns, size[1] * n_rows)
    figure = _PlainFigure(size, dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)  # so that text can be measured; no window, whatever the host's backend
    grid = figure.subplots(n_rows, n_columns, sharey=share_y, squeeze=False)
    axes = list(grid.flat)
    for unused in axes[len(titles) :]:
        unused.remove()
    for axis, title in zip(axes, titles, strict=False):
        _style(axis)
        axis.set_title(title, fontsize=TITLE_SIZE, color=INK, loc="left", parse_math=False)
    return figure, axes[: len(titles)]


def _style(axes: Axes) -> None:
    axes.set_facecolor("white")
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=TEXT_SIZE, labelcolor=INK, color=GRID, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)
        spine.set_linewidth(0.8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(fontsize=TEXT_SIZE, color=INK)


def bare(axes: Axes) -> None:
    """No ticks, frame or grid: for pictures and lists of words."""
    axes.grid(False)
    axes.tick_params(length=0, labelbottom=False, labelleft=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def line_looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dash of each name's curve, in the order of first appearance."""
    return {
        name: {
            "color": colour,
            "marker": marker,
            "linestyle": dash,
            "linewidth": 1.7,
            "markersize": 5.5,
            "markeredgecolor": "white",
            "markeredgewidth": 0.7,
        }
        for name, colour, marker, dash in zip(
            dict.fromkeys(names), cycle(COLOURS), cycle(MARKERS), cycle(DASHES)
        )
    }


def level(axes: Axes, value: float, name: str, colour: str = PALE) -> None:
    """A thin horizontal line across the panel."""
    axes.axhline(value, color=colour, linewidth=1.1, linestyle=(0, (1, 1.6)), label=name, zorder=1.5)


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, below them, where it can't hide a curve."""
    handles: Mapping[str, Any] = {
        name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if not handles:
        return
    n_columns = _legend_columns(list(handles), figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(handles) / n_columns))
    drawn = figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=TEXT_SIZE,
        labelcolor=INK,
    )
    for text in drawn.get_texts():
        text.set_parse_math(False)


def _legend_columns(names: list[str], width: float) -> int:
    """The most columns that fit into a width in inches; a legend is filled column by column."""
    # A letter is about 0.56 of the text size wide, and a point 1/72 inch; sample line and gaps take 0.62 inch.
    widths = [0.62 + 0.56 * TEXT_SIZE / 72 * len(name) for name in names]
    for n_columns in range(len(names), 1, -1):
        if sum(column.max() for column in np.array_split(widths, n_columns)) <= width:
            return n_columns
    return 1


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure as .png, .svg or .pdf; the same figure gives the same bytes on every run.

    Raises
    ------
    ValueError
        If the name ends otherwise.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise ValueError(f"{path.name}: figures are saved as .{', .'.join(METADATA)}")
    content = io.BytesIO()
    # SVG names its parts at random unless salted, which matplotlib takes from its settings only.
    with matplotlib.rc_context({"svg.hashsalt": "topicture"}):
        figure.savefig(content, format=kind, dpi=DPI, facecolor="white", metadata=METADATA[kind])
    write_atomically(path, content.getvalue())
    return path
