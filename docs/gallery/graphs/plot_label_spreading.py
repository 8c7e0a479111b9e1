"""
Label spreading: tags that flow
===============================

The rival of the graph models has no topics: captions flow along the edges of the nearest-neighbour graph of all
photos, tagged or not, and each photo keeps a part of what it was given. How far they flow is `alpha`.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import level, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
alphas = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99]
found = [
    sample.judge(make_annotator("label-spreading", alpha=alpha, n_neighbours=15).fit(sample.corpus)).accuracy
    for alpha in alphas
]
knn = sample.judge(make_annotator("knn").fit(sample.corpus)).accuracy

# %%
# Beside nearest neighbours, where a tag goes one step and no further. With half of the photos tagged, one step is
# enough, and the further tags flow the more they are everybody's.

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
axes.plot(alphas, found, label="label-spreading", **line_looks(["label-spreading"])["label-spreading"])
level(axes, knn, "nearest neighbours")
axes.set_xlabel("alpha: the part of a photo's words that comes from its neighbours")
axes.legend(frameon=False, fontsize=8)
