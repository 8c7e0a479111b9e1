"""The order in which photos teach most."""

import numpy as np
import pytest
from topicture_experiments.auto.teaching import table

from topicture.annotations.choice.trials import held_out, judge, settled
from topicture.annotations.teaching import (
    LearningCurve,
    Point,
    labels_needed,
    learning_curve,
    teaching_order,
    uncertainty,
)
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.registry import make_annotator


def groups(sizes, seed=0, n_columns=40):
    """Rows in tight groups of given sizes, and the group of each."""
    rng = np.random.default_rng(seed)
    centres = np.abs(rng.normal(size=(len(sizes), n_columns))) * (rng.random((len(sizes), n_columns)) < 0.2)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return centres[group] + rng.normal(0, 0.01, (len(group), n_columns)), group


def test_large_groups_are_asked_about_first_and_each_only_once():
    rows, group = groups([40, 30, 20, 10, 1])
    order = teaching_order(rows, np.zeros(len(rows), bool), 5)
    assert group[order].tolist() == [0, 1, 2, 3, 4]


def test_groups_with_a_tagged_photo_come_late():
    rows, group = groups([40, 30, 20])
    tagged = np.zeros(len(rows), bool)
    tagged[0] = True
    assert group[teaching_order(rows, tagged, 3)].tolist()[:2] == [1, 2]
    assert not tagged[teaching_order(rows, tagged, 89)].any()


def test_only_those_that_may_be_asked_about_are():
    rows, group = groups([40, 30, 20])
    order = teaching_order(rows, np.zeros(90, bool), 5, among=group > 0)
    assert len(order) == 5
    assert group[order].min() == 1


def test_weights_count():
    rows, group = groups([40, 30])
    weight = np.where(group == 1, 1.0, 0.1)
    assert group[teaching_order(rows, np.zeros(70, bool), 1, weight=weight)[0]] == 1


def test_lazy_choice_is_the_greedy_one():
    """Against the definition: each photo has the largest gain at its turn."""
    rows = np.abs(np.random.default_rng(1).normal(size=(40, 5)))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    likeness = unit @ unit.T
    covered = np.zeros(40)
    for chosen in teaching_order(rows, np.zeros(40, bool), 12):
        gains = np.maximum(likeness - covered, 0).sum(axis=1)
        assert gains[chosen] == pytest.approx(gains.max(), abs=1e-4)
        covered = np.maximum(covered, likeness[chosen])


def test_uncertainty_is_between_knowing_and_not():
    assert uncertainty(np.eye(4)) == pytest.approx(0, abs=1e-9)
    assert uncertainty(np.full((1, 4), 0.25)) == pytest.approx(1)


def corpus(seed=0):
    rows, group = groups([30, 20, 10, 5], seed)
    return Corpus.from_arrays(captions=np.eye(4)[group], descriptor=rows)


@pytest.mark.parametrize("order", ["random", "uncertain", "teaching", "both"])
def test_curves_start_alike_and_use_the_labels_that_were_asked_for(order):
    curve = learning_curve(
        lambda: make_annotator("lsa", n_components=4, n_neighbours=1),
        corpus(),
        corpus(seed=0),
        order,
        start=2,
        step=2,
        stop=8,
        seed=0,
    )
    assert [point.n_tagged for point in curve.points] == [2, 4, 6, 8]
    assert curve.points[-1].accuracy >= curve.points[0].accuracy


def test_labels_needed_is_interpolated_and_nan_where_never_reached():
    curves = [LearningCurve("random", (Point(100, 0.2, 0), Point(200, 0.4, 0)))]
    assert labels_needed(curves, "random", "mean_average_precision", 0.3) == pytest.approx(150)
    assert np.isnan(labels_needed(curves, "random", "mean_average_precision", 0.5))
    assert "| MAP | 0.400 | 200 |" in table([*curves], levels=(200,))


# --- The choice of a model ------------------------------------------------------------------------------------------


def test_the_better_model_is_judged_better_and_reviewed_images_get_scores_too():
    data = corpus().without_captions(np.arange(65) % 5 == 0)
    reviewed = ~data.tagged & (np.arange(65) < 20)
    means = {}
    for model in ("empirical", "nlsa"):
        # Images of one kind are as near as copies here, but are meant to be different ones.
        scores = held_out(
            lambda model=model: make_annotator(model), data, also=reviewed, groups=np.arange(65)
        )
        means[model] = judge(model, data, scores).mean
    assert means["nlsa"] > means["empirical"]
    assert np.array_equal(scores.fold_of < 0, ~data.tagged)
    assert scores.p.sum(axis=1) == pytest.approx((data.tagged | reviewed).astype(float))


def test_held_out_scores_have_not_seen_the_caption():
    """The empirical model's answer to a fold is the frequency among the others."""
    data = corpus()
    scores = held_out(lambda: make_annotator("empirical"), data)
    for fold in range(3):
        others = data.captions.toarray()[scores.fold_of != fold].sum(axis=0)
        assert scores.p[scores.fold_of == fold] == pytest.approx(
            np.tile(others / others.sum(), ((scores.fold_of == fold).sum(), 1))
        )
    with pytest.raises(CorpusError, match="too few"):
        held_out(lambda: make_annotator("empirical"), data.without_captions(np.arange(65) > 1))


def test_what_an_annotator_chose_is_told():
    fitted = make_annotator("nlsa").fit(corpus())
    assert settled(fitted) == {"n_neighbours": fitted.n_neighbours_, "word_weight": fitted.word_weight_}
    assert settled(make_annotator("empirical").fit(corpus())) == {}


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("position", [0, 70])
def test_rows_that_are_no_numbers_are_refused_not_looped_over(value, position):
    rows, _ = groups([40, 30, 20])
    rows[position, 3] = value
    tagged = np.arange(len(rows)) >= 60
    with pytest.raises(CorpusError, match="not numbers"):
        teaching_order(rows, tagged, 5)


def test_a_weight_that_is_no_number_does_not_loop_for_ever():
    rows, _ = groups([4, 3])
    order = teaching_order(rows, np.zeros(7, bool), 7, weight=np.full(7, np.nan))
    assert sorted(order) == list(range(7))
