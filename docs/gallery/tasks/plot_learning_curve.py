"""
What would more tags buy?
=========================

Before tagging another hundred photos it is good to know whether they would help. A learning curve hides a third of the
tags and shows growing parts of the rest. `topicture explain --curves` draws it for your collection.
"""

from topicture import make_annotator
from topicture.annotations.choice.quality_curves import learning_curve
from topicture.annotations.figures.diagnostics import quality_plot
from topicture.demo.sample import sample_photos

sample = sample_photos()
curve = learning_curve(lambda: make_annotator("ridge"), sample.complete, n_draws=4)

# %%
# Means over four draws with their standard errors.

figure = quality_plot(curve, "tagged photos")
