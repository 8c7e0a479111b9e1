"""
pLSA: a photo is a mixture of topics
====================================

In probabilistic latent semantic analysis every single word of a photo, visual or not, has a topic of its own, drawn
from the photo's proportions. Nothing holds these proportions back, so the model learns its training photos by heart.
Tempering takes every posterior to a power below 1, and stops it.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
powers = [0.7, 0.8, 0.9, 1.0]
models = [
    make_annotator("plsa", n_topics=15, n_init=1, power=power, max_iter=60, fold_steps=40).fit(sample.corpus)
    for power in powers
]
found = [sample.judge(model) for model in models]

# %%
# A power of 1 is the plain model. A little below it, the hidden captions become likelier; too far below, all topics
# melt into one, and the answers become those of the word frequencies.

figure, (left, right) = panels(["perplexity of hidden captions", "accuracy"], (3.6, 2.8))
look = line_looks(["plsa"])["plsa"]
left.plot(powers, [measures.perplexity for measures in found], **look)
right.plot(powers, [measures.accuracy for measures in found], **look)
for panel in (left, right):
    panel.set_xlabel("power of the posterior")
