"""Small pictures with a known answer."""

import numpy as np

QUADRANT_COLOURS = np.array([[200, 40, 40], [40, 180, 60], [50, 60, 200], [220, 210, 70]], dtype=np.uint8)


def constant(height, width, colour=(90, 120, 150)):
    return np.full((height, width, 3), colour, dtype=np.uint8)


def quadrants(height=60, width=80):
    """Four coloured quarters: the picture and its true label map (0 1 / 2 3)."""
    truth = 2 * (np.arange(height) >= height // 2)[:, None] + (np.arange(width) >= width // 2)
    return QUADRANT_COLOURS[truth], truth.astype(np.int32)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def gradient(height=60, width=80):
    """Dark at the left, bright at the right, grey."""
    ramp = np.linspace(0, 255, width).astype(np.uint8)
    return np.broadcast_to(ramp[None, :, None], (height, width, 3)).copy()


def stripes(height, width, period, along_rows):
    """Black and white stripes; `along_rows` makes them horizontal."""
    index = np.arange(height)[:, None] if along_rows else np.arange(width)[None]
    on = np.broadcast_to(index // period % 2, (height, width))
    return np.repeat((255 * on[..., None]).astype(np.uint8), 3, axis=2)
