"""
LSA: a space of words and looks
===============================

Captions and descriptors side by side make one long vector per photo. The leading singular vectors of all of them span a
space where photos that share words or looks are close; an untagged photo takes its words from its neighbours there.
Each axis has two ends.
"""

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.annotations.topics import topics_of
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("lsa", n_components=30).fit(sample.corpus)
print(f"accuracy on hidden captions: {sample.judge(model).accuracy:.3f}")

# %%
# Both ends of the second, third and fourth axis: the words that go with them, and the photo farthest out.

(found,) = topics_of(model, sample.corpus, n_words=3, n_typical=1, max_topics=4)
pictures, captions = [], []
for axis in found.topics[1:]:
    for end, words in ((axis.typical, axis.words), (axis.opposite, axis.opposite_words)):
        pictures.append(sample.scenes[end[0].image].pixels)
        captions.append(f"axis {axis.number + 1}: " + ", ".join(word for word, _ in words))
figure = photo_grid(pictures, captions, columns=2)
