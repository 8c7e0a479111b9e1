"""
Teach a word by a few clicks
============================

Somebody wants to find a thing that nobody has tagged. Four clicks on photos that have it and two on photos that have
not, and the whole collection is ranked. All that is costly does not depend on the clicks, so it takes milliseconds even
for a hundred thousand photos.
"""

import numpy as np

from topicture.annotations.figures.photos import photo_grid
from topicture.annotations.one_word import Background, learn_word
from topicture.demo.sample import sample_photos

sample = sample_photos()
rows = sample.corpus.descriptor
has = np.array(["snow" in scene.present for scene in sample.scenes])
background = Background(rows)
clicked = np.concatenate([np.flatnonzero(has)[:4], np.flatnonzero(~has)[:2]])
word = learn_word(background, rows[clicked], has[clicked])

# %%
# The eight photos that are most likely to have snow, among those that were not clicked on.

log_odds = word.log_odds(rows)
log_odds[clicked] = -np.inf
best = np.argsort(-log_odds)[:8]
print(f"{has[best].sum()} of 8 have some; of all photos {has.mean():.0%} have")
figure = photo_grid(
    [sample.scenes[i].pixels for i in best],
    [f"{1 / (1 + np.exp(-log_odds[i])):.0%}: {'snow' if has[i] else 'no snow'}" for i in best],
)
