"""The scikit-learn adapter: scikit-learn's own checks, pipelines, searches, and the two kinds of target."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import topicture as tp
from topicture.annotations.measures import metrics
from topicture.annotations.sklearn_adapter import AnnotatorClassifier
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.empirical import Empirical
from topicture.models.registry import annotator_class

# Checks that can't apply, each with its reason; the same table stands in docs/scikit-learn.md.
EXPECTED_FAILURES: dict[str, str] = {}

COUNT_BASED = [name for name in tp.model_names() if set(annotator_class(name).needs) <= {"visual_words"}]
# Small, and quick to compile: the checks fit corpora of many shapes.
SMALL = {"n_topics": 2, "n_init": 1, "max_iter": 3}
SMALL_OF = {"mix-unigram": {"smoothing": "map"}, "auto": {"members": ["naive-bayes", "knn"]}}


def small(name):
    known = annotator_class(name)().get_params()
    shared = {key: value for key, value in SMALL.items() if key in known}
    return tp.make_annotator(name, **shared, **SMALL_OF.get(name, {}))


def mixture(**params):
    """The same number of topics everywhere, so that the tests share compiled passes."""
    return MixUnigram(**{"n_topics": 6, "n_init": 2, "max_iter": 20, **params})


# --- scikit-learn's own checks -----------------------------------------------------------------------------------


def run_checks(names):
    return parametrize_with_checks(
        [AnnotatorClassifier(small(name)) for name in names],
        expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    )


@run_checks(["empirical"])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The checks fit some dozen shapes of data, each of which a model of topics compiles anew.
@pytest.mark.slow
@run_checks([name for name in COUNT_BASED if name != "empirical"])
def test_scikit_learn_checks_of_models_that_compile(estimator, check):
    check(estimator)


def test_docs_list_every_check_that_cannot_apply():
    page = (Path(__file__).parents[2] / "docs" / "scikit-learn.md").read_text()
    listed = set(re.findall(r"`(check_\w+)`", page))
    assert set(EXPECTED_FAILURES) <= listed
    known = {
        getattr(check, "func", check).__name__
        for _, check in estimator_checks_generator(AnnotatorClassifier(Empirical()))
    }
    assert listed <= known, "the page names checks that scikit-learn does not have"


# --- One class an image --------------------------------------------------------------------------------------------


def four_kinds(n_images=60, seed=0):
    """Counts of twelve visual words, three of them frequent in each kind of image, and the kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(4, size=n_images)
    frequent = np.repeat(np.eye(4)[kind], 3, axis=1)
    return rng.poisson(0.5 + 4 * frequent), np.array(["beach", "city", "forest", "night"])[kind]


def test_classes_are_learned():
    X, y = four_kinds()
    model = AnnotatorClassifier(mixture()).fit(X[:30], y[:30])
    assert model.classes_.tolist() == ["beach", "city", "forest", "night"]
    assert model.annotator_.vocabulary_.words == ("beach", "city", "forest", "night")
    assert model.n_features_in_ == 12
    p = model.predict_proba(X[30:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.predict(X[30:]).tolist() == model.classes_[p.argmax(axis=1)].tolist()
    assert model.score(X[30:], y[30:]) == np.mean(model.predict(X[30:]) == y[30:])
    assert model.score(X[30:], y[30:]) > 0.9


def test_the_adapter_adds_nothing_to_the_annotator():
    X, y = four_kinds()
    captions = (y[:, None] == np.unique(y)[None, :]).astype(float)
    corpus = Corpus.from_arrays(captions=captions, vocabulary=np.unique(y), visual_words=X)
    expected = mixture().fit(corpus).annotate(corpus)
    np.testing.assert_array_equal(AnnotatorClassifier(mixture()).fit(X, y).predict_proba(X), expected)


def test_numbers_and_booleans_are_classes_too():
    X, y = four_kinds()
    numbers = np.unique(y, return_inverse=True)[1] * 10 - 5
    predicted = AnnotatorClassifier(mixture()).fit(X, numbers).predict(X)
    assert predicted.dtype == numbers.dtype
    assert np.mean(predicted == numbers) > 0.9
    predicted = AnnotatorClassifier(Empirical()).fit(X, y != "city").predict(X)
    assert predicted.dtype == bool
    assert predicted.all()


# --- A table of labels ---------------------------------------------------------------------------------------------


def labels(n_images=60, seed=0):
    """Two blocks of columns per image, and which."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n_images, 4), int)
    for row in Y:
        row[rng.choice(4, 2, replace=False)] = 1
    return rng.poisson(0.5 + 4 * np.repeat(Y, 3, axis=1)), Y


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_matrix])
def test_labels_are_learned(kind):
    X, Y = labels()
    model = AnnotatorClassifier(mixture()).fit(kind(X), kind(Y))
    assert model.n_labels_ == 2
    assert model.classes_.tolist() == [0, 1, 2, 3]
    predicted = model.predict(kind(X))
    assert (predicted.sum(axis=1) == 2).all()
    p = model.predict_proba(kind(X))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    # The labels that were given are the most probable ones.
    assert (np.where(predicted, p, np.inf).min(axis=1) >= np.where(predicted, -np.inf, p).max(axis=1)).all()
    assert model.score(kind(X), kind(Y)) == metrics.accuracy(p, Y) > 0.8


@pytest.mark.parametrize(("n_labels", "expected"), [("mean", 2), (1, 1), (np.int64(3), 3), (99, 4)])
def test_number_of_labels(n_labels, expected):
    X, Y = labels(20)
    model = AnnotatorClassifier(Empirical(), n_labels=n_labels).fit(X, Y)
    assert model.n_labels_ == expected
    assert (model.predict(X).sum(axis=1) == expected).all()


@pytest.mark.parametrize("n_labels", [0, -1, 1.5, "most", None])
def test_senseless_number_of_labels(n_labels):
    with pytest.raises(TopictureError, match="n_labels must be 'mean' or a positive whole number"):
        AnnotatorClassifier(Empirical(), n_labels=n_labels).fit(*labels(20))


def test_a_row_of_zeros_is_an_untagged_image():
    """It takes part in the fit as an image without a caption, and counts neither in n_labels_ nor in the score."""
    X, Y = labels()
    Y[30:] = 0
    model = AnnotatorClassifier(mixture()).fit(X, Y)
    assert model.n_labels_ == 2
    corpus = Corpus.from_arrays(captions=Y, vocabulary=["0", "1", "2", "3"], visual_words=X)
    assert corpus.tagged.sum() == 30
    np.testing.assert_array_equal(model.predict_proba(X), mixture().fit(corpus).annotate(corpus))
    without = AnnotatorClassifier(mixture()).fit(X[:30], Y[:30])
    assert not np.allclose(without.predict_proba(X), model.predict_proba(X))
    assert model.score(X, Y) == model.score(X[:30], Y[:30])


def test_no_image_tagged_at_all():
    X, Y = labels(20)
    model = AnnotatorClassifier(Empirical()).fit(X, np.zeros_like(Y))
    assert model.n_labels_ == 1
    np.testing.assert_allclose(model.predict_proba(X), 1 / 4)


# --- Inside scikit-learn ---------------------------------------------------------------------------------------------


def test_default_annotator():
    fitted = AnnotatorClassifier().fit([[1, 0], [0, 1]], [0, 1])
    assert fitted.annotator is None
    assert isinstance(fitted.annotator_, MixUnigram)
    assert tp.AnnotatorClassifier is AnnotatorClassifier


def test_fit_does_not_touch_the_annotator_it_was_given():
    given = mixture()
    AnnotatorClassifier(given).fit(*four_kinds())
    assert not hasattr(given, "params_")


def test_pipeline_and_grid_search():
    texts, y = [], []
    for i in range(24):
        texts.append(["sand wave sand palm", "street car tower street", "tree moss fern tree"][i % 3])
        y.append(["beach", "city", "forest"][i % 3])
    pipeline = make_pipeline(CountVectorizer(), AnnotatorClassifier(mixture()))
    grid = {"annotatorclassifier__annotator": [Empirical(), mixture()]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(texts, y)
    assert isinstance(search.best_params_["annotatorclassifier__annotator"], MixUnigram)
    assert search.score(texts, y) == 1
    assert search.predict(["wave and palm"]).tolist() == ["beach"]


def test_the_best_annotator_of_a_search_can_be_saved(tmp_path):
    X, y = four_kinds()
    search = GridSearchCV(
        AnnotatorClassifier(mixture()), {"annotator__max_iter": np.arange(5, 7)}, cv=2, error_score="raise"
    ).fit(X, y)
    annotator = search.best_estimator_.annotator_
    annotator.save(tmp_path / "model")
    assert tp.load_annotator(tmp_path / "model").get_params() == annotator.get_params()


def test_cross_validation_of_labels():
    X, Y = labels()
    baseline = cross_val_score(AnnotatorClassifier(Empirical()), X, Y, cv=2, error_score="raise")
    scores = cross_val_score(AnnotatorClassifier(mixture()), X, Y, cv=2, error_score="raise")
    assert scores.mean() > baseline.mean() + 0.2


def test_clone_and_nested_parameters():
    model = clone(AnnotatorClassifier(mixture(n_topics=7)))
    assert model.get_params()["annotator__n_topics"] == 7
    assert model.set_params(annotator__n_topics=3).annotator.n_topics == 3


# --- Other views ---------------------------------------------------------------------------------------------------


class Nearest(Annotator):
    """A stand-in for models that read descriptors: the caption of the nearest training image."""

    name = "nearest"
    needs = ("descriptor",)

    def _fit(self, corpus, callback):
        self.corpus_ = corpus

    def _annotate(self, corpus):
        distance = ((corpus.descriptor[:, None] - self.corpus_.descriptor[None]) ** 2).sum(axis=2)
        return self.corpus_.captions.toarray()[distance.argmin(axis=1)]


def test_descriptors_may_be_negative():
    X, y = four_kinds()
    model = make_pipeline(PCA(3, random_state=0), AnnotatorClassifier(Nearest())).fit(X, y)
    assert model.score(X, y) == 1
    tags = AnnotatorClassifier(Nearest()).__sklearn_tags__().input_tags
    assert not tags.positive_only
    assert not tags.sparse


class KnowsItsImages(Nearest):
    """A stand-in for models with a graph: it remembers which images it was fitted on."""

    name = "knows-its-images"

    def _annotate(self, corpus):
        assert not set(corpus.image_ids) & set(self.corpus_.image_ids)
        return super()._annotate(corpus)


def test_new_rows_are_not_taken_for_training_images():
    X, y = four_kinds()
    assert AnnotatorClassifier(KnowsItsImages()).fit(X, y).score(X[::-1], y[::-1]) == 1


class NeedsRegions(Nearest):
    name = "needs-regions"
    needs = ("regions",)


def test_models_of_regions_are_refused():
    with pytest.raises(TopictureError, match="needs-regions: needs the view 'regions'"):
        AnnotatorClassifier(NeedsRegions()).fit(*four_kinds())


def test_negative_counts_are_refused():
    X, y = four_kinds()
    with pytest.raises(ValueError, match="Negative values"):
        AnnotatorClassifier(mixture()).fit(X - 1, y)
