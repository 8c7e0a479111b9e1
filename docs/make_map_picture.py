"""Draws docs/images/map.png: the map that IWE learns of the sample collection, words and pictures.

Run with `python docs/make_map_picture.py`; the scenes are rendered by the package, so the picture is the same
everywhere. Two scenes in three are tagged: the words are where these put them. Points and small pictures are the
others, placed by what NLSA says of their colours.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from topicture.annotations.figures.embedding_map import draw_map, embedding_map
from topicture.annotations.figures.style import save_figure
from topicture.corpus import Corpus
from topicture.demo.scenes import VOCABULARY, render_scenes
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.nlsa import NLSA
from topicture.vision.features.colour import colour_layout

N_SCENES, N_TAGGED, WIDTH, HEIGHT = 900, 600, 128, 96
TARGET = Path(__file__).parent / "images" / "map.png"


def main() -> None:
    scenes = list(render_scenes(N_SCENES, width=WIDTH, height=HEIGHT))
    corpus = Corpus.from_arrays(
        captions=np.array([[word in scene.words for word in VOCABULARY] for scene in scenes]),
        vocabulary=VOCABULARY,
        image_ids=[scene.image_id for scene in scenes],
        descriptor=np.array([colour_layout(scene.pixels) for scene in scenes]),
    )
    tagged, others = corpus[:N_TAGGED], corpus[N_TAGGED:]
    model = IWE(NLSA(40, kernel="intersection", n_neighbours=10)).fit(tagged)
    thumbnails = {scene.image_id: scene.pixels for scene in scenes[N_TAGGED:]}
    title = (
        "The sample collection: words where they were learned, pictures without tags where they were placed"
    )
    save_figure(draw_map(embedding_map(model, others), thumbnails=thumbnails, title=title), TARGET)
    Image.open(TARGET).convert("RGB").quantize(200).save(TARGET, optimize=True)  # a third of the size


if __name__ == "__main__":
    main()
