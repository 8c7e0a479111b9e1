"""What hidden captions say of a model is what it does on new photos, copies or not."""

import numpy as np
import pytest

from topicture.annotations.choice.choose import choose
from topicture.annotations.choice.quality_curves import learning_curve, quality_by_topics
from topicture.annotations.choice.trials import held_out, judge
from topicture.annotations.measures.metrics import accuracy
from topicture.corpus import Corpus
from topicture.models.registry import make_annotator


def collection(seed=0, n_new=600):
    """A hundred photos with a near copy each, and new ones; the look tells the word, though not at all reliably."""
    rng = np.random.default_rng(seed)
    n = 100 + n_new
    kind = rng.integers(0, 5, n)
    look = np.eye(5)[kind] @ rng.normal(0, 0.35, (5, 40)) + rng.normal(size=(n, 40))
    words = np.eye(5)[np.where(rng.random(n) < 0.5, kind, rng.integers(0, 5, n))]
    twice = np.r_[np.repeat(np.arange(100), 2), np.arange(100, n)]
    copies = look[twice] + 0.1 * rng.normal(size=(len(twice), 40))
    everything = Corpus.from_arrays(captions=words[twice], descriptor=copies)
    return everything[:200], everything[200:]


def few_neighbours():
    return make_annotator("knn", n_neighbours=5, power=5.0)


@pytest.fixture(scope="module")
def tagged():
    return collection()[0]


@pytest.fixture(scope="module")
def truth():
    """Accuracy on new photos."""
    tagged, new = collection()
    return accuracy(few_neighbours().fit(tagged).annotate(new.without_captions()), new.captions)


def test_held_out_answers_are_as_good_as_those_for_new_photos(tagged, truth):
    honest = judge("knn", tagged, held_out(few_neighbours, tagged)).accuracy
    standard_error = np.sqrt(truth * (1 - truth) / 100)
    assert abs(honest - truth) < 3 * standard_error
    apart = judge("knn", tagged, held_out(few_neighbours, tagged, groups=np.arange(200))).accuracy
    assert apart > truth + 6 * standard_error  # what copies would make of it


def test_the_end_of_a_learning_curve_is_as_good(tagged, truth):
    last = learning_curve(few_neighbours, tagged, n_draws=6).points[-1].accuracy
    assert abs(last - truth) < 3 * np.sqrt(truth * (1 - truth) / 100)


def test_quality_by_topics_is_as_good(tagged, truth):
    (point,) = quality_by_topics(lambda _: few_neighbours(), tagged, [1]).points
    assert abs(point.accuracy - truth) < 3 * np.sqrt(truth * (1 - truth) / 100)


def test_settings_that_live_on_copies_are_not_chosen(tagged):
    """One neighbour is the copy, if that may be seen; without it many know more."""
    assert choose("knn", tagged, {"n_neighbours": [1, 60]}).params == {"n_neighbours": 60}
