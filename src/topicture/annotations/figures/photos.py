"""Photos in rows, each with some words below it."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from topicture.annotations.figures.style import INK, TEXT_SIZE, bare, panels, without_tex
from topicture.errors import CorpusError

__all__ = ["photo_grid"]

WIDTH, LINE = 2.1, 0.17  # of a photo and of a line of text, in inches


@without_tex()
def photo_grid(
    photos: Sequence[ArrayLike], captions: Sequence[str], *, columns: int = 4, title: str = ""
) -> Figure:
    """Photos side by side, with a caption below each.

    Parameters
    ----------
    photos : sequence of arrays (H, W, 3)
    captions : sequence of str
        As many; a line break begins a new line.
    columns : int
        Photos side by side at most.
    title : str
        Above the first row.

    Raises
    ------
    CorpusError
        If there is not one caption per photo, or no photo.
    """
    if len(photos) != len(captions) or not len(photos):
        raise CorpusError(f"{len(photos)} photos do not go with {len(captions)} captions")
    lines = max(caption.count("\n") + 1 for caption in captions)
    columns = min(columns, len(photos))
    figure, axes = panels([""] * len(photos), (WIDTH, 0.75 * WIDTH + LINE * lines + 0.1), columns=columns)
    for panel, photo, caption in zip(axes, photos, captions, strict=True):
        bare(panel)
        panel.imshow(photo)
        panel.set_xlabel(caption, fontsize=TEXT_SIZE - 1, color=INK, loc="left", parse_math=False)
    if title:
        figure.set_figheight(figure.get_figheight() + 0.3 * math.ceil(len(title) / (24 * columns)))
        figure.suptitle(title, fontsize=TEXT_SIZE + 1, color=INK, x=0.01, ha="left", parse_math=False)
    return figure
