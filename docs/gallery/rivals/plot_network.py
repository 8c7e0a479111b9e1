"""
A small neural network, several times
=====================================

One hidden layer with dropout on top of deep features. A single network is a matter of luck; the mean of a few is not,
and untagged photos teach too: the networks are asked to agree on them.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
found = {
    n_networks: [
        sample.judge(make_annotator("network", n_networks=n_networks, seed=seed).fit(sample.corpus)).accuracy
        for seed in range(3)
    ]
    for n_networks in (1, 3)
}

# %%
# Each point is a run with another seed.

figure, (axes,) = panels(["accuracy on hidden captions"], (5, 2.6))
for row, values in enumerate(found.values()):
    axes.plot(values, np.full(len(values), row), "o", color="#0072B2", markersize=8, alpha=0.7)
    axes.plot(np.mean(values), row, "|", color="#D55E00", markersize=26, markeredgewidth=2)
axes.set_yticks(range(len(found)), [f"{n} network{'s' if n > 1 else ''}" for n in found])
axes.set_ylim(-0.6, len(found) - 0.4)
