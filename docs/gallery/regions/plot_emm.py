"""
EMM by likelihood: DBA under another name
=========================================

The exponential-multinomial mixture replaces DBA's Dirichlet prior by exponential variables, one per word, which are
divided by their sum. The paper finds it sparser and better. But exponentials of equal rates, divided by their sum, are
the flat Dirichlet distribution: the two are one model as long as the rates are equal, number for number.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos(120)
dba = make_annotator("dba", alpha=1.0, score="map").fit(sample.corpus).annotate(sample.corpus)
emm = make_annotator("emm-ml", score="map").fit(sample.corpus).annotate(sample.corpus)
learned = make_annotator("emm-ml", learn_lam=True, score="map").fit(sample.corpus).annotate(sample.corpus)
print(f"largest difference with equal rates: {np.abs(dba - emm).max():.1e}")
print(f"largest difference with learned rates: {np.abs(dba - learned).max():.1e}")

# %%
# Each point is the score of a word on a photo. With equal rates all of them lie on the diagonal; rates that are learned
# move words up or down as a whole, which is a bias per word and no sparsity.

figure, (left, right) = panels(["equal rates", "learned rates"], (3.4, 3.2))
look = {**line_looks(["score"])["score"], "linestyle": "", "markersize": 3, "markeredgewidth": 0}
for panel, scores in ((left, emm), (right, learned)):
    panel.plot([0, dba.max()], [0, dba.max()], color="#6b6b6b", linewidth=0.8)
    panel.plot(dba.ravel(), scores.ravel(), alpha=0.4, **look)
    panel.set_xlabel("DBA, alpha = 1")
left.set_ylabel("EMM")
