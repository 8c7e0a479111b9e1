"""Pictures with their regions outlined, named and compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike
from scipy.ndimage import distance_transform_edt

from topicture.annotations.figures.style import INK, PALE, TEXT_SIZE, bare, panels, without_tex
from topicture.annotations.measures.ranking import rank
from topicture.errors import CorpusError

__all__ = ["compared_region_words", "labelled_regions"]

LONGER_SIDE = 5.0  # of a picture, in inches
ROW_HEIGHT, COLUMN_WIDTH = 0.25, 1.7  # of the table of words, in inches


@without_tex()
def labelled_regions(
    pixels: ArrayLike, labels: ArrayLike, words: Sequence[str | None], *, title: str = ""
) -> Figure:
    """A picture with its regions outlined and named.

    Parameters
    ----------
    pixels : array (H, W, 3) or (H, W)
        uint8, or floats between 0 and 1.
    labels : int array (H, W)
        Region of each pixel, 0 .. N - 1; negative where there is none.
    words : sequence of N
        None for a region without a word. A name goes where its region is widest and no other name is; where there is
        no such place, as in slivers, it goes to the widest and may touch another.
    title : str

    Raises
    ------
    CorpusError
        If label map, picture and words do not fit together.
    """
    image, regions = _picture(pixels, labels, len(words))
    figure, (axes,) = panels([title], _picture_size(image))
    _draw_regions(axes, image, regions)
    figure.draw_without_rendering()  # settles the layout, which says how much room a name takes
    taken: list[Bbox] = []
    for region in _largest_first(regions, len(words)):
        if (word := words[region]) is not None:
            _place(axes, word, _inner_points(regions == region), taken)
    return figure


@without_tex()
def compared_region_words(
    pixels: ArrayLike, labels: ArrayLike, words: Mapping[str, Sequence[Sequence[str]]], *, title: str = ""
) -> Figure:
    """A picture with numbered regions, and beside it the words that each model has for them (Figure 7).

    Parameters
    ----------
    pixels, labels
        As for `labelled_regions`.
    words : mapping from model to N sequences of words
        The best words of each region, best first.
    title : str
    """
    n_regions = {len(rows) for rows in words.values()}
    if len(n_regions) != 1:
        raise CorpusError(
            f"each model needs words for the same regions; they have {sorted(n_regions)} of them"
        )
    n = n_regions.pop()
    image, regions = _picture(pixels, labels, n)
    width, height = _picture_size(image)
    height = max(height, ROW_HEIGHT * (n + 1.5))
    figure, (axes, table) = panels([title, ""], (width, height), columns=2)
    _make_room(figure, table, width, 0.4 + COLUMN_WIDTH * len(words))
    _draw_regions(axes, image, regions)
    for region in _largest_first(regions, n):
        row, column = _inner_points(regions == region)[0]
        _name(axes, str(region + 1), row, column)
    _table(table, words, height / ROW_HEIGHT)
    return figure


# --- Parts of pictures ------------------------------------------------------------------------------------------


def _picture(pixels: ArrayLike, labels: ArrayLike, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    image, regions = np.asarray(pixels), np.asarray(labels)
    if image.ndim not in (2, 3) or image.shape[:2] != regions.shape:
        raise CorpusError(
            f"a label map of shape {regions.shape} does not fit a picture of shape {image.shape}"
        )
    if regions.max(initial=-1) >= n_words:
        raise CorpusError(f"the label map has {regions.max() + 1} regions, and there are words for {n_words}")
    return image, regions


def _picture_size(image: np.ndarray) -> tuple[float, float]:
    """Width and height in inches."""
    height, width = image.shape[:2]
    return LONGER_SIDE * width / max(height, width), LONGER_SIDE * height / max(height, width)


def _draw_regions(axes: Axes, image: np.ndarray, regions: np.ndarray) -> None:
    bare(axes)
    axes.imshow(image, cmap="gray", interpolation="nearest")
    # Outlines run between pixels, black under white, so that they show on light and on dark ground.
    for colour, width in (("black", 2.4), ("white", 1.0)):
        for region in np.unique(regions):
            mask = regions == region
            if not mask.all() and min(mask.shape) > 1:  # else there is no line between two sides to draw
                axes.contour(mask, levels=[0.5], colors=colour, linewidths=width)


def _largest_first(regions: np.ndarray, n_regions: int) -> list[int]:
    """Regions that have pixels, so that the names of large ones are placed first."""
    sizes = np.bincount(regions[regions >= 0], minlength=n_regions)
    return [int(region) for region in rank(sizes) if sizes[region] > 0]


def _inner_points(mask: np.ndarray, n_points: int = 40) -> list[tuple[int, int]]:
    """(row, column) of places inside a region, the farthest from its border first, spread over it."""
    depth = distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    step = max(1, max(mask.shape) // 40)
    rows, columns = np.nonzero(mask)
    deepest = np.unravel_index(depth.argmax(), depth.shape)
    coarse = (rows % step == 0) & (columns % step == 0)
    rows, columns = rows[coarse], columns[coarse]
    order = rank(depth[rows, columns])[:n_points] if len(rows) else np.empty(0, dtype=int)
    return [
        (int(deepest[0]), int(deepest[1])),
        *zip(rows[order].tolist(), columns[order].tolist(), strict=True),
    ]


def _name(axes: Axes, word: str, row: float, column: float) -> Text:
    style: dict[str, Any] = {
        "color": "white",
        "fontsize": TEXT_SIZE + 1,
        "weight": "bold",
        "path_effects": [withStroke(linewidth=2.6, foreground="black", alpha=0.85)],
        "parse_math": False,
    }
    return axes.text(column, row, word, ha="center", va="center", **style)


def _place(axes: Axes, word: str, points: list[tuple[int, int]], taken: list[Bbox]) -> None:
    """Write a word at the first point where it stays in the picture and clear of the names already there."""
    text = _name(axes, word, *points[0])
    frame = axes.get_window_extent()
    boxes = []
    for row, column in points:
        text.set_position((column, row))
        boxes.append(text.get_window_extent().padded(2))
        if _inside(boxes[-1], frame) and not any(boxes[-1].overlaps(other) for other in taken):
            break
    else:
        text.set_position(points[0][::-1])
        boxes.append(boxes[0])
    taken.append(boxes[-1])


def _inside(box: Bbox, frame: Bbox) -> bool:
    return box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1


def _make_room(figure: Figure, table: Axes, picture_width: float, table_width: float) -> None:
    grid = table.get_gridspec()
    assert grid is not None  # `panels` lays its axes out in one
    grid.set_width_ratios([picture_width, table_width])
    figure.set_figwidth(picture_width + table_width)


def _table(axes: Axes, words: Mapping[str, Sequence[Sequence[str]]], n_rows: float) -> None:
    """A column of region numbers and one for each model, from the top; `n_rows` would fill the panel."""
    bare(axes)
    axes.set(xlim=(0, 1), ylim=(n_rows - 0.5, -0.5))
    number_width = 0.4 / (0.4 + COLUMN_WIDTH * len(words))
    left = number_width + (1 - number_width) * np.arange(len(words)) / len(words)
    for region in range(1, 1 + len(next(iter(words.values())))):
        axes.text(0, region, str(region), weight="bold", color=PALE, fontsize=TEXT_SIZE, va="center")
    for start, (name, rows) in zip(left, words.items(), strict=True):
        axes.text(start, 0, name, weight="bold", color=INK, fontsize=TEXT_SIZE, va="center", parse_math=False)
        for region, some in enumerate(rows, start=1):
            line = ", ".join(some)
            axes.text(start, region, line, color=INK, fontsize=TEXT_SIZE, va="center", parse_math=False)
