"""
LapVar1: an objective that never falls
======================================

LapVar1 maximises the mixture's bound minus the roughness of the photos' topics on the graph,

.. math::  Q = F(\\Theta, p) - \\lambda \\sum_{i<j} S_{ij} \\lVert p_i - p_j \\rVert^2 .

The update of one photo has a closed form by the Wright omega function, so that nothing has to be guessed about step
lengths, and the objective rises with every sweep: photo by photo ("gs"), or all at once ("jacobi", "mm"), which suits
accelerators.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
models = {
    schedule: make_annotator(
        "lap-var1", n_topics=20, n_init=1, schedule=schedule, annealing=1.0, temperature=1.0, max_iter=25
    ).fit(sample.corpus)
    for schedule in ("gs", "jacobi", "mm")
}
for schedule, model in models.items():
    print(
        f"{schedule:8} accuracy {sample.judge(model).accuracy:.3f}, objective {model.objective_trace_[-1]:.1f}"
    )

# %%
# All three rise, and none of them ever falls.

figure, (axes,) = panels(["the objective, iteration by iteration"], (6, 3))
looks = line_looks(models)
for schedule, model in models.items():
    axes.plot(model.objective_trace_, label=schedule, **looks[schedule])
axes.set_xlabel("iteration")
legend(figure, [axes])
