"""
GM-LDA: regions with topics of their own
========================================

Every region has its own topic, drawn from the photo's proportions, and so has every word. A beach photo may be half
sky and half sand. What the model does not know is which word belongs to which region: words and regions are drawn
independently.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import bare, panels
from topicture.annotations.topics import topics_of
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("gm-lda", n_topics=20, n_init=1, max_iter=40).fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# Topics belong to regions. For the six weightiest: the four most typical regions, the rest of the photo paled.

(found,) = topics_of(model, sample.corpus, n_words=3, n_typical=4, max_topics=6)
titles = [", ".join(word for word, _ in topic.words) for topic in found.topics]
figure, axes = panels(titles, (3.0, 2.5), columns=3)
for panel, topic in zip(axes, found.topics, strict=True):
    tiles = []
    for typical in topic.typical:
        pixels = sample.scenes[typical.image].pixels / 255
        inside = sample.regions(typical.image) == typical.region
        tiles.append(np.where(inside[..., None], pixels, 0.8 + 0.2 * pixels.mean(axis=2, keepdims=True)))
    panel.imshow(np.concatenate([np.concatenate(tiles[:2], axis=1), np.concatenate(tiles[2:], axis=1)]))
    bare(panel)
