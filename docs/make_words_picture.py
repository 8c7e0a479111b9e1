"""Draws docs/images/words.jpg: new scenes, their regions, and the words that a model has for both.

Run with `python docs/make_words_picture.py` (some minutes). Corr-LDA learns from the captions of 600 other scenes and
is never told which word belongs to which region. The scenes are rendered by the package.
"""

import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from topicture_experiments.shared.region_truth import RegionTruth, region_truth

from topicture.annotations.figures.plots import compared_region_words, labelled_regions
from topicture.annotations.predict import region_labels, top_words, top_words_of_each
from topicture.corpus import Vocabulary
from topicture.demo.scenes import VOCABULARY, Scene, render_scene, render_scenes
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator
from topicture.vision.features.transform import Features
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe

SEED, N_TRAINING = 0, 600
SHOWN = (602, 616, 618)  # scenes of the same collection, after those learned from
RECIPE = Recipe(("regions:deep",))
WORDS = Vocabulary(VOCABULARY)
TARGET = Path(__file__).parent / "images" / "words.jpg"


def learn() -> tuple[Features, Annotator]:
    """The fitted way from pixels to regions, and the model."""
    scenes = list(render_scenes(N_TRAINING, SEED))
    description = describe(
        [Photo(scene.image_id, scene.pixels) for scene in scenes],
        RECIPE,
        captions=[scene.words for scene in scenes],
        vocabulary=WORDS,
    )
    model = make_annotator("corr-lda", n_topics=60, max_iter=200, seed=SEED)
    return description.features, model.fit(description.corpus)


def drawings(scene: Scene, features: Features, model: Annotator) -> list[Image.Image]:
    """The scene with each region's best word; and with numbers, beside which are the best three and the truth."""
    pixels, labels = photo_regions(scene.pixels, RECIPE)
    corpus = describe([(scene.image_id, scene.pixels)], features, vocabulary=WORDS, workers=0).corpus
    (of_regions,) = model.label_regions(corpus)
    best = top_words(model.annotate(corpus)[0], WORDS, 4)
    suggested = ", ".join(f"{word} {probability:.2f}" for word, probability in best)
    words = {
        "Corr-LDA": [[word for word, _ in some] for some in top_words_of_each(of_regions, WORDS, 3)],
        "true word": true_words(scene, labels),
    }
    names = [label and label.word for label in region_labels(of_regions, WORDS)]
    return [
        picture(labelled_regions(pixels, labels, names, title=f"Suggested: {suggested}")),
        picture(compared_region_words(pixels, labels, words, title=f"Caption: {', '.join(scene.words)}")),
    ]


def true_words(scene: Scene, labels: np.ndarray) -> list[list[str]]:
    """The word of most pixels of each region, or none."""
    truth = RegionTruth(region_truth(scene.labels, labels, len(WORDS)))
    return [[WORDS[word]] if word >= 0 else [] for word in truth.words.tolist()]


def picture(figure: Figure) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=85)
    return Image.open(buffer).convert("RGB")


def main() -> None:
    features, model = learn()
    rows = [drawings(render_scene(SEED, index), features, model) for index in SHOWN]
    width = max(sum(drawing.width for drawing in row) for row in rows)
    heights = [max(drawing.height for drawing in row) for row in rows]
    sheet = Image.new("RGB", (width, sum(heights)), "white")
    top = 0
    for row, height in zip(rows, heights, strict=True):
        left = 0
        for drawing in row:
            sheet.paste(drawing, (left, top))
            left += drawing.width
        top += height
    TARGET.parent.mkdir(exist_ok=True)
    sheet.save(TARGET, quality=85)


if __name__ == "__main__":
    main()
