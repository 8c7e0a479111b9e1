"""
GM-Mixture: why captions need a prior
=====================================

One topic per photo, a Gaussian over its regions, a multinomial over its words. By maximum likelihood a topic's words
are those of its few photos and no others; a hidden caption with another word is then impossible. Blei and Jordan put a
Dirichlet prior on the words, whose strength is learned from the captions themselves.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
n_topics = [2, 5, 10, 30]
titles = {"ml": "maximum likelihood", "eb": "smoothed by empirical Bayes"}
found = {
    smoothing: [
        sample.judge(
            make_annotator("gm-mixture", n_topics=K, n_init=1, smoothing=smoothing, eps_words=1e-4).fit(
                sample.corpus
            )
        ).perplexity
        for K in n_topics
    ]
    for smoothing in titles
}

# %%
# The more topics, the worse the plain model does on hidden captions. With the prior it gets better.

figure, (axes,) = panels(["perplexity of hidden captions"], (6, 3))
for smoothing, look in line_looks(titles).items():
    axes.loglog(n_topics, found[smoothing], label=titles[smoothing], **look)
axes.set_xlabel("topics")
axes.set_xticks(n_topics, n_topics, minor=False)
axes.set_xticks([], minor=True)
legend(figure, [axes])
