"""Which word belongs to which part of a photo of the catalog; and a PNG file that shows it."""

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from topicture.app.learning.labelling import Labelled, label_photo, region_model
from topicture.app.verbs.photos import file_of_photo
from topicture.collection.words import printable
from topicture.store import Catalog

__all__ = ["draw_regions", "label_image"]

SHORTEST_SIDE = 480  # small photos are enlarged, so that words fit into their regions


def label_image(catalog: Catalog, image: int, *, only_tags: bool = False) -> Labelled:
    """The best word of every region of a photo; with `only_tags`, among the words that it has.

    Raises DataNotFound, NotFitted, ImageError.
    """
    path = file_of_photo(catalog, image)
    words = [tag.word for tag in catalog.decisions.tags_of(image) if tag.verdict == "present"]
    return label_photo(catalog, region_model(catalog), path, words if only_tags else None)


def draw_regions(labelled: Labelled) -> bytes:
    """A PNG file: the regions outlined, each word at the middle of its region."""
    scale = max(1, -(-SHORTEST_SIDE // min(labelled.pixels.shape[:2])))
    pixels = labelled.pixels.repeat(scale, axis=0).repeat(scale, axis=1)
    labels = labelled.labels.repeat(scale, axis=0).repeat(scale, axis=1)
    edge = np.zeros(labels.shape, bool)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    image = Image.fromarray(np.where(edge[..., None], np.uint8(255), pixels))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=max(12, min(image.size) // 28))
    for region in labelled.regions:
        rows, columns = np.nonzero(labels == region.region)
        if len(rows):
            # The pixel of the region nearest to its middle: the mean itself may lie outside a bent region.
            nearest = np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2)
            position = (float(columns[nearest]), float(rows[nearest]))
            text = f"{printable(region.word)[:40]} {region.probability:.0%}"
            draw.text(position, text, "white", font, anchor="mm", stroke_width=2, stroke_fill="black")
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
