"""
Word frequencies: the baseline
==============================

The simplest annotator gives every photo the same answer: the words that people used most. It has no right to be any
good, and yet on photos of everyday life it is: a few words are on many photos. Every other model has to beat it.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("empirical", pseudo_count=0.1).fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# Its answer, which is the same for every photo: the word frequencies of the 120 photos that carry tags.

(frequencies,) = model.annotate(sample.corpus[:1])
order = np.argsort(-frequencies)[:24]
figure, (axes,) = panels(["share of all tags"], (8, 3))
axes.bar([sample.corpus.vocabulary[w] for w in order], frequencies[order], color="#0072B2")
axes.tick_params(axis="x", rotation=60)
