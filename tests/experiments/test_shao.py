"""The experiment of Shao et al. on a small synthetic division, and on the Corel data where it is present."""

import numpy as np
import pytest
from topicture_experiments.shao import models as shao

from topicture.annotations.measures.protocols import Part
from topicture.errors import TopictureError
from topicture.models.counts import mix_unigram

QUICK = {"n_init": 1, "max_iter": 5}


def small_parts():
    rng = np.random.default_rng(5)
    truth = mix_unigram.PointParams(
        np.full(3, 1 / 3), rng.dirichlet(np.full(15, 0.3), 3), rng.dirichlet(np.full(6, 0.3), 3)
    )
    for part in ("one", "two"):
        corpus = mix_unigram.sample(rng, truth, 60, n_visual=6, n_words=3)
        yield Part(part, corpus[:20], corpus[20:])


@pytest.fixture(scope="module")
def curves():
    models = {"Empirical": "empirical", "LapVar1": "lap-var1"}
    return shao.run(small_parts, topics=(2, 3), models=models, settings={"LapVar1": QUICK})


def test_curves_have_a_point_for_every_number_of_topics(curves):
    assert curves.topics == (2, 3)
    for experiments in curves.experiments.values():
        assert len(experiments) == 2
        assert all(len(experiment.runs) == 2 for experiment in experiments)
    empirical = curves.experiments["Empirical"]
    assert empirical[0] is empirical[1]


def test_table_and_figures(curves):
    lines = curves.table().splitlines()
    assert len(lines) == 1 + 2 * 2
    mean = curves.experiments["LapVar1"][1].mean()["accuracy"]
    assert lines[-1].startswith("LapVar1")
    assert f"{mean:.4f}" in lines[-1]
    figures = shao.figures(curves)
    assert set(figures) == set(shao.FIGURES)
    accuracy, length = figures["shao2010-figure3"].axes
    assert (accuracy.get_title(loc="left"), length.get_title(loc="left")) == ("Accuracy", "Complete length")
    drawn = dict(zip(*reversed(accuracy.get_legend_handles_labels()), strict=True))
    assert set(drawn) == {"Empirical", "LapVar1"}
    assert set(drawn["Empirical"].get_ydata()) == {curves.experiments["Empirical"][0].mean()["accuracy"]}
    np.testing.assert_allclose(drawn["LapVar1"].lines[0].get_ydata()[1], mean)


def test_nothing_to_do_is_refused():
    with pytest.raises(TopictureError, match="at least one"):
        shao.run(small_parts, topics=())


def test_corel_parts_are_the_official_ones(data_folder):
    part = next(shao.corel_parts((1,), data_folder))
    assert (len(part.tagged), len(part.hidden)) == (1744, 5188)
    assert part.tagged.tagged.all()
