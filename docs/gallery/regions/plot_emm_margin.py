"""
EMM by max-margin: tags should outscore the rest
================================================

Likelihood explains the features of a photo, of which there are many, and its tags, of which there are few. The
max-margin form asks for what is wanted: that every tag of a photo outscores every other word by 1. Each round solves a
quadratic programme for the words' weights.
"""

import numpy as np

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos(120)
models = {
    "by likelihood": make_annotator("emm-ml").fit(sample.corpus),
    "by max-margin": make_annotator("emm-margin", max_iter=8).fit(sample.corpus),
}

# %%
# For each tagged photo: how many of the other words outscore its weakest tag? None is what the margin asks for.

tagged = sample.corpus[sample.corpus.tagged]
has = tagged.captions.toarray() > 0
figure, axes = panels(list(models), (3.6, 2.8), share_y=True)
for panel, (name, model) in zip(axes, models.items(), strict=True):
    scores = model.annotate(tagged)
    weakest = np.where(has, scores, np.inf).min(axis=1, keepdims=True)
    better = ((scores > weakest) & ~has).sum(axis=1)
    print(f"{name}: {sample.judge(model).accuracy:.3f} on hidden captions; {(better == 0).mean():.0%} without fault")
    panel.hist(better, bins=np.arange(0, 50, 2), color="#0072B2")
    panel.set_xlabel("words above the weakest tag")
axes[0].set_ylabel("photos")
