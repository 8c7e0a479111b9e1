"""
The graph of similar photos
===========================

Photos that look alike tend to carry the same words. The models of this section join them by a graph, and let what is
known of one photo flow to its neighbours. A :class:`~topicture.models.graphs.graph.GraphRule` says who is whose
neighbour: who shares enough visual words, as in the papers, or who is nearest.
"""

import numpy as np
from scipy.sparse.linalg import eigsh

from topicture.annotations.figures.style import bare, panels
from topicture.demo.sample import sample_photos
from topicture.models.graphs.graph import GraphRule, Views

sample = sample_photos()
images = Views(sample.corpus.visual_words, None, sample.corpus.descriptor)
rules = {
    "share 3 visual words": GraphRule(min_visual=3),
    "share 4 visual words": GraphRule(min_visual=4),
    "8 nearest by deep features": GraphRule("neighbours", n_neighbours=8, features="descriptor"),
}
graphs = {name: rule.graph(images) for name, rule in rules.items()}

# %%
# The second and third eigenvectors of the random walk place photos near their neighbours. Orange photos have the word
# "sea": where a graph is of use they are together.

has_sea = sample.complete.captions[:, [sample.corpus.vocabulary.index("sea")]].toarray().ravel() > 0
figure, axes = panels([f"{name}: {graph.S.nnz // 2} edges" for name, graph in graphs.items()], (3.3, 3.0))
for panel, graph in zip(axes, graphs.values(), strict=True):
    scale = 1 / np.sqrt(np.maximum(graph.S.sum(axis=1), 1e-9))
    _, vectors = eigsh(graph.S.multiply(scale[:, None]).multiply(scale[None, :]).tocsr(), k=3, v0=scale)
    places = (vectors * scale[:, None])[:, :2]
    places = np.argsort(np.argsort(places, axis=0), axis=0)  # ranks, so that no far group squeezes the others
    rows, columns = graph.S.nonzero()
    few = np.random.default_rng(0).permutation(len(rows))[:600]
    panel.plot(*places[np.stack([rows, columns])[:, few]].transpose(2, 0, 1), color="#d5d5d5", linewidth=0.4)
    panel.scatter(*places[~has_sea].T, s=12, color="#0072B2", zorder=2)
    panel.scatter(*places[has_sea].T, s=22, color="#D55E00", zorder=3)
    bare(panel)
