"""
Region-logistic: words of regions, discriminatively
===================================================

Which of the photo's tags a region shows is latent, and every tag should have a region. That is all: no model of what
regions look like, only of which word they suit. It learns from captions of whole photos, as Corr-LDA does, and is what
`topicture regions` uses.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.annotations.measures.metrics import region_accuracy
from topicture.demo.sample import sample_photos

sample = sample_photos()
models = {
    "corr-lda": make_annotator("corr-lda", n_topics=30, n_init=1, max_iter=40),
    "region-logistic": make_annotator("region-logistic"),
}

# %%
# The renderer of the sample collection knows what every pixel shows. A region's true word is the commonest of its
# pixels, where that is half of them at least.


def true_words(position):
    regions, labels = sample.regions(position), sample.scenes[position].labels
    for region in range(regions.max() + 1):
        words, counts = np.unique(labels[regions == region], return_counts=True)
        yield words[counts.argmax()] if counts.max() >= counts.sum() / 2 else -1


truth = np.array([word for position in sample.untagged for word in true_words(position)])
found = {}
for name, model in models.items():
    p = model.fit(sample.corpus).label_regions(sample.corpus[sample.untagged])
    found[name] = [region_accuracy(np.concatenate(p), truth, k) for k in (1, 2, 3)]

figure, (axes,) = panels(["share of regions whose true word is among the first k"], (6, 3))
for shift, (name, colour) in enumerate(zip(found, ("#D55E00", "#0072B2"), strict=True)):
    axes.bar(np.arange(3) + 0.4 * shift - 0.2, found[name], width=0.36, color=colour, label=name)
axes.set_xticks(range(3), ["k = 1", "k = 2", "k = 3"])
axes.legend(frameon=False, fontsize=8)
