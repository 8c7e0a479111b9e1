"""
Search photos that nobody tagged
================================

A search ranks all photos by the probability that they have the wanted words and none of the unwanted ones. Nothing is
cut off by a threshold, and a photo needs no tags to be found. The index lies on disk, by word, so that a search reads
only its own words.
"""

import tempfile

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.demo.sample import sample_photos
from topicture.search import WordIndex

sample = sample_photos()
model = make_annotator("ridge").fit(sample.corpus)
untagged = sample.corpus[sample.untagged]
pictures = {scene.image_id: scene.pixels for scene in sample.scenes}
with tempfile.TemporaryDirectory() as folder:
    index = WordIndex.build(
        f"{folder}/index", untagged.vocabulary, untagged.image_ids, [model.annotate(untagged)]
    )
    found = {query: index.search(query, k=3) for query in ("boat sea -sunset", "snow mountain", "city night")}

# %%
# The best three of 120 photos without tags, for each of three queries.

hits = [(query, hit) for query, found_here in found.items() for hit in found_here]
figure = photo_grid(
    [pictures[hit.image_id] for _, hit in hits],
    [query for query, _ in hits],
    columns=3,
)
