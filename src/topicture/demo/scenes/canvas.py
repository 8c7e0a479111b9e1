"""The canvas: colours and labels painted back to front, in units of the picture's height.

Places are (x, y) with x across from the left edge, y down from the top edge, both in picture heights,
so that a scene is the same at any size. Depth runs from 0 (near) to 1 (far away) and fades colours
into the haze.
"""

import numpy as np

from topicture.demo.scenes.light import Light
from topicture.demo.scenes.noise import Tiles, sample, smoothstep
from topicture.demo.scenes.vocabulary import word_index

__all__ = ["Canvas"]


class Canvas:
    """Pixels (H, W, 3) float32 in [0, 1] and labels (H, W) int16 being painted under one light."""

    def __init__(self, rng: np.random.Generator, tiles: Tiles, light: Light, width: int, height: int) -> None:
        self.rng = rng
        self.tiles = tiles
        self.light = light
        self.width, self.height = width, height
        self.aspect = width / height
        self.x = ((np.arange(width, dtype=np.float32) + 0.5) / height)[None, :]
        self.y = ((np.arange(height, dtype=np.float32) + 0.5) / height)[:, None]
        self.rgb = np.zeros((height, width, 3), np.float32)
        self.labels = np.full((height, width), -1, np.int16)
        self.scene_words: set[str] = set()

    # --- Light ------------------------------------------------------------------------------
    def lit(
        self, colour: np.ndarray, shade: np.ndarray | float = 1.0, depth: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """The look of a surface of this colour, shaded, and seen through the haze at a depth."""
        look = np.asarray(colour, np.float32) * self.light.tint * np.float32(1)
        look = look * np.asarray(shade, np.float32)[..., None]
        veil = 1 - np.exp(-self.light.haze_density * np.asarray(depth, np.float32))
        return look + veil[..., None] * (self.light.haze - look)

    # --- Painting ---------------------------------------------------------------------------
    def paint(self, alpha: np.ndarray, colour: np.ndarray, word: str | None, top: int = 0) -> None:
        """Cover rows `top` onwards with a colour where alpha is high, and label those pixels.

        alpha (h, W) in [0, 1]; colour (3,) or (h, W, 3). A thing without a word erases the labels it hides.
        """
        rows = slice(top, top + alpha.shape[0])
        region = self.rgb[rows]
        region += alpha[..., None] * (colour - region)
        self.labels[rows][alpha > 0.5] = -1 if word is None else word_index(word)

    def veil(self, alpha: np.ndarray, colour: np.ndarray, top: int = 0, left: int = 0) -> None:
        """Blend towards a colour without touching labels: glows, mist, foam, dust."""
        region = self.rgb[top : top + alpha.shape[0], left : left + alpha.shape[1]]
        region += alpha[..., None] * (colour - region)

    def label(self, where: tuple[slice, slice], word: str, mask: np.ndarray | None = None) -> None:
        """Label the pixels of a box (those of them in the mask) without painting."""
        if mask is None:
            self.labels[where] = word_index(word)
        else:
            self.labels[where][mask] = word_index(word)

    def window(self, x0: float, y0: float, x1: float, y1: float) -> tuple[slice, slice]:
        """Rows and columns of the pixels inside a box, clipped to the picture."""
        clip_x = np.clip([np.floor(x0 * self.height), np.ceil(x1 * self.height)], 0, self.width).astype(int)
        clip_y = np.clip([np.floor(y0 * self.height), np.ceil(y1 * self.height)], 0, self.height).astype(int)
        return slice(clip_y[0], clip_y[1]), slice(clip_x[0], clip_x[1])

    def below(self, edge: np.ndarray | float) -> np.ndarray:
        """Antialiased mask (H, W) of what lies below an edge, y as a function of x."""
        return np.broadcast_to(np.clip((self.y - edge) * self.height + 0.5, 0, 1), (self.height, self.width))

    def noise(self, tile: np.ndarray, scale: float, stretch: float = 1.0) -> np.ndarray:
        """A full-picture texture (H, W); scale is in tile periods a picture height, stretch widens it."""
        du, dv = self.rng.uniform(0, 1, 2)
        return sample(tile, self.x * (scale / stretch) + du, self.y * scale + dv)

    def shadow(self, x: float, y: float, width: float, strength: float = 0.5) -> None:
        """Darken the ground beside a thing that stands at (x, y), away from the sun."""
        light = self.light
        reach = {"day": 0.7, "golden": 1.8, "sunset": 1.4, "night": 0.4, "overcast": 0.2}[light.time] * width
        cx, half, thick = x - light.side * 0.5 * reach, 0.5 * width + 0.5 * reach, 0.10 * width + 0.004
        rows, columns = self.window(cx - 1.4 * half, y - 2 * thick, cx + 1.4 * half, y + 2 * thick)
        distance = ((self.x[:, columns] - cx) / half) ** 2 + ((self.y[rows] - y) / thick) ** 2
        dark = strength * (0.35 + 0.65 * light.contrast) * (1 - smoothstep(0.3, 1.5, distance))
        self.rgb[rows, columns] *= 1 - dark[..., None]

    def glow(self, x: float, y: float, radius: float, colour: np.ndarray, strength: float) -> None:
        """Add light around a lamp or the sun."""
        rows, columns = self.window(x - 3 * radius, y - 3 * radius, x + 3 * radius, y + 3 * radius)
        square = ((self.x[:, columns] - x) ** 2 + (self.y[rows] - y) ** 2) / radius**2
        self.rgb[rows, columns] += (strength * np.exp(-square))[..., None] * colour

    def puffs(
        self,
        blobs: np.ndarray,
        colour: np.ndarray,
        word: str,
        depth: float = 0.0,
        rough: float = 0.35,
        leaf: float = 0.6,
    ) -> None:
        """Paint a cluster of shaded balls with ragged edges: crowns, bushes, wool, boulders, clouds.

        blobs (n, 3): centre x, centre y, radius. `rough` is how ragged the outline is, `leaf` the
        fineness of the texture in tile periods a picture height.
        """
        reach = blobs[:, 2] * 1.25
        box = (blobs[:, :2] - reach[:, None]).min(0), (blobs[:, :2] + reach[:, None]).max(0)
        rows, columns = self.window(*box[0], *box[1])
        x, y = self.x[:, columns], self.y[rows]
        if x.size == 0 or y.size == 0:
            return
        du, dv = self.rng.uniform(0, 1, 2)
        texture = sample(self.tiles.grain, x * leaf + du, y * leaf + dv)
        front = np.full(texture.shape, -np.inf, np.float32)
        cover = np.full(texture.shape, -1.0, np.float32)
        facing = np.zeros(texture.shape, np.float32)
        side, contrast = self.light.side, self.light.contrast
        for cx, cy, radius in blobs.astype(np.float32):
            nx, ny = (x - cx) / radius, (y - cy) / radius
            inside = 1 - nx * nx - ny * ny
            nz = np.sqrt(np.maximum(inside, 0))
            height = np.where(inside > -0.5, nz * radius + 0.3 * (cy - y), -1)
            nearer = height > front
            facing = np.where(nearer, 0.55 * side * nx - 0.65 * ny + 0.3 * nz, facing)
            np.maximum(front, height, out=front)
            np.maximum(cover, inside, out=cover)
        soft = max(0.12, 1.2 / (self.height * float(blobs[:, 2].mean())))
        alpha = smoothstep(-soft, soft, cover + rough * texture * 0.5 - 0.15 * rough)
        shade = 0.72 + (0.16 + 0.30 * contrast) * facing + 0.13 * texture * min(1.0, rough * 2)
        look = self.lit(colour, np.clip(shade, 0.12, 1.35), depth)
        region = self.rgb[rows, columns]
        region += alpha[..., None] * (look - region)
        self.labels[rows, columns][alpha > 0.5] = word_index(word)
