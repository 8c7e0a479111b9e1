"""
Numbers of your own, and a model in a file
==========================================

A corpus is arrays: counts, features, captions, whatever they come from. A model that was learned is saved in one
safetensors file that can't run code when it is opened, and read back the same.
"""

import tempfile

import numpy as np

from topicture import Corpus, load_annotator, make_annotator
from topicture.annotations.figures.plots import topic_words

rng = np.random.default_rng(0)
words = ["sea", "beach", "boat", "forest", "path", "deer", "street", "car", "night"]
topic = rng.integers(3, size=300)
captions = rng.poisson(np.kron(np.eye(3), np.ones(3))[topic] * 0.8)
visual = rng.poisson(np.kron(np.eye(3), np.full(10, 2.0))[topic] + 0.5)
captions[200:] = 0  # a row of zeros means "not tagged"
corpus = Corpus.from_arrays(captions, words, visual_words=visual)
model = make_annotator("mix-unigram", n_topics=3, n_init=2).fit(corpus)

with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/words.model")
    again = load_annotator(f"{folder}/words.model")
print("the same answers:", np.array_equal(model.annotate(corpus), again.annotate(corpus)))

# %%
# The three topics that the data were made of, found again. Photos without tags helped.

figure = topic_words(again.params_.rPhi / again.params_.rPhi.sum(axis=1, keepdims=True), words, n_words=5)
