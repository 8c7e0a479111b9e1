"""Fractal noise: periodic tiles cut once per seed, and one-dimensional profiles.

Every texture of a scene is a look-up in one of three tiles at a random offset, so that the cost of
noise is a gather and not a synthesis. Tiles depend on the seed alone, hence every process that renders
an image of a collection holds the same ones.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["Tiles", "noise_tiles", "profile", "sample", "smoothstep"]

_SIZE = 512  # texels a side; a power of two, so that wrapping is a bit mask


class Tiles(NamedTuple):
    """Periodic noise, each (512, 512) float32 with mean 0 and standard deviation 1."""

    smooth: np.ndarray  # clouds, patches of ground
    rough: np.ndarray  # rock, ripples
    grain: np.ndarray  # leaves, gravel


@lru_cache(maxsize=4)
def noise_tiles(seed: int) -> Tiles:
    """The tiles of a seed: white noise shaped to a power-law spectrum in the Fourier domain."""
    rng = np.random.default_rng([seed, 0x7E47])
    return Tiles(
        smooth=_spectral_tile(rng, exponent=1.75, lowest=2, highest=128),
        rough=_spectral_tile(rng, exponent=1.1, lowest=5, highest=200),
        grain=_spectral_tile(rng, exponent=0.4, lowest=24, highest=220),
    )


def _spectral_tile(rng: np.random.Generator, exponent: float, lowest: int, highest: int) -> np.ndarray:
    """Noise whose amplitude falls as frequency**-exponent between two frequencies (cycles a tile)."""
    rows = np.fft.fftfreq(_SIZE, 1 / _SIZE)[:, None]
    columns = np.fft.rfftfreq(_SIZE, 1 / _SIZE)[None, :]
    frequency = np.maximum(np.hypot(rows, columns), 1.0)
    gain = frequency**-exponent / (1 + (lowest / frequency) ** 6) / (1 + (frequency / highest) ** 6)
    gain[0, 0] = 0.0
    tile = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((_SIZE, _SIZE))) * gain, s=(_SIZE, _SIZE))
    return (tile / tile.std()).astype(np.float32)


def sample(tile: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Bilinear look-up of a periodic tile; u (across) and v (down) count tile periods and broadcast."""
    u, v = np.broadcast_arrays(u * _SIZE, v * _SIZE)
    column, row = np.floor(u), np.floor(v)
    across, down = (u - column).astype(np.float32), (v - row).astype(np.float32)
    left, top = column.astype(np.int32) & (_SIZE - 1), row.astype(np.int32) & (_SIZE - 1)
    right, bottom = (left + 1) & (_SIZE - 1), ((top + 1) & (_SIZE - 1)) * _SIZE
    top = top * _SIZE
    texels = tile.ravel()
    upper = texels[top + left] * (1 - across) + texels[top + right] * across
    lower = texels[bottom + left] * (1 - across) + texels[bottom + right] * across
    return upper + down * (lower - upper)


def profile(
    rng: np.random.Generator, x: np.ndarray, frequency: float, octaves: int = 4, ridged: bool = False
) -> np.ndarray:
    """Fractal value noise along x, about [-1, 1]; `ridged` folds it into sharp crests (peaks near 1)."""
    total = np.zeros_like(x, dtype=np.float32)
    amplitude, norm = 1.0, 0.0
    for _ in range(octaves):
        # The count of values drawn must not depend on the picture's size in pixels.
        values = rng.uniform(-1, 1, 64).astype(np.float32)
        place = x * frequency + rng.uniform(0, 64)
        cell = np.floor(place)
        t = place - cell
        t = t * t * (3 - 2 * t)
        left = cell.astype(np.int32) & 63
        layer = values[left] * (1 - t) + values[(left + 1) & 63] * t
        total += amplitude * (1 - 2 * np.abs(layer) if ridged else layer)
        norm += amplitude
        amplitude *= 0.5
        frequency *= 2.0
    return total / norm


def smoothstep(low: float, high: float, value: np.ndarray) -> np.ndarray:
    """0 below low, 1 above high, a smooth cubic between."""
    t = np.clip((value - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)
