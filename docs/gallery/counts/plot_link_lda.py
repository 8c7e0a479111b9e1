"""
Link-LDA: proportions with a prior
==================================

Link-LDA is pLSA with a Dirichlet prior on a photo's proportions and on the topics. The prior says that a photo has few
topics; how few is learned. Training begins with stochastic steps on minibatches, and ends with whole passes, over which
the bound never falls.
"""

from topicture import make_annotator
from topicture.annotations.figures.style import legend, line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
models = {
    learning: make_annotator("link-lda", n_topics=15, n_init=1, learning=learning, max_iter=30).fit(
        sample.corpus
    )
    for learning in ("stochastic", "batch")
}
for name, model in models.items():
    print(f"{name:10} accuracy {sample.judge(model).accuracy:.3f}, {model.result_}")

# %%
# The bound, pass by pass. What began with stochastic steps starts higher, and here it also ends higher.

figure, (axes,) = panels(["the bound, pass by pass"], (6, 3))
for name, look in line_looks(models).items():
    axes.plot(models[name].objective_trace_, label=name, **look)
axes.set_xlabel("whole passes")
legend(figure, [axes])
