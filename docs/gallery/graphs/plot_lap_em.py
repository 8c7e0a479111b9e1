"""
LapEM: smooth, but not too long
===============================

LapEM alternates a step of EM with some steps that move each photo's topics towards those of its neighbours. The paper
says to smooth until nothing changes. Don't: what nothing changes any more is the same everywhere in a connected part
of the graph, so the photos themselves have been forgotten. A few steps are all that helps.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import level, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
steps = [1, 3, 10, 30, 100, 300]
found = []
for n_steps in steps:
    model = make_annotator(
        "lap-em", n_topics=20, n_init=1, max_smoothing=n_steps, gamma=0.1, max_iter=30
    ).fit(sample.corpus)
    found.append(sample.judge(model).accuracy)
empirical = sample.judge(make_annotator("empirical").fit(sample.corpus)).accuracy

# %%
# From some ten steps on the answers drift towards word frequencies, which know nothing of the photo.

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
axes.semilogx(steps, found, label="lap-em", **line_looks(["lap-em"])["lap-em"])
level(axes, empirical, "word frequencies alone")
axes.set_xlabel("smoothing steps in every iteration")
axes.set_ylim(bottom=0)
axes.legend(frameon=False, fontsize=8)
