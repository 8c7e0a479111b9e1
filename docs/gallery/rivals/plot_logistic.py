"""
Logistic regression
===================

One logistic regression per word, here on counts of visual words: what most people would try first. The ridge decides
between two faults. Without it 120 photos are learned by heart; with too much of it every photo gets the same answer.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
ridges = [0.01, 0.1, 1, 10, 100, 1000]
found = [
    sample.judge(make_annotator("logistic", ridge=ridge, view="visual_words").fit(sample.corpus))
    for ridge in ridges
]

# %%
# The ranking of words is forgiving over three powers of ten; their probabilities are less so.

figure, (left, right) = panels(["perplexity of hidden captions", "accuracy"], (3.6, 2.8))
look = line_looks(["logistic"])["logistic"]
left.semilogx(ridges, [measures.perplexity for measures in found], **look)
right.semilogx(ridges, [measures.accuracy for measures in found], **look)
for panel in (left, right):
    panel.set_xlabel("ridge")
