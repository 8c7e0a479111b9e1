"""
LapVar2: what the graph buys
============================

LapVar2, which the paper calls LapMixUnigram, smooths as LapEM does, but looks at the objective after every smoothing
step and keeps the best. Beside the plain mixture, the graph matters most where few photos have tags: a photo without
any is then close to one that has some.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.annotations.measures.metrics import summary
from topicture.demo.sample import sample_photos

sample = sample_photos()
hidden = sample.untagged
shown = [30, 60, 120]
names = ("mix-unigram", "lap-var1", "lap-var2")
found = {name: [] for name in names}
for n_tagged in shown:
    keep = sample.corpus.tagged.cumsum() <= n_tagged
    corpus = sample.corpus.without_captions(~keep)
    for name in names:
        model = make_annotator(name, n_topics=20, n_init=2).fit(corpus)
        p = model.annotate(corpus)[hidden]
        found[name].append(summary(p, sample.complete[hidden].captions).accuracy)

# %%
# Accuracy on the same hidden captions, whatever the number of photos with tags.

figure, (axes,) = panels(["accuracy on hidden captions"], (6, 3))
for name, look in line_looks(names).items():
    axes.plot(shown, found[name], label=name, **look)
axes.set_xlabel("photos with tags, of 240")
legend(figure, [axes])
