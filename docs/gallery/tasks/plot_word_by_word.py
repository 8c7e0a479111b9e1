"""
Word by word: what is hard to see
=================================

An average hides that some words are easy and others hopeless. The table says for each word how often it is found and
how often it is right; confusions say what it is mistaken for.
"""

from topicture import make_annotator
from topicture.annotations.diagnostics import per_word_table
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
truth = sample.complete[sample.untagged].captions.toarray() > 0
p = make_annotator("ridge").fit(sample.corpus).annotate(sample.corpus)[sample.untagged]
table = per_word_table(p, truth, truth | True, threshold=0.08)

# %%
# Every word that is on at least five hidden photos, by precision and recall.

figure, (axes,) = panels(["words of the sample collection"], (6.5, 4.6))
for row in table:
    if row.photos >= 5 and row.suggested:
        axes.plot(row.recall, row.precision, "o", color="#0072B2", markersize=3 + row.photos / 8, alpha=0.6)
        axes.annotate(
            sample.corpus.vocabulary[row.word],
            (row.recall, row.precision),
            textcoords="offset points",
            xytext=(5, 3),
            fontsize=8,
        )
axes.set(xlabel="recall", ylabel="precision", xlim=(-0.05, 1.1), ylim=(-0.05, 1.08))
