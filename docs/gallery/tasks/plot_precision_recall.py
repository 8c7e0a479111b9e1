"""
How good are searches?
======================

Ask for each word, look at the ranked photos from the top, and count: which part of what was found is right (precision),
and which part of what is right has been found (recall)?
"""

from topicture import make_annotator
from topicture.annotations.figures.plots import precision_recall_curves
from topicture.annotations.measures.retrieval import precision_recall, relevance, retrieval_scores
from topicture.demo.sample import sample_photos

sample = sample_photos()
truth = sample.complete[sample.untagged].captions
answers = {
    name: make_annotator(name).fit(sample.corpus).annotate(sample.corpus)[sample.untagged]
    for name in ("empirical", "naive-bayes", "ridge")
}

# %%
# Three words, three models. The word frequencies rank all photos alike: their curve is what chance gives.

curves = {}
for word in ("snow", "boat", "house"):
    query = [sample.corpus.vocabulary.index(word)]
    relevant = relevance(truth, query)
    curves[word] = {
        name: precision_recall(retrieval_scores(p, query), relevant) for name, p in answers.items()
    }
figure = precision_recall_curves(curves)
