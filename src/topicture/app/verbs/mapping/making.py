"""Make the map: where the image-word embedding puts photos and words, if that is the newest model; else by looks."""

import time
from dataclasses import dataclass

import numpy as np

from topicture.app.progress import Report, silent
from topicture.app.verbs.mapping.map_file import write_map
from topicture.app.verbs.mapping.plane import lay_out, place_of_word, to_square
from topicture.errors import DataNotFound
from topicture.store import Catalog

__all__ = ["MapReport", "make_map"]

FEWEST = 2  # photos of a word that has a place


@dataclass(frozen=True)
class MapReport:
    """What was put on the map; `source` is "iwe" or "looks"."""

    version: str
    photos: int
    words: int
    source: str


def make_map(catalog: Catalog, report: Report = silent, *, workers: int = 2) -> MapReport:
    """Lay out all photos of the search index and their words on a plane, and keep it under the catalog's cache.

    It reads the catalog only. Raises DataNotFound where photos were not looked at yet.
    """
    models = catalog.suggestions.models()
    if models and models[0].name == "iwe":
        images, places, words, at = _by_embedding(catalog, workers, report)
        source = "iwe"
    else:
        images, places = _by_looks(catalog, report)
        words, at = _words_among(catalog, images, places)
        source = "looks"
    if not len(images):
        raise DataNotFound("there is no photo to put on a map; run 'topicture annotate'")
    places, at = to_square(places, at)
    rows = [(word, float(x), float(y)) for word, (x, y) in zip(words, at, strict=True)]
    version = write_map(
        catalog.cache,
        index=str(catalog.get("index")),
        source=source,
        made=time.time(),
        words=rows,
        images=images,
        places=places,
    )
    return MapReport(version, len(images), len(words), source)


def _by_looks(catalog: Catalog, report: Report) -> tuple[np.ndarray, np.ndarray]:
    rows = catalog.features()
    if rows is None:
        raise DataNotFound("the map needs an index of what photos look like; run 'topicture annotate'")
    images = np.asarray(catalog.index_images())
    return images, lay_out(rows, report) if len(images) else np.zeros((0, 2), np.float32)


def _words_among(catalog: Catalog, images: np.ndarray, places: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Words that enough photos have, where most of these are."""
    words, at = [], []
    for word, mine in catalog.words.images():
        here = np.searchsorted(images, mine)
        here = here[(here < len(images)) & (images[np.minimum(here, len(images) - 1)] == mine)]
        if len(here) >= FEWEST:
            words.append(word)
            at.append(place_of_word(places[here]))
    return words, np.array(at, np.float32).reshape(-1, 2)


def _by_embedding(
    catalog: Catalog, workers: int, report: Report
) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray]:
    """Where a learned IWE has words, and puts photos; of more than two dimensions, the two that differ most."""
    from topicture.app.learning.learning import look_at
    from topicture.app.learning.model_folder import load_learned

    learned = load_learned(catalog.model_folder(catalog.suggestions.newest()), regions=False)
    living = catalog.files.living()
    description = look_at(catalog, living, learned.features, workers, report, vocabulary=learned.vocabulary)
    images = np.array([living[i].image for i in description.kept], np.int64)
    order = np.argsort(images)
    places = np.asarray(learned.annotator.transform(description.corpus))[order]
    at = np.asarray(learned.annotator.word_coordinates_)
    if places.shape[1] > 2:
        centre = places.mean(axis=0)
        _, _, directions = np.linalg.svd(places - centre, full_matrices=False)
        places, at = (places - centre) @ directions[:2].T, (at - centre) @ directions[:2].T
    return images[order], places, list(learned.vocabulary), at
