"""What people have said about the photos, in the form that learning needs.

What was accepted in bulk is the model's own opinion: it is no caption, teaches nothing and counts as not judged, until
a person confirms it.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicture.corpus import Vocabulary
from topicture.errors import CorpusError
from topicture.store import Catalog
from topicture.store.decisions.decisions import BY_MACHINE, CAPTIONING
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
    known : (D, V) bool, a person has judged the pair
    rejected : (D, V) bool
    captioned : (D,) bool, the photo has a caption of its owner's
    given : (D, V) bool, the word is in that caption, rather than an answer to a question
    asked : (D, V) bool, an answer to a question that was drawn at random ("did you leave this out?")
    too_rare : words that too few photos carry
    """

    images: list[LivingImage]
    vocabulary: Vocabulary
    captions: list[list[str]]
    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]
    rejected: NDArray[np.bool_]
    captioned: NDArray[np.bool_]
    given: NDArray[np.bool_]
    asked: NDArray[np.bool_]
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
        if image in position and source not in BY_MACHINE
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
    truth, known, rejected, given, asked = (np.zeros(shape, bool) for _ in range(5))
    drawn = catalog.questions.pairs()
    captioned = np.zeros(len(images), bool)
    captions: list[list[str]] = [[] for _ in images]
    for row, word, verdict, source in tags:
        captioned[row] |= verdict == "present" and source in CAPTIONING
        if word not in column:
            continue
        truth[row, column[word]] = verdict == "present"
        rejected[row, column[word]] = verdict == "rejected" and source != "delete"
        known[row, column[word]] = True
        given[row, column[word]] = verdict == "present" and source in CAPTIONING
        asked[row, column[word]] = source == "review" and (images[row].image, word) in drawn
        if verdict == "present":
            captions[row].append(word)
    known[captioned] = True
    rare = tuple(sorted(word for word, n in counts.items() if n < min_count))
    asked &= captioned[:, None]
    return TrainingTags(
        images, Vocabulary(frequent), captions, truth, known, rejected, captioned, given, asked, rare
    )
