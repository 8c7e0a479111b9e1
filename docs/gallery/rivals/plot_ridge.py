"""
Ridge regression
================

One linear map from 1,280 deep features to all words at once, held by a ridge whose strength is chosen without a single
refit: the answers for photos that were left out follow from those for all. It takes a second, and is the strongest
single member of most blends.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("ridge").fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# For four words, the two untagged photos that are most likely to have them.

p = model.annotate(sample.corpus)[sample.untagged]
pictures, captions = [], []
for word in ("boat", "snow", "city", "flower"):
    column = p[:, sample.corpus.vocabulary.index(word)]
    for row in np.argsort(-column)[:2]:
        scene = sample.scenes[sample.untagged[row]]
        pictures.append(scene.pixels)
        captions.append(f"{word}? " + ("yes" if word in scene.present else "no"))
figure = photo_grid(pictures, captions)
