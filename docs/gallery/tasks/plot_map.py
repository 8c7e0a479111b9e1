"""
A map of the collection
=======================

Words where they were learned, and untagged photos where they were placed. A corner without words is a corner that
nobody has tagged yet. The page *Map* of `topicture serve` draws such a map of your own photos.
"""

from topicture.annotations.figures.embedding_map import draw_map, embedding_map
from topicture.demo.sample import sample_photos
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.nlsa import NLSA

sample = sample_photos()
model = IWE(NLSA(20, n_neighbours=10), n_init=2).fit(sample.corpus)

# %%
# The photos are those without tags.

thumbnails = {sample.scenes[i].image_id: sample.scenes[i].pixels for i in sample.untagged}
figure = draw_map(embedding_map(model, sample.corpus[sample.untagged]), thumbnails=thumbnails)
