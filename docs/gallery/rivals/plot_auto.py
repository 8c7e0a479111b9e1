"""
auto: let hidden tags decide
============================

Nobody knows beforehand which model suits a collection. `auto` hides a third of the tags at a time, lets each candidate
answer, and blends them by weights that make the hidden captions most likely. Candidates that add nothing get no weight.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
members = ["lsa", "knn", "ridge", "logistic", "mix-unigram", "naive-bayes"]
model = make_annotator("auto", members=members).fit(sample.corpus)
alone = {name: sample.judge(make_annotator(name).fit(sample.corpus)).accuracy for name in members}
print(f"the blend: accuracy {sample.judge(model).accuracy:.3f}, the best member: {max(alone.values()):.3f}")

# %%
# What was tried, and the weight that each got. A model may be tried on several views of the photos.

rows = sorted(model.report_, key=lambda row: row.weight)[-10:]
figure, (axes,) = panels(["weight in the blend"], (6, 3))
axes.barh(
    [f"{row.member} on {row.settings['view']}" if "view" in row.settings else row.member for row in rows],
    [row.weight for row in rows],
    color="#0072B2",
)
axes.grid(axis="y", visible=False)
