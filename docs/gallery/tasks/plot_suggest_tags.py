"""
Suggest tags
============

The main job: half of the photos carry tags, the other half gets suggestions. The model here is the map of captions and
deep features that `topicture learn --model nlsa` uses; the default, `auto`, blends several.
"""

from topicture import make_annotator
from topicture.annotations.figures.photos import photo_grid
from topicture.annotations.predict import top_words_of_each
from topicture.demo.sample import sample_photos

sample = sample_photos()
model = make_annotator("nlsa", n_components=30).fit(sample.corpus)
measures = sample.judge(model)
print(
    f"of the words that people gave the untagged photos, {measures.accuracy:.0%} are among as many suggestions"
)

# %%
# Eight untagged photos, with their three best words. A mark says that it is true of the photo.

few = sample.untagged[:8]
suggestions = top_words_of_each(model.annotate(sample.corpus[few]), sample.corpus.vocabulary, 3)
figure = photo_grid(
    [sample.scenes[position].pixels for position in few],
    [
        ", ".join(f"{s.word}{' *' if s.word in sample.scenes[position].present else ''}" for s in words)
        for position, words in zip(few, suggestions, strict=True)
    ],
)
