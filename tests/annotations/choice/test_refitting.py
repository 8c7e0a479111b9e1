"""Annotators like a fitted one give, on hidden captions, the answers that choosing it gave."""

import numpy as np
import pytest
from sklearn.base import clone

from topicture.annotations.choice.refitting import held_out_again, n_topics_of, unfitted_like, with_topics
from topicture.annotations.choice.trials import held_out
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.blends.auto import Auto
from topicture.models.blends.choice import word_frequencies_of_folds
from topicture.models.registry import make_annotator


@pytest.fixture(scope="module")
def corpus():
    """Images of three kinds that can be told apart, though not always; three in four are tagged, not all rightly."""
    rng = np.random.default_rng(3)
    kind = np.arange(60) % 3
    captions = np.eye(3)[np.where(rng.random(60) < 0.3, rng.integers(0, 3, 60), kind)]
    captions[np.arange(60) % 4 == 3] = 0
    return Corpus.from_arrays(
        captions=captions,
        visual_words=rng.poisson(0.5 + 2.0 * np.eye(3)[kind]),
        descriptor=np.eye(3)[kind] + rng.normal(0, 0.5, (60, 3)),
    )


@pytest.mark.parametrize("name", ["knn", "mix-unigram"])
def test_held_out_answers_are_those_of_the_choice(corpus, name):
    settings = {"n_topics": 2, "n_init": 1} if name == "mix-unigram" else {}
    first = held_out(lambda: make_annotator(name, **settings), corpus)
    told = []
    again = held_out_again(
        make_annotator(name, **settings).fit(corpus), corpus, on_fold=lambda *done: told.append(done)
    )
    np.testing.assert_array_equal(again.p, first.p)
    np.testing.assert_array_equal(again.fold_of, first.fold_of)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_settings_are_kept_and_what_they_leave_open_is_chosen_anew(corpus):
    """What was chosen by captions that are hidden now must not come along."""
    fitted = make_annotator("lsa", n_components=2).fit(corpus)
    like = unfitted_like(fitted)()
    assert like.get_params() == fitted.get_params()
    assert like.n_neighbours == "auto"
    assert not hasattr(like, "features_")


def test_a_blend_is_asked_as_it_asked_itself(corpus):
    auto = Auto(["lsa"]).fit(corpus)  # on both views; it chooses its number of neighbours itself
    reviewed = np.zeros(len(corpus), bool)
    reviewed[3] = True
    again = held_out_again(auto, corpus, also=reviewed)
    tagged = np.flatnonzero(corpus.tagged)
    np.testing.assert_array_equal(again.fold_of, auto.fold_of_)
    np.testing.assert_allclose(again.p[tagged], auto.held_out_, rtol=1e-9)
    np.testing.assert_allclose(again.p[tagged].sum(axis=1), 1)
    np.testing.assert_allclose(again.p[3], auto.annotate(corpus[[3]])[0])
    assert not again.p[~corpus.tagged & ~reviewed].any()


def test_with_other_groups_hidden_a_blend_keeps_its_weights(corpus):
    """What is learned of hidden groups is to hold for the fitted blend: answers are no more cautious than its own."""
    auto = Auto(members=["naive-bayes", "knn"]).fit(corpus)
    groups = np.arange(len(corpus)) % 5
    told = held_out_again(auto, corpus, groups=groups, n_folds=5, same_weights=True)
    p_w = word_frequencies_of_folds(corpus, told.fold_of)
    for fold in range(5):
        hidden = told.fold_of == fold
        shown = corpus.without_captions(hidden)
        answers = [
            clone(member).fit(shown).annotate(corpus[hidden].without_captions()) for member in auto.members_
        ]
        np.testing.assert_allclose(told.p[hidden], auto.blend_(answers, p_w[[fold]]), rtol=1e-5)
    anew = held_out_again(auto, corpus, groups=groups, n_folds=5)
    assert np.abs(anew.p - told.p).max() > 0.01


def test_a_blend_is_fitted_again_whole(corpus):
    auto = Auto(["knn", "naive-bayes"]).fit(corpus)
    like = unfitted_like(auto)().fit(corpus)
    np.testing.assert_allclose(like.annotate(corpus), auto.annotate(corpus), atol=1e-12)


def test_a_curve_learns_weights_and_frequencies_from_what_is_shown(corpus):
    """What the fitted blend learned, hidden captions included, must not come along."""
    auto = Auto(["knn", "lsa"]).fit(corpus)
    shown = corpus.without_captions(np.arange(60) % 3 == 0)
    before = unfitted_like(auto)().fit(shown).annotate(corpus)
    auto.p_w_ = np.array([0.9, 0.05, 0.05])
    auto.blend_ = auto.blend_._replace(weights=auto.blend_.weights * 3, prior_weight=2.0)
    np.testing.assert_array_equal(unfitted_like(auto)().fit(shown).annotate(corpus), before)
    np.testing.assert_allclose(before.sum(axis=1), 1)


def test_a_blend_can_learn_from_a_single_caption(corpus):
    auto = Auto(["knn", "naive-bayes"]).fit(corpus)
    shown = corpus.without_captions(np.arange(60) > 0)
    np.testing.assert_allclose(unfitted_like(auto)().fit(shown).annotate(corpus).sum(axis=1), 1)


def test_near_copies_are_hidden_together(corpus):
    groups = np.arange(60) // 5
    for annotator in (make_annotator("knn"), Auto(["knn"])):
        again = held_out_again(annotator.fit(corpus), corpus, groups=groups)
        for group in range(12):
            assert len(np.unique(again.fold_of[(groups == group) & corpus.tagged])) == 1


def test_the_number_of_topics_can_be_changed(corpus):
    fitted = make_annotator("mix-unigram", n_topics=2, n_init=1, max_iter=3).fit(corpus)
    assert n_topics_of(fitted) == 2
    assert with_topics(fitted)(5).get_params() == {**fitted.get_params(), "n_topics": 5}
    assert n_topics_of(make_annotator("nlsa", n_components=7)) == 7
    assert n_topics_of(make_annotator("knn")) is None
    with pytest.raises(TopictureError, match="knn: the model has no number of topics"):
        with_topics(make_annotator("knn"))
