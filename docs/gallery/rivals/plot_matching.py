"""
Matching: neighbours in a learned space
=======================================

Deep features were made for other photos and other words. `matching` learns spaces in which photos with the same words
of *this* collection are close, and answers with the nearest tagged photos there.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
names = ("empirical", "naive-bayes", "knn", "tagprop", "logistic", "ridge", "network", "matching")
found = {name: sample.judge(make_annotator(name).fit(sample.corpus)) for name in names}

# %%
# All the rivals side by side, on the same hidden captions. On so small a collection differences below 0.03 are noise.

figure, axes = panels(["accuracy", "mean average precision"], (3.6, 2.8), columns=2, share_y=True)
for panel, measure in zip(axes, ("accuracy", "mean_average_precision"), strict=True):
    panel.barh(names, [getattr(found[name], measure) for name in names], color="#0072B2")
    panel.grid(axis="y", visible=False)
axes[0].invert_yaxis()
