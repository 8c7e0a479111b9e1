"""
NLSA: the same space, bent
==========================

Kernel LSA replaces the singular vectors by those of a kernel: the space may then follow a bend that no plane does.
Which kernel, how wide and how many neighbours answer are settings that the paper leaves open; the number of neighbours
is chosen here on hidden captions.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
n_components = [2, 5, 10, 30]
titles = {"lsa": "LSA", "gaussian": "NLSA, Gaussian kernel", "intersection": "NLSA, histogram intersection"}
found = {title: [] for title in titles}
for K in n_components:
    for kind in titles:
        settings = {} if kind == "lsa" else {"kernel": kind}
        name = "lsa" if kind == "lsa" else "nlsa"
        model = make_annotator(name, n_components=K, **settings).fit(sample.corpus)
        found[kind].append(sample.judge(model).accuracy)

# %%
# Few dimensions are enough for either.

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
for kind, look in line_looks(titles).items():
    axes.plot(n_components, found[kind], label=titles[kind], **look)
axes.set_xlabel("dimensions of the space")
legend(figure, [axes])
