"""
pLSA-Words: let the captions choose the topics
==============================================

Words say more about what a photo shows than patches of texture do. pLSA-Words therefore finds the topics from captions
alone, keeps each photo's proportions, and only then learns what the topics look like. A photo without tags is described
by the topics that its visual words suit.
"""

from topicture import make_annotator
from topicture.annotations.figures.plots import topic_words
from topicture.demo.sample import sample_photos

sample = sample_photos()
for name in ("plsa", "plsa-words"):
    model = make_annotator(name, n_topics=15, n_init=3).fit(sample.corpus)
    print(f"{name:10} accuracy on hidden captions {sample.judge(model).accuracy:.3f}")

# %%
# The topics of pLSA-Words, each with its most probable words. A bar is as long as the word is probable.

figure = topic_words(model.params_.phiW, sample.corpus.vocabulary.words, n_words=6, max_topics=10)
