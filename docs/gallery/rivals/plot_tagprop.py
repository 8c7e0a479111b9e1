"""
TagProp: neighbours with learned weights
========================================

How much should the tenth neighbour count beside the first? TagProp learns it, by maximising the likelihood of the
tagged photos' captions when each is answered by the others. A sigmoid per word then lifts the rare words.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
n_neighbours = [3, 10, 30, 100]
titles = {"rank": "weights by rank", "cosine": "weights by cosine", "knn": "nearest neighbours, unlearned"}
found = {kind: [] for kind in titles}
for K in n_neighbours:
    for kind in ("rank", "cosine"):
        model = make_annotator("tagprop", n_neighbours=K, weights=kind).fit(sample.corpus)
        found[kind].append(sample.judge(model).accuracy)
    found["knn"].append(sample.judge(make_annotator("knn", n_neighbours=K).fit(sample.corpus)).accuracy)

# %%
# With learned weights a large neighbourhood does no harm: far neighbours are given next to nothing. On so few photos
# the plain ones are ahead all the same; there is not enough to learn weights from.

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
for kind, look in line_looks(titles).items():
    axes.semilogx(n_neighbours, found[kind], label=titles[kind], **look)
axes.set_xlabel("neighbours")
axes.set_xticks(n_neighbours, n_neighbours)
axes.set_xticks([], minor=True)
legend(figure, [axes])
