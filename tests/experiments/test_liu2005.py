"""The table of Liu and Tang 2005: its form, its scores recomputed, LSA1's cut lists."""

from dataclasses import replace

import numpy as np
import pytest
from test_lsa import make_corpus
from topicture_experiments.liu2005 import models as liu2005

from topicture.annotations.measures.metrics import normalised_score_of_lists, threshold_sweep
from topicture.annotations.measures.protocols import random_splits
from topicture.models.spaces.lsa import LSA
from topicture.models.spaces.nlsa import NLSA


@pytest.fixture(scope="module")
def parts():
    """Without visual words, so without PLSA, which takes longer than all others together."""
    corpus = replace(make_corpus(np.random.default_rng(3), n_images=90), visual_words=None)
    return list(random_splits(corpus, 0.7, seeds=(0, 1)))


FAST = liu2005.Setting(iwe={"n_init": 1})


@pytest.fixture(scope="module")
def table(parts):
    return liu2005.run(parts, FAST, components=(2, 4))


def test_rows_and_columns_are_those_of_the_paper(table):
    assert list(table.scores) == ["word frequency", "LSA1", "LSA2", "NLSA", "NLSA+IWE"]
    assert all(values.shape == (2, 2) for values in table.scores.values())
    assert table.as_dict()["components"] == [2, 4]
    lines = str(table).splitlines()
    assert lines[0].split() == ["K", "2", "4"]
    assert all(line.count("±") == 2 for line in lines[1:])


def test_scores_are_those_of_the_models(parts, table):
    part = parts[1]
    model = NLSA(4, n_neighbours=3, word_weight=1.0).fit(part.tagged)
    best = threshold_sweep(model.annotate(part.hidden), part.hidden.captions).best
    assert table.scores["NLSA"][1, 1] == pytest.approx(best, rel=1e-12)


def test_lists_are_cut_to_the_number_of_words_that_soft_inference_predicts(parts):
    """With one part, LSA1 at LSA2's own numbers of words; thresholds that lie between ours can only add to it."""
    table = liu2005.run(parts[:1], FAST, components=(3,))
    part = parts[0]
    model = LSA(3, n_neighbours=3, word_weight=1.0).fit(part.tagged)
    sweep = threshold_sweep(model.annotate(part.hidden), part.hidden.captions)
    lists = model.propagate(part.hidden, part.hidden.n_words)
    best = normalised_score_of_lists(lists, part.hidden.captions, sweep.n_words).max()
    assert table.scores["LSA1"][0, 0] == pytest.approx(best, abs=0.02)
    assert table.scores["LSA1"][0, 0] <= best + 1e-6  # kept with six decimals
    assert "±" not in str(table)


def test_mean_and_standard_error(table):
    values = table.scores["LSA2"]
    np.testing.assert_allclose(table.mean()["LSA2"], values.mean(axis=0))
    np.testing.assert_allclose(table.standard_error()["LSA2"], np.abs(values[0] - values[1]) / 2, rtol=1e-12)


def test_lists_of_all_parts_are_cut_to_the_same_mean_number_of_words():
    """Part a predicts 1 word at every threshold and part b 3: both lists are cut to 2 words."""
    cells = {
        (part, 5): {"scores": {"LSA2": 0.1}, "list_scores": [0, 0.9, gain, 0.9], "soft_words": [n_words] * 3}
        for part, n_words, gain in (("a", 1.0, 0.2), ("b", 3.0, 0.4))
    }
    np.testing.assert_allclose(liu2005.assembled(cells).scores["LSA1"], [[0.2], [0.4]])


def test_cells_are_told_as_they_come(parts):
    told = []
    liu2005.run(parts[:1], FAST, components=(2,), on_cell=lambda *cell: told.append(cell))
    ((part, K, cell),) = told
    assert (part, K) == (parts[0].name, 2)
    assert set(cell["scores"]) == {"word frequency", "LSA2", "NLSA", "NLSA+IWE"}
    assert cell["chosen"]["NLSA"]["Z"] == 3


def test_more_neighbours_reach_more_words_and_sharpness_is_measured(parts):
    few, many = liu2005.measure_reach(parts[0], 3, "descriptor", (1, 20))["reach"]
    assert few["reached"] < many["reached"] <= 1
    assert few["from_frequencies"] > many["from_frequencies"] > 0
    assert min(few["from_map"], many["from_map"]) > 0


def test_settings_reach_the_models(parts, table):
    setting = liu2005.Setting(nlsa={"centre": True}, iwe={"n_dims": 1, "n_init": 1})
    other = liu2005.run(parts[:1], setting, components=(2,))
    assert other.scores["LSA2"][0, 0] == table.scores["LSA2"][0, 0]
    assert other.scores["NLSA+IWE"][0, 0] != table.scores["NLSA+IWE"][0, 0]
    model = NLSA(2, n_neighbours=3, word_weight=1.0, centre=True).fit(parts[0].tagged)
    best = threshold_sweep(model.annotate(parts[0].hidden), parts[0].hidden.captions).best
    assert other.scores["NLSA"][0, 0] == pytest.approx(best, rel=1e-12)


@pytest.mark.slow
def test_visual_words_bring_plsa_in():
    corpus = make_corpus(np.random.default_rng(3), n_images=90)
    table = liu2005.run(random_splits(corpus, 0.7), FAST._replace(view="visual_words"), components=(2,))
    assert list(table.scores) == ["word frequency", "PLSA", "LSA1", "LSA2", "NLSA", "NLSA+IWE"]
    assert (table.scores["PLSA"] > table.scores["word frequency"]).all()
