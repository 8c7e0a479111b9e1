"""The sample collection as a corpus, partly tagged: something to try a model on, in one call."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from topicture.annotations.measures import metrics
from topicture.corpus import Corpus
from topicture.demo.scenes import VOCABULARY, Scene, render_scenes
from topicture.models.base import Annotator
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe

__all__ = ["Sample", "sample_photos"]

# Every view, and each of them cheap: some 70 ms of computing time per photo.
RECIPE = Recipe(("deep", "regions:blobs", "visual_words:blobs"), network="lite0", n_words=100)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rendered photos as numbers.

    Attributes
    ----------
    corpus : Corpus
        All photos, with the captions of some: what a model learns from.
    complete : Corpus
        The same with all captions: what it is judged by.
    scenes : tuple of Scene
        The pictures themselves.
    """

    corpus: Corpus
    complete: Corpus
    scenes: tuple[Scene, ...]

    @property
    def untagged(self) -> np.ndarray:
        """Positions of the photos whose captions are hidden."""
        return np.flatnonzero(~self.corpus.tagged)

    def judge(self, model: Annotator) -> metrics.Summary:
        """How well a model that learned from the corpus finds the hidden captions."""
        hidden = self.untagged
        return metrics.summary(model.annotate(self.corpus)[hidden], self.complete[hidden].captions)

    def regions(self, position: int) -> np.ndarray:
        """Which region each pixel of a photo is in, (H, W), as the corpus counts them."""
        return photo_regions(self.scenes[position].pixels, RECIPE)[1]


@lru_cache(maxsize=2)
def sample_photos(n_images: int = 240, *, tagged_fraction: float = 0.5, seed: int = 0) -> Sample:
    """Render photos and describe them in every view; the same arguments give the same numbers.

    Parameters
    ----------
    n_images : int
    tagged_fraction : float
        Share of the photos that keep their captions, drawn at random.
    seed : int
    """
    scenes = tuple(render_scenes(n_images, seed, width=160, height=120))
    complete = describe(
        [Photo(scene.image_id, scene.pixels) for scene in scenes],
        RECIPE,
        captions=[scene.words for scene in scenes],
        vocabulary=VOCABULARY,
        workers=0,
    ).corpus
    hidden = np.random.default_rng(seed).permutation(n_images) >= round(tagged_fraction * n_images)
    return Sample(complete.without_captions(hidden), complete, scenes)
