"""MSRC v2: 591 photographs whose pixels are labelled with one of 23 classes, and segments of them."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from topicture.corpus.archives import DAMAGED, data_folder, existing, one_line, read_members
from topicture.corpus.corpus import Corpus
from topicture.corpus.vocabulary import Vocabulary
from topicture.errors import CorpusError

__all__ = ["MSRC", "msrc_v2"]

# Classes with too few images to learn from, left out by custom.
RARE = ("horse", "mountain")


@dataclass(frozen=True)
class MSRC:
    """Photographs, captions, and the true class of pixels and segments. The corpora hold captions alone.

    Attributes
    ----------
    train, test : Corpus without visual views
    image_archive, mask_archive : zip files
    word_of_value : (classes + 1,) word id of each value of a stored class map; -1 for void and left-out classes
    segments : image id -> segment number -> word, without segments of left-out classes
    """

    train: Corpus
    test: Corpus
    image_archive: Path
    mask_archive: Path
    word_of_value: np.ndarray
    segments: dict[str, dict[int, str]]

    @property
    def vocabulary(self) -> Vocabulary:
        """The classes, without those left out."""
        return self.train.vocabulary

    def image_bytes(self, image_id: str) -> bytes:
        """The JPEG of one image; `images` is quicker for many."""
        ((_, jpeg),) = self.images([image_id])
        return jpeg

    def images(self, image_ids: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """(image id, JPEG) of the given images, or of all, train first."""
        if image_ids is None:
            image_ids = [*self.train.image_ids, *self.test.image_ids]
        return read_members(self.image_archive, {str(image): f"{image}.jpg" for image in image_ids})

    def class_map(self, image_id: str) -> np.ndarray:
        """Word id of every pixel, (H, W) int64; -1 where the class is void or left out."""
        values = self._mask(f"{image_id}.png")
        if values.max(initial=0) >= len(self.word_of_value):
            raise CorpusError(f"{self.mask_archive}: {image_id}.png holds an unknown class")
        return self.word_of_value[values]

    def segment_map(self, image_id: str) -> np.ndarray:
        """Segment number of every pixel, (H, W) int64; 0 is none. `segments[image_id]` gives their words."""
        return self._mask(f"segments/{image_id}.png").astype(np.int64)

    def _mask(self, member: str) -> np.ndarray:
        from PIL import Image  # here, so that corpora without pixels don't load it

        ((_, png),) = read_members(self.mask_archive, {member: member})
        try:
            with Image.open(BytesIO(png), formats=["PNG"]) as picture:
                mask = np.asarray(picture)
        except DAMAGED as error:
            raise CorpusError(f"{self.mask_archive}: {member} can't be decoded ({one_line(error)})") from None
        if mask.ndim != 2:
            raise CorpusError(f"{self.mask_archive}: {member} is not a map of single values")
        return mask


def msrc_v2(data: str | Path | None = None, leave_out: Collection[str] = RARE) -> MSRC:
    """MSRC v2 with our seeded division, 394 train and 197 test images.

    Classes in `leave_out` become void in captions, class maps and segments; an image with no other class goes.

    Raises
    ------
    DataNotFound
        If the folder or the file is not there.
    CorpusError
        If the file is damaged, or `leave_out` names an unknown class.
    """
    folder = data_folder(data) / "msrc_v2"
    path = existing(folder / "msrc_v2.json")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        classes, images = [str(word) for word in facts["classes"]], list(facts["images"])
        words = Vocabulary(word for word in classes if word not in leave_out)
        train, test = (_captions(images, words, part) for part in ("train", "test"))
        segments = {str(image["image"]): _segment_words(image, words) for image in images}
    except DAMAGED as error:
        raise CorpusError(f"{path}: can't be read ({one_line(error)})") from None
    if unknown := set(leave_out) - set(classes):
        raise CorpusError(f"leave_out: MSRC v2 has no class {min(unknown)!r}")
    word_of_value = np.array([-1, *(words.index(word) if word in words else -1 for word in classes)])
    return MSRC(
        train, test, folder / "msrc_v2_images.zip", folder / "msrc_v2_masks.zip", word_of_value, segments
    )


def _captions(images: list[dict[str, Any]], words: Vocabulary, part: str) -> Corpus:
    chosen = [
        image for image in images if image["split"] == part and any(w in words for w in image["labels"])
    ]
    captions = np.zeros((len(chosen), len(words)))
    for row, image in zip(captions, chosen, strict=True):
        row[[words.index(word) for word in image["labels"] if word in words]] = 1
    return Corpus.from_arrays(
        captions=captions, vocabulary=words, image_ids=[str(image["image"]) for image in chosen]
    )


def _segment_words(image: dict[str, Any], words: Vocabulary) -> dict[int, str]:
    return {int(s["id"]): str(s["label"]) for s in image["segments"] if s["label"] in words}
