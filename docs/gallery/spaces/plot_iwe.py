"""
IWE: words and photos on one map
================================

The image-word embedding gives every word and every photo a place in the plane, so that a photo's words follow from its
distances to them:

.. math::  P(w \\mid r) \\propto q_w \\exp(-\\lVert r - \\phi_w \\rVert^2 / 2)

Without a regulariser there is no such map: a photo with one word would move away for ever. A small ridge holds it.
"""

from topicture.annotations.figures.embedding_map import draw_map, embedding_map
from topicture.demo.sample import sample_photos
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.nlsa import NLSA

sample = sample_photos()
model = IWE(NLSA(20), n_init=3).fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# Words where they were learned. Each point is a tagged photo.

figure = draw_map(embedding_map(model), title="the words of the sample collection")
