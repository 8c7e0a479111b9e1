"""A folder of small photos whose colours tell their words: quick to look at, and learnable."""

import hashlib
import io
import os
import shutil

import numpy as np
from PIL import Image

from topicture.app.verbs.library import Library
from topicture.store import Catalog

COLOURS = {"rose": (200, 40, 50), "grass": (50, 170, 60), "sea": (40, 70, 190), "sand": (215, 195, 120)}
RECIPE = {"views": ["colour-layout"], "max_side": 32}
LONG_AGO = 1_600_000_000
N, N_TAGGED = 64, 48


def words_of(number):
    """The true words of photo `number`: one a half, upper and lower."""
    names = list(COLOURS)
    return names[number % 4], names[(number // 4 + number) % 4]


def jpeg(number, keywords=()):
    """Photo `number`, with keywords in its XMP."""
    rng = np.random.default_rng(number)
    upper, lower = (np.array(COLOURS[word]) for word in words_of(number))
    pixels = np.concatenate([np.tile(upper, (12, 32, 1)), np.tile(lower, (12, 32, 1))])
    pixels = np.clip(pixels + rng.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=90, **({"xmp": xmp(keywords)} if keywords else {}))
    return stream.getvalue()


def xmp(keywords):
    items = "".join(f"<rdf:li>{word}</rdf:li>" for word in keywords)
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def put(path, content):
    """Write a file whose time stamp is long settled."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def make_photos(root, n=N, tagged=N_TAGGED):
    """n photos, the first `tagged` of them with their keywords, half of them in a subfolder."""
    for number in range(n):
        keywords = sorted(set(words_of(number))) if number < tagged else ()
        put(root / ("trip" if number % 2 else "") / f"photo-{number:03d}.jpg", jpeg(number, keywords))
    return root


def copy_library(root, copy):
    """A copy of a collection with its catalog, which is told that the photos of the copy are its own; its folder."""
    shutil.copytree(root, copy)
    Catalog.open(copy / ".topicture", write=True, root=copy).close()
    return copy


def make_library(root, **sizes):
    """A scanned library of such photos."""
    library = Library.create(make_photos(root, **sizes), recipe=RECIPE)
    library.scan()
    return library


def learn(library, model="lsa"):
    library.learn(model, regions=False, workers=0)
    library.annotate(workers=0)


def hashes(root):
    """Relative path -> hash of the content, of everything outside the catalog."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".topicture" not in path.parts
    }
