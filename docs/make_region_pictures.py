"""Draws docs/images/regions.png: sample scenes and their regions under each method.

Run with `python docs/make_region_pictures.py`; the scenes are rendered by the package, so the picture is the same
everywhere.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import binary_dilation
from skimage.segmentation import find_boundaries

from topicture.demo.scenes import render_scene
from topicture.vision.segment import segment, segment_methods

SCENES = (2, 8, 13)  # of seed 0
WIDTH, HEIGHT = 256, 192
GAP, HEADING = 8, 26
TARGET = Path(__file__).parent / "images" / "regions.png"


def outlined(pixels: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The picture with every region's outline in white on black, readable on light and dark ground."""
    outline = find_boundaries(labels + 1, mode="inner")  # scikit-image takes 0 for background
    halo = binary_dilation(outline)
    return np.where(outline[..., None], 255, np.where(halo[..., None], 0, pixels)).astype(np.uint8)


def panels(pixels: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Heading and drawing of the picture itself and of each method."""
    drawings = [("picture", pixels)]
    for method in segment_methods():
        labels = segment(pixels, method)
        drawings.append((f"{method}: {labels.max() + 1} regions", outlined(pixels, labels)))
    return drawings


def main() -> None:
    rows = [panels(render_scene(0, index, WIDTH, HEIGHT).pixels) for index in SCENES]
    cell_width, cell_height = WIDTH + GAP, HEIGHT + HEADING + GAP
    sheet = Image.new("RGB", (GAP + cell_width * len(rows[0]), GAP + cell_height * len(rows)), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=16)
    for r, row in enumerate(rows):
        for c, (heading, drawing) in enumerate(row):
            left, top = GAP + c * cell_width, GAP + r * cell_height
            draw.text((left, top), heading, fill="black", font=font)
            sheet.paste(Image.fromarray(drawing), (left, top + HEADING))
    TARGET.parent.mkdir(exist_ok=True)
    sheet.save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
