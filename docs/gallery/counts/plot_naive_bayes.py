"""
Naive Bayes: too sure of itself
===============================

Naive Bayes takes the visual words of a photo for independent witnesses. They are not: the thousand patches of one sky
say one thing a thousand times. A power below 1 on their likelihood counts them as fewer.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
powers = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]
found = [
    sample.judge(make_annotator("naive-bayes", power=power, background=0.01).fit(sample.corpus))
    for power in powers
]

# %%
# The ranking of the words hardly changes; how far they can be believed does.

figure, (left, right) = panels(["perplexity of hidden captions", "accuracy"], (3.6, 2.8))
look = line_looks(["naive-bayes"])["naive-bayes"]
left.plot(powers, [measures.perplexity for measures in found], **look)
right.plot(powers, [measures.accuracy for measures in found], **look)
for panel in (left, right):
    panel.set_xlabel("power of the likelihood")
    panel.set_ylim(bottom=0)
