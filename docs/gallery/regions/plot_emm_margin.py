"""
EMM by max-margin: tags should outscore the rest
================================================

Likelihood explains the features of a photo, of which there are many, and its tags, of which there are few. The
max-margin form asks for what is wanted: that every tag of a photo outscores every other word by 1. Each round solves a
quadratic programme for the words' weights. How much the margin counts beside the likelihood is `nu2_per_image`.

The data are made here: twelve words in six pairs that look much alike, two words per photo, six regions of twenty
visual words.
"""

import numpy as np

from topicture import Corpus, make_annotator
from topicture.annotations.figures.style import level, line_looks, panels
from topicture.annotations.measures.metrics import accuracy

rng = np.random.default_rng(0)
n_photos, n_words, n_visual = 120, 12, 40
looks = np.repeat(rng.dirichlet(np.full(n_visual, 0.3), n_words // 2), 2, axis=0)  # of pairs, alike
looks = 0.7 * looks + 0.3 * rng.dirichlet(np.full(n_visual, 0.3), n_words)
captions = np.zeros((n_photos, n_words))
regions = []
for row in captions:
    words = rng.choice(n_words, 2, replace=False)
    row[words] = 1
    regions.append(np.stack([rng.multinomial(20, looks[word]) for word in rng.choice(words, 6)]))
corpus = Corpus.from_arrays(captions, region_words=regions)
hidden = np.arange(n_photos) >= 60
tagged, judged = corpus[~hidden], corpus[hidden]

# %%
# Accuracy on photos that were not learned from, against the weight of the margin; the dotted line is likelihood alone.

weights = [1, 30, 1000]
found = []
for weight in weights:
    model = make_annotator("emm-margin", nu2_per_image=weight, max_iter=5).fit(tagged)
    found.append(accuracy(model.annotate(judged), judged.captions))
by_likelihood = accuracy(make_annotator("emm-ml").fit(tagged).annotate(judged), judged.captions)

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
axes.semilogx(weights, found, label="by max-margin", **line_looks(["margin"])["margin"])
level(axes, by_likelihood, "by likelihood")
axes.set_xlabel("weight of the margin, nu2 per photo")
axes.legend(frameon=False, fontsize=8)
