"""An annotator with the habits of a scikit-learn classifier: fit(X, y), predict, predict_proba, score."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from topicture.annotations.measures.metrics import accuracy
from topicture.annotations.measures.ranking import rank
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.counts.mix_unigram import MixUnigram

__all__ = ["AnnotatorClassifier"]

# The views of a corpus that one matrix can fill.
_VIEWS = ("visual_words", "descriptor")


class AnnotatorClassifier(ClassifierMixin, BaseEstimator):
    """Any annotator that reads counts or descriptors of whole images, inside scikit-learn's pipelines and searches.

    Parameters
    ----------
    annotator : Annotator, default MixUnigram()
        It is cloned; its parameters are reached as `annotator__n_topics` and so on.
    n_labels : "mean" or int
        How many words `predict` gives an image when y is a table of labels: the mean number of labels of the tagged
        training images, rounded, or a fixed number.

    Attributes
    ----------
    annotator_ : the fitted annotator
    classes_ : (V,) the classes, or the columns of y
    n_labels_ : number of words that `predict` gives an image
    n_features_in_ : number of columns of X
    """

    def __init__(self, annotator: Annotator | None = None, n_labels: str | int = "mean"):
        self.annotator = annotator
        self.n_labels = n_labels

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X and y.

        Parameters
        ----------
        X : (D, U) array or sparse matrix
            Non-negative counts of visual words; for an annotator that needs descriptors, any real numbers, dense.
        y : (D,) classes, or (D, V) array or sparse matrix of 0 and 1
            One class per image, or its labels. In a table, a row of zeros means "not tagged": the image takes part in
            the fit without its labels (semi-supervised learning), and `score` leaves it out.
        """
        annotator = MixUnigram() if self.annotator is None else clone(self.annotator)
        _check_views(annotator)
        X = self._checked(X, reset=True)
        captions = self._captions(y)
        check_consistent_length(X, captions)
        self.n_labels_ = self._number_of_labels(captions)
        words = [str(label) for label in self.classes_]
        self.annotator_ = annotator.fit(_corpus(annotator, X, words, "trained", captions))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(word | image), (D, V), in the order of `classes_`; rows sum to 1, for a table of labels as well."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return self.annotator_.annotate(_corpus(self.annotator_, X, self.annotator_.vocabulary_.words, "new"))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every image, (D,), or a table (D, V) of its `n_labels_` most probable labels."""
        p = self.predict_proba(X)
        if self.single_label_:
            return self.classes_[np.argmax(p, axis=1)]
        labels = np.zeros(p.shape, np.int64)
        np.put_along_axis(labels, rank(p)[:, : self.n_labels_], 1, axis=1)
        return labels

    def score(self, X: Any, y: Any) -> float:
        """Share of images with the right class; for a table of labels the mean of R/M.

        R of an image's M true labels are among the M most probable words (docs/models.md, section 6).
        """
        if not hasattr(self, "single_label_") or self.single_label_:
            return super().score(X, y)
        return accuracy(self.predict_proba(X), check_array(y, accept_sparse="csr", input_name="y"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        needs = () if self.annotator is None else self.annotator.needs
        tags.input_tags.sparse = tags.input_tags.positive_only = "descriptor" not in needs
        tags.classifier_tags.multi_label = True
        # Mixtures of counts see proportions, not sizes, so they can't separate clouds of points around a centre.
        tags.classifier_tags.poor_score = True
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Any:
        tags = self.__sklearn_tags__().input_tags
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr" if tags.sparse else False, dtype=np.float64
        )
        if tags.positive_only:
            check_non_negative(X, f"{type(self).__name__}: X must hold counts")
        return X

    def _captions(self, y: Any) -> sparse.csr_array:
        """y as counts (D, V); sets `classes_` and `single_label_`."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        check_classification_targets(y)
        self.single_label_ = type_of_target(y) != "multilabel-indicator"
        if not self.single_label_:
            captions = sparse.csr_array(check_array(y, accept_sparse="csr", input_name="y"), dtype=np.float64)
            self.classes_ = np.arange(captions.shape[1])
            return captions
        classes = column_or_1d(y, warn=True)
        self.classes_, label = np.unique(classes, return_inverse=True)
        places = (np.arange(len(label)), label)
        return sparse.csr_array((np.ones(len(label)), places), shape=(len(label), len(self.classes_)))

    def _number_of_labels(self, captions: sparse.csr_array) -> int:
        n_labels, n_words = self.n_labels, captions.shape[1]
        if n_labels == "mean":
            sizes = np.asarray((captions > 0).sum(axis=1)).ravel()
            n_labels = round(float(sizes[sizes > 0].mean())) if sizes.any() else 1
        if not (isinstance(n_labels, int | np.integer) and n_labels >= 1):
            raise TopictureError(f"n_labels must be 'mean' or a positive whole number, not {self.n_labels!r}")
        return min(int(n_labels), n_words)


def _check_views(annotator: Annotator) -> None:
    for view in annotator.needs:
        if view not in _VIEWS:
            raise TopictureError(
                f"{annotator.name}: needs the view '{view}', which a matrix X can't give; fit it on a Corpus"
            )


def _corpus(annotator: Annotator, X: Any, words: Any, prefix: str, captions: Any = None) -> Corpus:
    """X as every view that the annotator needs; a model that looks at no view still gets the images.

    Rows have no names. Those to predict get other ids than those of the fit, because a model with a graph knows its
    training images by their ids and would take the first new row for the first row that it was fitted on.
    """
    views = annotator.needs or ("visual_words",)
    ids = [f"{prefix}{i:09d}" for i in range(X.shape[0])]
    return Corpus.from_arrays(captions, words, image_ids=ids, **dict.fromkeys(views, X))
