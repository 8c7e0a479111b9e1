"""The sample collection as a folder: JPEG files with embedded keywords, a table of captions, label maps."""

import colorsys
import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from PIL import Image

from topicture.atomic import write_atomically
from topicture.demo.scenes.render import Scene
from topicture.demo.scenes.stream import render_scenes
from topicture.demo.scenes.vocabulary import VOCABULARY

__all__ = ["write_collection"]

_QUALITY = 92
_NOTHING = 255  # in a label PNG: no word; other values index the vocabulary


def write_collection(
    folder: str | os.PathLike,
    n: int,
    seed: int = 0,
    *,
    width: int = 256,
    height: int = 192,
    workers: int = 1,
    captioned: float = 1.0,
    keywords: bool = True,
    labels: bool = False,
) -> list[Path]:
    """Render n images into a folder and return their paths.

    Writes scene-00001.jpg and so on, then `captions.csv` with the columns file and words (separated by
    semicolons, empty for a photo without a caption). Each file appears complete or not at all, and the
    table comes last. Other files of the folder are left alone.

    Parameters
    ----------
    folder : path
        Made where it does not exist.
    captioned : float
        Share of the photos that carry their caption. Which ones depends on the seed and the index alone, so
        that a larger collection extends a smaller one.
    keywords : bool
        Embed the captions in the photos as XMP keywords (dc:subject).
    labels : bool
        Also write the truth: `labels/scene-00001.png` whose pixel values index the vocabulary (255: no
        word), `labels/vocabulary.txt`, and `truth.csv` with all the words true of each photo.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if labels:
        (folder / "labels").mkdir(exist_ok=True)
    paths, captions, truths = [], [], []
    for index, scene in enumerate(render_scenes(n, seed, width, height, workers)):
        words = scene.words if _has_caption(seed, index, captioned) else ()
        path = folder / f"{scene.image_id}.jpg"
        write_atomically(path, _jpeg(scene, words if keywords else ()))
        if labels:
            write_atomically(folder / "labels" / f"{scene.image_id}.png", _label_png(scene.labels))
        paths.append(path)
        captions.append((path.name, words))
        truths.append((path.name, scene.present))
    if labels:
        write_atomically(folder / "labels" / "vocabulary.txt", ("\n".join(VOCABULARY) + "\n").encode())
        write_atomically(folder / "truth.csv", _table(truths))
    write_atomically(folder / "captions.csv", _table(captions))
    return paths


def _has_caption(seed: int, index: int, share: float) -> bool:
    return bool(np.random.default_rng([seed, index, 0xCA9]).random() < share)


def _jpeg(scene: Scene, words: tuple[str, ...]) -> bytes:
    stream = io.BytesIO()
    metadata = {"xmp": _xmp(words)} if words else {}
    Image.fromarray(scene.pixels).save(stream, "JPEG", quality=_QUALITY, subsampling=0, **metadata)
    return stream.getvalue()


def _xmp(words: tuple[str, ...]) -> bytes:
    """An XMP packet whose dc:subject is the bag of words."""
    items = "".join(f"<rdf:li>{escape(word)}</rdf:li>" for word in words)
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
        '<?xpacket end="w"?>'
    ).encode()


def _label_png(labels: np.ndarray) -> bytes:
    """The map as a palette image: values are word indices, colours are for the eye."""
    image = Image.fromarray(np.where(labels < 0, _NOTHING, labels).astype(np.uint8), "L").convert("P")
    image.putpalette([round(255 * channel) for index in range(256) for channel in _hue(index)])
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def _hue(index: int) -> tuple[float, float, float]:
    """A colour for a word; neighbours in the vocabulary are far apart on the wheel."""
    if index == _NOTHING:
        return 0.0, 0.0, 0.0
    return colorsys.hsv_to_rgb(index * 0.618034 % 1, 0.45 + 0.25 * (index % 3), 0.95 - 0.2 * (index % 2))


def _table(rows: Iterable[tuple[str, tuple[str, ...]]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("file", "words"))
    writer.writerows((name, ";".join(words)) for name, words in rows)
    return stream.getvalue().encode()
