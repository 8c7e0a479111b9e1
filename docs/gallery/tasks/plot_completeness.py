"""
Tags that were left out
=======================

Nobody tags everything. If only a share :math:`c` of the true tags was given, a word that is missing from a caption may
still be true, with probability

.. math::  \\rho = \\frac{p (1 - c)}{1 - p c} .

From tags alone :math:`c` can't be known: rare and often forgotten look the same. A hundred answers to questions about
missing words settle it.
"""

import numpy as np

from topicture.annotations.figures.style import level, panels
from topicture.annotations.shift.how_complete import Questions, fit_completeness

rng = np.random.default_rng(0)
n_photos, n_words, c = 3000, 20, 0.6
p = rng.beta(0.5, 2.0, (n_photos, n_words))  # how probable each word is on each photo
true = rng.random(p.shape) < p
given = true & (rng.random(p.shape) < c)
m = p * c  # what a model that learns from tags predicts

# %%
# Questions are asked about pairs without a tag, drawn by what the model says of them; all answers so far are used.

photo, word = np.nonzero(~given & (m > 0.1))
order = rng.permutation(len(photo))
asked = [5, 10, 20, 50, 100, 200, 500]
found = []
for n in asked:
    few = order[:n]
    asked_about = Questions(photo[few], word[few], true[photo[few], word[few]])
    found.append(fit_completeness(m, given, asked_about))

figure, (axes,) = panels(["share of true tags that were given, as learned"], (6, 3))
axes.errorbar(
    asked,
    [f.overall for f in found],
    [2 * f.overall_deviation for f in found],
    fmt="o-",
    color="#0072B2",
    capsize=3,
)
level(axes, given.sum() / true.sum(), "the truth")
axes.set(xscale="log", xlabel="questions answered", ylim=(0, 1.05))
axes.legend(frameon=False, fontsize=8)
