"""
Probabilities that mean what they say
=====================================

An annotator's row sums to 1: it says which word comes next. What an owner wants to know is another number: would I give
the photo this tag? It is learned from captions that were hidden from the model.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.choice.presence import cross_fitted
from topicture.annotations.diagnostics import calibration_curve
from topicture.annotations.figures.diagnostics import calibration_plot
from topicture.demo.sample import sample_photos
from topicture.models.folds import folds_of

sample = sample_photos()
corpus = sample.complete
fold_of = folds_of(corpus, 3, seed=0)
p = np.zeros((len(corpus), corpus.n_words))
for fold in range(3):
    hidden = fold_of == fold
    p[hidden] = make_annotator("ridge").fit(corpus.without_captions(hidden)).annotate(corpus[hidden])

# %%
# The calibration of each third was learned from the other two, so the picture is an honest one.

truth = corpus.captions.toarray() > 0
known = np.ones_like(truth)
presence = cross_fitted(p, truth, known, fold_of)
figure = calibration_plot(calibration_curve(presence, truth, known))
