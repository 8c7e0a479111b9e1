"""Which word belongs to which part of a photo of the catalog; and a PNG file that shows it."""

import io
from collections.abc import Iterator
from colorsys import hls_to_rgb

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from topicture.app.learning.labelling import (
    NO_WORD,
    Labelled,
    RegionLabel,
    WordBox,
    label_photo,
    region_model,
)
from topicture.app.verbs.photos import file_of_photo
from topicture.collection.words import printable
from topicture.store import Catalog

__all__ = ["draw_regions", "label_image", "name_places"]

SHORTEST_SIDE = 480  # small photos are enlarged, so that words fit
TINT = 0.35  # how much of a word's colour lies over its regions
GOLDEN_ANGLE = 0.381966  # of a turn: hues that differ however many there are
LONGEST_NAME = 40

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels."""


def label_image(catalog: Catalog, image: int, *, tags: bool = True) -> Labelled:
    """The best word of every region of a photo, and where its words are.

    With `tags` its own are preferred, or else what `annotate` suggests. Raises DataNotFound, NotFitted, ImageError.
    """
    path = file_of_photo(catalog, image)
    known: dict[str, float] = {}
    if tags:
        known = {tag.word: 1.0 for tag in catalog.decisions.tags_of(image) if tag.verdict == "present"}
        known = known or _suggested(catalog, image)
    return label_photo(catalog, region_model(catalog), path, known)


def _suggested(catalog: Catalog, image: int) -> dict[str, float]:
    models = catalog.suggestions.models()
    found = catalog.suggestions.open(models[0].id, image=image) if models else []
    return {suggestion.word: suggestion.probability for suggestion in found}


def draw_regions(labelled: Labelled) -> bytes:
    """A PNG file: regions in the colour of their word, a rectangle for each word, its name where nothing is covered.

    Rectangles that are rather wrong than right have thin lines.
    """
    scale = max(1, -(-SHORTEST_SIDE // min(labelled.pixels.shape[:2])))
    pixels = labelled.pixels.repeat(scale, axis=0).repeat(scale, axis=1).astype(np.float32)
    labels = labelled.labels.repeat(scale, axis=0).repeat(scale, axis=1)
    words = sorted({region.word for region in labelled.regions} | {box.word for box in labelled.boxes} - {""})
    colour_of = {word: _colour(n) for n, word in enumerate(word for word in words if word)}
    for region in labelled.regions:
        if region.word:
            inside = labels == region.region
            pixels[inside] = (1 - TINT) * pixels[inside] + TINT * np.array(colour_of[region.word])
    image = Image.fromarray(pixels.round().astype(np.uint8))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=max(12, min(image.size) // 28))
    frames = [_frame(box, image.size) for box in labelled.boxes]
    for box, frame in zip(labelled.boxes, frames, strict=True):
        sure = box.probability >= NO_WORD
        draw.rectangle(frame, outline="black", width=5 if sure else 3)
        draw.rectangle(
            [frame[0] + 1, frame[1] + 1, frame[2] - 1, frame[3] - 1],
            outline=colour_of[box.word],
            width=3 if sure else 1,
        )
    named = [(box.word, box.probability) for box in labelled.boxes]
    for region in _without_box(labelled):
        named.append((region.word, region.probability))
        rows, columns = np.nonzero(labels == region.region)
        frames.append((float(columns.min()), float(rows.min()), float(columns.max()), float(rows.max())))
    names = [f"{printable(word)[:LONGEST_NAME]} {probability:.0%}" for word, probability in named]
    sizes = [draw.textbbox((0, 0), name, font, stroke_width=1)[2:] for name in names]
    places = name_places(frames, [(width + 8, height + 6) for width, height in sizes], image.size)
    for (word, _), name, place in zip(named, names, places, strict=True):
        if place is not None:
            draw.rectangle(place, fill=colour_of[word], outline="black")
            draw.text((place[0] + 4, place[1] + 2), name, "black", font)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def _without_box(labelled: Labelled) -> list[RegionLabel]:
    """The largest region of each word that colours regions and has no rectangle: no colour goes without its name."""
    boxed = {"", *(box.word for box in labelled.boxes)}
    largest: dict[str, RegionLabel] = {}
    for region in sorted(labelled.regions, key=lambda region: (region.area, -region.region)):
        if region.word not in boxed:
            largest[region.word] = region
    return list(largest.values())


def name_places(
    frames: list[Rectangle], sizes: list[tuple[float, float]], picture: tuple[int, int]
) -> list[Rectangle | None]:
    """Where names of the given sizes go: in their frames if there is room, within the picture, never over one another.

    None for a name that fits nowhere any more.
    """
    taken: list[Rectangle] = []
    found: list[Rectangle | None] = []
    for frame, size in zip(frames, sizes, strict=True):
        place = next((spot for spot in _spots(frame, size, picture) if not _touches(spot, taken)), None)
        found.append(place)
        if place is not None:
            taken.append(place)
    return found


def _spots(frame: Rectangle, size: tuple[float, float], picture: tuple[int, int]) -> Iterator[Rectangle]:
    """Places for a name within the picture: down the left and right edge of its frame, then anywhere below the top."""
    width, height = size
    if width > picture[0] or height > picture[1]:
        return
    right, bottom = picture[0] - width - 1, picture[1] - height - 1
    rows = np.arange(frame[1], frame[3] - height, height + 1).tolist() or [frame[1]]
    everywhere = np.arange(0, bottom + 1, height + 1).tolist()
    edges = [(frame[0], rows), (frame[2] - width, rows)]
    for left, tops in [*edges, *((x, everywhere) for x in (frame[0], 0, right))]:
        for top in tops:
            x, y = min(max(left, 0), max(right, 0)), min(max(top, 0), max(bottom, 0))
            yield x, y, x + width, y + height


def _touches(spot: Rectangle, taken: list[Rectangle]) -> bool:
    return any(
        spot[0] < other[2] and other[0] < spot[2] and spot[1] < other[3] and other[1] < spot[3]
        for other in taken
    )


def _frame(box: WordBox, picture: tuple[int, int]) -> Rectangle:
    width, height = picture
    right, bottom = min(width - 1, (box.x + box.w) * width - 1), min(height - 1, (box.y + box.h) * height - 1)
    left, top = min(box.x * width, right), min(box.y * height, bottom)
    return left, top, max(right, left + 6), max(bottom, top + 6)


def _colour(number: int) -> tuple[int, int, int]:
    """A light colour that differs from those of other numbers."""
    red, green, blue = hls_to_rgb(number * GOLDEN_ANGLE % 1, 0.65, 0.9)
    return round(255 * red), round(255 * green), round(255 * blue)
