"""
Text match: what a text encoder knows of words
==============================================

A network such as CLIP describes pictures and texts by the same numbers, so the word "moss" has a direction before any
photo is tagged. A name that only its owner knows has one as well, and it means nothing. How far each word's text is
borne out by its photos is learned, and shared: a word with few photos trusts its text as far as others could.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.models.baselines.text_match import sample

# Forty words whose texts tell of their photos, twenty whose texts say nothing.
true_weights = np.repeat([1.5, 0.0], [40, 20])
n_photos = [1, 2, 4, 8, 16, 32]
titles = {"told": "words whose texts tell", "private": "words whose texts say nothing"}
found = {kind: [] for kind in titles}
for n in n_photos:
    corpus = sample(np.random.default_rng(1), true_weights, 800, n)
    weights = make_annotator("text-match").fit(corpus).weights_
    found["told"].append(weights[:40].mean())
    found["private"].append(weights[40:].mean())

# %%
# One photo per word tells most of them apart, since all words learn together; eight are enough. The weights that the
# photos were drawn with are 1.5 and 0.

figure, (axes,) = panels(["mean weight of the texts"], (6, 3))
for kind, look in line_looks(titles).items():
    axes.semilogx(n_photos, found[kind], label=titles[kind], **look)
axes.set_xlabel("tagged photos per word")
axes.set_xticks(n_photos, n_photos)
axes.set_xticks([], minor=True)
legend(figure, [axes])
