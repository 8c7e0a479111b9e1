"""
Companions: words that go together
==================================

A word with three tagged photos has hardly anything to learn from. But if it stands beside a frequent word in captions,
as tracks beside cars, its photos look like those. `companions` is logistic regression in which such words begin with
each other's weights; here they are drawn in pairs, a frequent word and a rare one that looks much the same.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.annotations.measures.retrieval import average_precisions
from topicture.models.baselines.companions import sample

pairs = np.kron(np.eye(12), np.array([[1, 0.9], [0.9, 1]]))
corpus = sample(np.random.default_rng(0), pairs, np.tile([-2.0, -5.0], 12), 3000, 20, ridge=2.0)
new = corpus[2000:]
rare = np.arange(24) % 2 == 1
n_tagged = [100, 200, 400, 800, 1600]
found = {
    name: [
        np.nanmean(
            average_precisions(
                make_annotator(name, ridge=10.0).fit(corpus[:n]).annotate(new.without_captions()),
                new.captions,
            )[rare]
        )
        for n in n_tagged
    ]
    for name in ("companions", "logistic")
}

# %%
# The fewer photos there are, the more the rare words owe to their companions.

figure, (axes,) = panels(["mean average precision of the rare words"], (6, 3))
for name, look in line_looks(found).items():
    axes.semilogx(n_tagged, found[name], label=name, **look)
axes.set_xlabel("tagged photos")
axes.set_xticks(n_tagged, n_tagged)
axes.set_xticks([], minor=True)
legend(figure, [axes])
