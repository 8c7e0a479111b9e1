"""A collection in which people have decided much: what the tests of its safety share."""

import os

from photo_folder import LONG_AGO, hashes, make_library, put, xmp

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision


def decided(root, n=6, words_each=lambda number: 2):
    """A library with keywords in photos and sidecars, answers of all kinds, and everything written."""
    library = make_library(root, n=n, tagged=2)
    put(root / "photo-002.jpg.xmp", xmp(["dusk", "family"]))
    library.scan()
    with Catalog.open(library.folder, write=True) as catalog:
        images = [catalog.files.at(path).image for path in sorted(catalog.files.known())]
        for source, kind in (("review", 0), ("bulk", 1), ("import", 2)):
            catalog.decisions.decide(
                [
                    Decision(image, f"word-{number}", "present", 1, 0.5 + number / 100)
                    for i, image in enumerate(images)
                    for number in range(words_each(i))
                    if (i + number) % 3 == kind
                ],
                source,
            )
        catalog.decisions.decide([Decision(images[0], "rose", "rejected")], "review")
        catalog.decisions.decide([Decision(images[-1], "wrong", "rejected")], "review")
    library.write(regions=False)
    return library


def state(library):
    """Every verdict that stands, with its source and what the model had said, and the words nobody wants."""
    with Catalog.open(library.folder) as catalog:
        tags = catalog.database.execute(
            "SELECT hex(content), words.word, t.verdict, t.source, d.model, d.probability FROM tags AS t "
            "JOIN words ON words.id = t.word JOIN images ON images.id = t.image "
            "JOIN decisions AS d ON d.id = t.decision ORDER BY 1, 2"
        ).fetchall()
        return tags, catalog.decisions.deleted_words()


def sidecars(root):
    """Path -> hash of each sidecar."""
    return {name: value for name, value in hashes(root).items() if name.endswith(".xmp")}


def later(path, seconds=10):
    """Touch a file as a later change would."""
    os.utime(path, (LONG_AGO + seconds, LONG_AGO + seconds))
    return path
