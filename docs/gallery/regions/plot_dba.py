"""
DBA: the topics are the words
=============================

In Dirichlet-Bernoulli alignment there are as many topics as words, and each topic is a word: "sea" has a distribution
over visual words, and a photo's proportions say how much of it is sea. A region's word is then simply its topic.
"""

from topicture import make_annotator
from topicture.annotations.figures.regions import labelled_regions
from topicture.annotations.predict import region_labels
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("dba").fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# A tagged photo: each region gets the best of the photo's own words. What the caption leaves out has to go somewhere.

position = int(sample.corpus.tagged.nonzero()[0][3])
(p,) = model.label_regions(sample.corpus[[position]])
has = sample.corpus[[position]].captions.toarray()[0] > 0
words = [best.word for best in region_labels(p * has, sample.corpus.vocabulary)]
figure = labelled_regions(
    sample.scenes[position].pixels,
    sample.regions(position),
    words,
    title="a person wrote: " + ", ".join(sample.scenes[position].words),
)
