"""Sprites: things drawn as flat shapes at four times the resolution, then lit and stamped on the canvas."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from topicture.demo.scenes.canvas import Canvas
from topicture.demo.scenes.light import rgb
from topicture.demo.scenes.noise import sample
from topicture.demo.scenes.vocabulary import word_index

__all__ = ["Sprite"]

_OVERSAMPLING = 4
_LAMPLIGHT = rgb(1.0, 0.80, 0.42)
_UNNAMED = 255  # label of parts without a word; 0 is the background, other values are index + 1

Points = Sequence[tuple[float, float]]


class Sprite:
    """A drawing surface anchored on the canvas.

    Local coordinates have their origin at the anchor (where the thing touches the ground), x to the right
    (to the left when flipped), y UP, in multiples of `scale` picture heights.
    """

    def __init__(
        self,
        canvas: Canvas,
        x: float,
        y: float,
        scale: float,
        box: tuple[float, float, float, float],
        word: str | None,
        flip: bool = False,
    ) -> None:
        """`box` is (left, bottom, right, top) in local coordinates; `word` labels parts by default."""
        self.canvas, self.word, self.flip = canvas, word, flip
        left, bottom, right, top = box
        if flip:
            left, right = -right, -left
        self.rows, self.columns = canvas.window(
            x + left * scale, y - top * scale, x + right * scale, y - bottom * scale
        )
        size = (
            (self.columns.stop - self.columns.start) * _OVERSAMPLING,
            (self.rows.stop - self.rows.start) * _OVERSAMPLING,
        )
        self.empty = min(size) <= 0
        if self.empty:
            size = (_OVERSAMPLING, _OVERSAMPLING)
        self._unit = scale * canvas.height * _OVERSAMPLING
        self._origin = (
            (x * canvas.height - self.columns.start) * _OVERSAMPLING,
            (y * canvas.height - self.rows.start) * _OVERSAMPLING,
        )
        self.lamps: list[tuple[float, float, float]] = []  # local x, y, size of parts that shine after dark
        self._anchor = (x, y, scale)
        self._image, self._parts = Image.new("RGBA", size), Image.new("L", size)
        self._ink, self._part_ink = ImageDraw.Draw(self._image), ImageDraw.Draw(self._parts)

    # --- Shapes -----------------------------------------------------------------------------
    def polygon(self, points: Points, colour: np.ndarray | tuple, word: str | None = "") -> None:
        """A filled polygon; `word` replaces the sprite's own (None for an unnamed part)."""
        place = self._place(points)
        self._ink.polygon(place, fill=_rgba(colour))
        self._part_ink.polygon(place, fill=self._part(word))

    def box(
        self, x0: float, y0: float, x1: float, y1: float, colour: np.ndarray | tuple, word: str | None = ""
    ) -> None:
        """A filled upright rectangle."""
        self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], colour, word)

    def ellipse(
        self, x: float, y: float, rx: float, ry: float, colour: np.ndarray | tuple, word: str | None = ""
    ) -> None:
        """A filled upright ellipse."""
        (ax, ay), (bx, by) = self._place([(x - rx, y + ry), (x + rx, y - ry)])
        corners = [min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)]
        self._ink.ellipse(corners, fill=_rgba(colour))
        self._part_ink.ellipse(corners, fill=self._part(word))

    def line(self, points: Points, width: float, colour: np.ndarray | tuple, word: str | None = "") -> None:
        """A polyline of a local width (never thinner than half a pixel of the picture)."""
        place = self._place(points)
        thick = max(_OVERSAMPLING // 2, round(width * self._unit))
        self._ink.line(place, fill=_rgba(colour), width=thick, joint="curve")
        self._part_ink.line(place, fill=self._part(word), width=thick, joint="curve")

    # --- Stamping ---------------------------------------------------------------------------
    def stamp(self, depth: float = 0.0, texture: float = 0.06, lit: bool = True) -> None:
        """Composite the sprite: lit from the sun's side (unless it shines itself), textured and hazed."""
        if self.empty:
            return
        canvas = self.canvas
        pixels = np.asarray(self._image.reduce(_OVERSAMPLING), np.float32) / 255
        alpha = pixels[..., 3:]
        x, y = canvas.x[:, self.columns], canvas.y[self.rows]
        look = pixels[..., :3]
        if lit:
            across = (x - x.mean()) / max(float(np.ptp(x)), 1e-3)
            du, dv = canvas.rng.uniform(0, 1, 2)
            grain = sample(canvas.tiles.rough, x + du, y + dv)
            shade = 0.96 + 0.45 * canvas.light.contrast * canvas.light.side * across + texture * grain
            look = canvas.lit(look, np.broadcast_to(shade, alpha.shape[:2]), depth)
        region = canvas.rgb[self.rows, self.columns]
        region += alpha * (look - region)
        middle = _OVERSAMPLING // 2
        parts = np.asarray(self._parts)[middle::_OVERSAMPLING, middle::_OVERSAMPLING]
        covered = (alpha[..., 0] > 0.5) & (parts > 0)
        values = np.where(parts == _UNNAMED, -1, parts.astype(np.int16) - 1)
        canvas.labels[self.rows, self.columns][covered] = values[covered]
        self._shine()

    def _shine(self) -> None:
        """Relight the lamps, which the night's tint has darkened with everything else."""
        ax, ay, scale = self._anchor
        for px, py, size in self.lamps:
            x, y = ax + (-px if self.flip else px) * scale, ay - py * scale
            self.canvas.glow(x, y, 0.55 * size * scale, _LAMPLIGHT, 0.9)
            self.canvas.glow(x, y, 1.6 * size * scale, _LAMPLIGHT, 0.22)

    def _place(self, points: Points) -> list[tuple[float, float]]:
        sign = -1.0 if self.flip else 1.0
        ox, oy = self._origin
        return [(ox + sign * px * self._unit, oy - py * self._unit) for px, py in points]

    def _part(self, word: str | None) -> int:
        if word == "":
            word = self.word
        return _UNNAMED if word is None else word_index(word) + 1


def _rgba(colour: np.ndarray | tuple) -> tuple[int, int, int, int]:
    red, green, blue = (int(np.clip(channel, 0, 1) * 255 + 0.5) for channel in colour)
    return red, green, blue, 255
