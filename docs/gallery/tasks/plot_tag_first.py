"""
Which photos to tag first
=========================

A photo's tags help with the photos that look like it. So the next one to ask about is the one that most of the others
look like, and that is not like one that has tags already. `topicture review --order teaching` asks in this order.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.annotations.measures.metrics import summary
from topicture.annotations.teaching import teaching_order
from topicture.demo.sample import sample_photos

sample = sample_photos()
corpus = sample.complete
judged = sample.untagged
pool = ~np.isin(np.arange(len(corpus)), judged)
steps = [5, 10, 20, 40, 80]


def quality(order):
    for n in steps:
        shown = np.isin(np.arange(len(corpus)), order[:n])
        p = make_annotator("knn").fit(corpus.without_captions(~shown)).annotate(corpus[judged])
        yield summary(p, corpus[judged].captions).mean_average_precision


nothing = np.zeros(len(corpus), bool)
taught = list(quality(teaching_order(corpus.descriptor, nothing, 80, among=pool)))
rng = np.random.default_rng(0)
at_random = np.mean([list(quality(rng.permutation(np.flatnonzero(pool)))) for _ in range(5)], axis=0)

# %%
# Mean average precision on 120 photos that were never asked about.

figure, (axes,) = panels(["mean average precision"], (6, 3))
for (name, values), look in zip(
    {"teaching order": taught, "at random, mean of five": at_random}.items(),
    line_looks("ab").values(),
    strict=True,
):
    axes.plot(steps, values, label=name, **look)
axes.set_xlabel("photos tagged")
legend(figure, [axes])
