"""
Mixture of unigrams: one topic per photo
========================================

Every photo has one topic :math:`z`; all its visual words and all its caption words are drawn from that topic's two
distributions:

.. math::  z_i \\sim a, \\qquad f_{in} \\sim B_{z_i}, \\qquad w_{im} \\sim \\Phi_{z_i}

Photos without a caption take part as well, so that a topic can be found where nobody has tagged anything yet. The
mathematics is in section 3.6 of the models' page.
"""

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.annotations.topics import topics_of
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("mix-unigram", n_topics=20, n_init=2).fit(sample.corpus)
print(f"{model.result_} after {model.n_iter_} iterations")
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# The six weightiest topics: their words, and the photo that is most typical of each.

(found,) = topics_of(model, sample.corpus, n_words=4, n_typical=1, max_topics=6)
figure = photo_grid(
    [sample.scenes[topic.typical[0].image].pixels for topic in found.topics],
    [f"{topic.weight:.0%} of the photos\n" + ", ".join(w for w, _ in topic.words) for topic in found.topics],
    columns=3,
)
