"""The map of a collection: words and images on one plane, as IWE has placed them; exported and drawn.

Words stand where they are, larger the more common they are, and never over one another: a word whose place is taken
moves aside, with a thin line to its place. Images are points, or small pictures where there is room for them.
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from topicture.annotations.figures.style import INK, PALE, bare, panels, without_tex
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.files import write_atomically
from topicture.models.spaces.iwe import IWE

__all__ = ["EmbeddingMap", "draw_map", "embedding_map"]

SMALLEST, LARGEST = 7.0, 22.0  # text, in points
THUMBNAIL = 0.42  # longer side, in inches
GAP = 2.0  # between labels, in pixels
# A spiral of places to try for a label, in steps of its height: a golden-angle spiral covers the plane evenly.
N_PLACES = 900
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
# A spreadsheet takes a cell that begins so for a formula; an apostrophe makes it text again.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


# --- Data -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EmbeddingMap:
    """Places of words and images.

    Attributes
    ----------
    words : the V words
    word_counts : (V,) how often each occurs in the captions; a word that never does has no place of its own
    word_places : (V, d)
    image_ids : the N images
    image_places : (N, d)
    """

    words: tuple[str, ...]
    word_counts: np.ndarray
    word_places: np.ndarray
    image_ids: tuple[str, ...]
    image_places: np.ndarray

    def to_csv(self, path: str | Path) -> None:
        """Columns kind (word or image), name, count (of words), x, y (x1, x2, ... in other dimensions).

        A name that a spreadsheet would take for a formula gets an apostrophe before it.
        """
        d = self.word_places.shape[1]
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["kind", "name", "count", *(["x", "y"] if d == 2 else [f"x{i + 1}" for i in range(d)])])
        for word, count, place in zip(self.words, self.word_counts, self.word_places, strict=True):
            rows.writerow(["word", _as_text(word), f"{count:g}", *map(repr, place.tolist())])
        for image, place in zip(self.image_ids, self.image_places, strict=True):
            rows.writerow(["image", _as_text(image), "", *map(repr, place.tolist())])
        write_atomically(Path(path), text.getvalue().encode())

    def to_json(self, path: str | Path) -> None:
        """{"words": [{"name", "count", "place"}], "images": [{"name", "place"}]}."""
        content = {
            "words": [
                {"name": word, "count": count, "place": place}
                for word, count, place in zip(
                    self.words, self.word_counts.tolist(), self.word_places.tolist(), strict=True
                )
            ],
            "images": [
                {"name": image, "place": place}
                for image, place in zip(self.image_ids, self.image_places.tolist(), strict=True)
            ],
        }
        write_atomically(Path(path), json.dumps(content, ensure_ascii=False, indent=1).encode())


def embedding_map(model: IWE, corpus: Corpus | None = None) -> EmbeddingMap:
    """The map of a fitted IWE with the images it learned from, or with those of a corpus."""
    model._check_fitted()
    ids = model.image_ids_ if corpus is None else corpus.image_ids
    return EmbeddingMap(
        words=model.vocabulary_.words,
        word_counts=model.word_counts_,
        word_places=model.word_coordinates_,
        image_ids=tuple(ids.tolist()),
        image_places=model.image_coordinates_ if corpus is None else model.transform(corpus),
    )


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell


# --- Drawing ----------------------------------------------------------------------------------------------------


@without_tex()
def draw_map(
    places: EmbeddingMap,
    *,
    thumbnails: Mapping[str, np.ndarray] | None = None,
    n_words: int = 200,
    size: tuple[float, float] = (10.0, 8.0),
    title: str = "",
) -> Figure:
    """Draw a map of two dimensions; save it with `figure_style.save_figure`.

    Parameters
    ----------
    thumbnails : mapping from image id to pixels (H, W, 3), optional
        Shown instead of points, in this order, as long as they don't cover each other.
    n_words : at most this many words, the commonest
    size : of the figure in inches
    """
    if places.word_places.shape[1] != 2:
        raise TopictureError(
            f"a map of {places.word_places.shape[1]} dimensions can't be drawn; learn one with n_dims=2"
        )
    figure, (axes,) = panels([title], size)
    bare(axes)
    seen = np.flatnonzero(places.word_counts > 0)
    common = seen[np.argsort(-places.word_counts[seen], kind="stable")][:n_words]
    _set_limits(axes, np.concatenate([places.word_places[common], places.image_places]))
    x, y = places.image_places.T
    axes.scatter(x, y, s=5, color=PALE, alpha=0.35, linewidths=0, zorder=1)
    figure.draw_without_rendering()  # settles the layout, which says how much room a word takes
    if thumbnails:
        _draw_thumbnails(axes, places, thumbnails)
    _draw_words(axes, places, common)
    return figure


def _set_limits(axes: Axes, points: np.ndarray) -> None:
    """Room for 99 of 100 points in each direction, and a margin for the words' letters."""
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    margin = 0.06 * np.maximum(high - low, 1e-9)
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])


def _draw_words(axes: Axes, places: EmbeddingMap, common: np.ndarray) -> None:
    """The commonest first, each at the free place nearest to its own; one without any is left out."""
    frame = _box(axes.get_window_extent())
    taken = np.zeros((0, 4))
    for word, points in zip(common, _text_sizes(places.word_counts[common]), strict=True):
        text = _label(axes, places.words[word], points)
        anchor = axes.transData.transform(places.word_places[word])
        box = _free_box(anchor, np.array(text.get_window_extent().size) + GAP, taken, frame)
        if box is None:
            text.remove()
            continue
        taken = np.vstack([taken, box])
        centre = (box[:2] + box[2:]) / 2
        text.set_position(tuple(axes.transData.inverted().transform(centre)))
        if np.linalg.norm(centre - anchor) > (box[3] - box[1]) / 2:
            ends = axes.transData.inverted().transform([anchor, np.clip(anchor, box[:2], box[2:])])
            axes.plot(*ends.T, color=INK, linewidth=0.5, alpha=0.6, zorder=3)


def _label(axes: Axes, word: str, points: float) -> Text:
    halo = [withStroke(linewidth=2.2, foreground="white", alpha=0.9)]
    style: dict[str, Any] = {
        "fontsize": points,
        "color": INK,
        "path_effects": halo,
        "parse_math": False,
        "zorder": 4,
    }
    return axes.text(0, 0, word, ha="center", va="center", **style)


def _text_sizes(counts: np.ndarray) -> np.ndarray:
    """Points: the area of a letter grows with the count."""
    if not len(counts):
        return counts
    return np.maximum(SMALLEST, LARGEST * np.sqrt(counts / counts.max()))


def _free_box(
    anchor: np.ndarray, size: np.ndarray, taken: np.ndarray, frame: np.ndarray
) -> np.ndarray | None:
    """(x0, y0, x1, y1) in pixels: the nearest of a spiral of places within the frame that covers no taken box."""
    steps = np.arange(N_PLACES)
    radius, angle = 0.25 * size[1] * np.sqrt(steps), GOLDEN_ANGLE * steps
    centres = anchor + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    boxes = np.hstack([centres - size / 2, centres + size / 2])
    free = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    free &= ~_overlap(boxes, taken).any(axis=1)
    return boxes[free.argmax()] if free.any() else None


def _overlap(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the boxes (n, 4) and others (m, 4) have area in common, (n, m)."""
    a, b = boxes[:, None, :], others[None, :, :]
    return np.all((a[..., :2] < b[..., 2:]) & (b[..., :2] < a[..., 2:]), axis=-1)


def _draw_thumbnails(axes: Axes, places: EmbeddingMap, thumbnails: Mapping[str, np.ndarray]) -> None:
    frame, taken = _box(axes.get_window_extent()), np.zeros((0, 4))
    row_of = {image: row for row, image in enumerate(places.image_ids)}
    pixels_a_side = THUMBNAIL * axes.figure.get_dpi()
    for image, pixels in thumbnails.items():
        if image not in row_of:
            raise TopictureError(f"{image}: there is a small picture of it, but it is not on the map")
        zoom = pixels_a_side / max(pixels.shape[:2])
        half = zoom * np.array(pixels.shape[1::-1]) / 2
        centre = axes.transData.transform(places.image_places[row_of[image]])
        box = np.concatenate([centre - half, centre + half])
        inside = (box[:2] >= frame[:2]).all() and (box[2:] <= frame[2:]).all()
        if inside and not _overlap(box[None], taken).any():
            taken = np.vstack([taken, box])
            # An OffsetImage is measured in points of 1/72 inch.
            picture = OffsetImage(pixels, zoom=zoom * 72 / axes.figure.get_dpi(), alpha=0.9)
            axes.add_artist(
                AnnotationBbox(picture, tuple(places.image_places[row_of[image]]), frameon=False, pad=0)
            )


def _box(extent: Any) -> np.ndarray:
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])
