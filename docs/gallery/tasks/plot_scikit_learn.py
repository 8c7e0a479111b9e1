"""
In a scikit-learn pipeline
==========================

Any annotator that looks at whole photos goes into scikit-learn's pipelines and searches. A row of zeros in the labels
means "not tagged": such photos are learned from as well.
"""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from topicture import AnnotatorClassifier, make_annotator
from topicture.annotations.figures.style import line_looks, panels
from topicture.demo.sample import sample_photos

sample = sample_photos()
X, y = sample.complete.descriptor, sample.complete.captions.toarray() > 0
pipeline = make_pipeline(StandardScaler(), AnnotatorClassifier(make_annotator("knn")))
n_neighbours = [1, 3, 10, 30, 100]
search = GridSearchCV(pipeline, {"annotatorclassifier__annotator__n_neighbours": n_neighbours}, cv=4).fit(
    X, y * 1
)
best = search.best_params_["annotatorclassifier__annotator__n_neighbours"]
print(f"best: {best} neighbours, {search.best_score_:.3f}")

# %%
# The score is the share of right words among the first M, M the number of true ones.

figure, (axes,) = panels(["score on held-out folds"], (5, 2.8))
look = line_looks(["knn"])["knn"]
means, spreads = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
axes.errorbar(n_neighbours, means, spreads, capsize=3, elinewidth=1, **look)
axes.set(xscale="log", xlabel="neighbours")
axes.set_xticks(n_neighbours, n_neighbours)
axes.set_xticks([], minor=True)
