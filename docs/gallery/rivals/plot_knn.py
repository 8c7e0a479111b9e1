"""
Nearest neighbours
==================

The oldest rival, and a hard one to beat: a photo gets the words of the tagged photos that it looks like. All there is
to choose is what "looks like" means. Here it is the cosine of deep features.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("knn").fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# Two photos without tags (left), and the three tagged photos that are most like each.

unit = sample.corpus.descriptor / np.linalg.norm(sample.corpus.descriptor, axis=1, keepdims=True)
tagged = np.flatnonzero(sample.corpus.tagged)
pictures, captions = [], []
for query in sample.untagged[[2, 14]]:
    pictures.append(sample.scenes[query].pixels)
    captions.append("a photo without tags\n")
    likeness = unit[tagged] @ unit[query]
    for other in tagged[np.argsort(-likeness)[:3]]:
        pictures.append(sample.scenes[other].pixels)
        captions.append(
            f"cosine {unit[other] @ unit[query]:.2f}\n" + ", ".join(sample.scenes[other].words[:4])
        )
figure = photo_grid(pictures, captions)
