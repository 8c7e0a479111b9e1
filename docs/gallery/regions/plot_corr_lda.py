"""
Corr-LDA: every word comes from a region
========================================

Correspondence LDA draws the regions first. Every caption word then picks one of the photo's regions, and comes from
that region's topic. So the model can say which region a word belongs to, although nobody ever told it: it has seen
captions of whole photos only.
"""

from topicture import make_annotator
from topicture.annotations.figures.regions import compared_region_words
from topicture.annotations.measures.ranking import rank
from topicture.demo.sample import sample_photos

sample = sample_photos()
models = {
    name: make_annotator(name, n_topics=30, n_init=1, max_iter=40).fit(sample.corpus)
    for name in ("gm-lda", "corr-lda")
}
for name, model in models.items():
    print(f"{name:9} accuracy on hidden captions {sample.judge(model).accuracy:.3f}")

# %%
# The three most probable words of each region, by both models, on a photo without tags.

position = sample.untagged[7]
words = {}
for name, model in models.items():
    (p,) = model.label_regions(sample.corpus[[position]])
    words[name] = [[sample.corpus.vocabulary[w] for w in row] for row in rank(p)[:, :3].tolist()]
figure = compared_region_words(
    sample.scenes[position].pixels,
    sample.regions(position),
    words,
    title="a person wrote: " + ", ".join(sample.scenes[position].words),
)
