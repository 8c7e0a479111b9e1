"""
Which word belongs where
========================

From tags of whole photos alone, a model of regions learns what each part shows. `topicture regions IMAGE` does this for
a photo of yours, and `topicture write` puts accepted words with their place into sidecars.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.regions import labelled_regions
from topicture.annotations.predict import region_labels
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("region-logistic", max_iter=30).fit(sample.corpus)

# %%
# A photo of the collection that has tags: each region gets one of them.


def with_words(position):
    (p,) = model.label_regions(sample.corpus[[position]])
    has = sample.corpus[[position]].captions.toarray()[0] > 0
    best = region_labels(p * has if has.any() else p, sample.corpus.vocabulary)
    words = [suggestion.word for suggestion in best]
    caption = ", ".join(sample.scenes[position].words) if has.any() else "no tags"
    return labelled_regions(sample.scenes[position].pixels, sample.regions(position), words, title=caption)


tagged = with_words(np.flatnonzero(sample.corpus.tagged)[9])

# %%
# And one without: all words compete for every region.

untagged = with_words(sample.untagged[9])
