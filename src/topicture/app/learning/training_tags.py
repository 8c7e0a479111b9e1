"""What people have said about the photos, in the form that learning needs."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicture.corpus import Vocabulary
from topicture.errors import CorpusError
from topicture.store import Catalog
from topicture.store.decisions.decisions import CAPTIONING
from topicture.store.files import LivingImage

__all__ = ["TrainingTags", "gather"]


@dataclass(frozen=True, eq=False)
class TrainingTags:
    """D photos in the order of their content, V words, and the verdicts on them.

    Attributes
    ----------
    images : the photos
    vocabulary : words that enough photos carry
    captions : the words of each photo, those outside the vocabulary left out
    truth : (D, V) bool, the photo has the word
    known : (D, V) bool, a person has judged the pair; what was accepted in bulk is the model's own opinion
    rejected : (D, V) bool
    captioned : (D,) bool, the photo has a caption of its owner's
    too_rare : words that too few photos carry
    """

    images: list[LivingImage]
    vocabulary: Vocabulary
    captions: list[list[str]]
    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    rejected: NDArray[np.bool_]
    captioned: NDArray[np.bool_]
    too_rare: tuple[str, ...]


def gather(catalog: Catalog, min_count: int) -> TrainingTags:
    """Everything that stands in the catalog about the photos that have a file.

    Raises CorpusError where there is nothing to learn from.
    """
    images = catalog.files.living()
    position = {image.image: i for i, image in enumerate(images)}
    tags = [
        (position[image], word, verdict, source)
        for image, word, verdict, source in catalog.tree.with_implied(catalog.decisions.all_tags())
        if image in position
    ]
    counts = Counter(word for _, word, verdict, _ in tags if verdict == "present")
    if not counts:
        raise CorpusError(
            "no photo carries a tag yet: tag some with any photo manager, 'topicture import' or 'topicture tag'"
        )
    frequent = sorted(word for word, n in counts.items() if n >= min_count)
    if not frequent:
        raise CorpusError(f"no tag is on at least {min_count} photos; tag more, or lower --min-count")
    column = {word: i for i, word in enumerate(frequent)}
    shape = (len(images), len(frequent))
    truth, known, rejected, in_bulk = (np.zeros(shape, bool) for _ in range(4))
    captioned = np.zeros(len(images), bool)
    captions: list[list[str]] = [[] for _ in images]
    for row, word, verdict, source in tags:
        captioned[row] |= verdict == "present" and source in CAPTIONING
        if word not in column:
            continue
        truth[row, column[word]] = verdict == "present"
        rejected[row, column[word]] = verdict == "rejected"
        known[row, column[word]] = True
        in_bulk[row, column[word]] = source == "bulk"
        if verdict == "present":
            captions[row].append(word)
    known[captioned] = True
    known &= ~in_bulk
    rare = tuple(sorted(word for word, n in counts.items() if n < min_count))
    return TrainingTags(images, Vocabulary(frequent), captions, truth, known, rejected, captioned, rare)
