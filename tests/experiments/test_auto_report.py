"""The report on `auto`: one run on a toy collection, what is kept, and the page."""

import json

import numpy as np
import pytest
from topicture_experiments.auto import report as auto_report
from topicture_experiments.auto import work as auto_work
from topicture_experiments.auto.page import write_page
from topicture_experiments.descriptors.images import Division
from topicture_experiments.shared.ranking import evened

from topicture.annotations.choice.learning import learn_auto
from topicture.corpus import Corpus
from topicture.corpus.datasets import Corel16k
from topicture.errors import CorpusError
from topicture.models.blends import members as auto_members


@pytest.fixture
def cheap(monkeypatch):
    """Only members that take no time."""
    monkeypatch.setattr(auto_members, "MEMBERS", ("naive-bayes", "knn", "tagprop", "logistic"))


def toy(rng, n_images):
    kind = rng.integers(0, 4, n_images)
    bags = rng.poisson(0.2 + 1.2 * (kind[:, None] == np.arange(12) // 3))
    captions = np.eye(5)[kind] + (rng.random((n_images, 5)) < 0.15)
    return Corpus.from_arrays(captions=captions, vocabulary=list("abcde"), visual_words=bags)


@pytest.fixture
def toy_subset(monkeypatch, rng):
    parts = toy(rng, 160).split([90, 40, 30], seed=0)
    monkeypatch.setattr(auto_work, "corel16k", lambda subset, data: Corel16k(*parts))


def test_a_stopped_report_goes_on_where_it_was(cheap, toy_subset, tmp_path, monkeypatch):
    asked = []
    measure = auto_report.subset_run

    def once(subset, protocol, data):
        if len(asked) == 1:
            raise KeyboardInterrupt
        asked.append((subset, protocol))
        return measure(subset, protocol, data)

    monkeypatch.setattr(auto_report, "subset_run", once)
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path), "--quick"]
    with pytest.raises(KeyboardInterrupt):
        auto_report.main(arguments)
    monkeypatch.setattr(auto_report, "subset_run", measure)
    auto_report.main(arguments)
    evidence = json.loads((tmp_path / "auto.json").read_text())
    usual, quarter = (evidence["found"][f"{protocol}, subset 1"] for protocol in auto_work.PARTS)
    assert (usual["tagged"], usual["hidden"]) == (90, 40)
    assert (quarter["tagged"], quarter["hidden"]) == (40, 90)
    assert usual["measures"]["auto"]["accuracy"] > usual["measures"]["word frequency"]["accuracy"]
    page = (tmp_path / "auto.md").read_text()
    for name in ("naive-bayes", "tagprop on visual_words", auto_work.RIVAL_BLEND, "`auto`", "goal"):
        assert f"| {name} |" in page


def test_a_run_without_time_tells_that_something_is_missing(tmp_path):
    with pytest.raises(SystemExit, match="not everything is measured"):
        auto_report.main(["--data", str(tmp_path), "--out", str(tmp_path), "--limit-seconds", "0"])
    assert not (tmp_path / "auto.md").exists()


def test_the_page_says_what_is_missed(tmp_path):
    worse = {
        "accuracy": 0.1,
        "complete_length": 50.0,
        "normalised_score": 0.5,
        "f1": 0.2,
        "perplexity": 80.0,
    }

    def run(protocol, subset, accuracy):
        good = {
            "accuracy": accuracy,
            "complete_length": 40.0,
            "normalised_score": 0.7,
            "f1": 0.3,
            "perplexity": 40.0,
        }
        return {
            "subset": subset,
            "protocol": protocol,
            "versions": {"numpy": f"2.{subset}"},
            "seconds": 5.0,
            "table": [{"member": "knn", "perplexity": 50.0, "weight": 0.5}],
            "measures": {"auto": good, "word frequency": worse},
        }

    evidence = {
        "date": "2026-01-01",
        "seed": 0,
        "found": {
            str(s): run("usual split", s, accuracy) for s, accuracy in ((1, 0.29), (2, 0.32), (3, 0.32))
        },
    }
    page = write_page(evidence, tmp_path).read_text()
    assert "with numpy 2.1 and 2.2 and 2.3, seed 0" in page
    assert "0.310 ± 0.010" in page
    assert "accuracy missed (0.310, goal 0.32)" in page
    assert "complete length met (40.0, goal 41)" in page
    assert "accuracy in 3 of 3" in page
    assert "on the other subsets alone: accuracy 0.320, complete length 40.0" in page
    assert "25% tagged," not in page
    assert "**Older than the code:** all of it." in page
    for subset in ("1", "2"):
        evidence["found"][subset]["table"][0]["member"] = "companions on descriptor"
    assert "**Older than the code:** 3." in write_page(evidence, tmp_path).read_text()
    evidence["found"]["3"]["table"][0]["member"] = "companions on visual_words"
    page = write_page(evidence, tmp_path).read_text()
    assert "Older than the code" not in page
    assert "one of `companions` alone is missing" in page
    for found in evidence["found"].values():
        found["measures"]["companions on descriptor"] = {**worse, "accuracy": 0.1}
    assert "one of `companions` alone is missing" not in write_page(evidence, tmp_path).read_text()
    evidence["found"]["2"]["measures"]["ridge on descriptor"] = {**worse, "accuracy": 0.4}
    page = write_page(evidence, tmp_path).read_text()
    assert "| ridge on descriptor (in 1 of 3 subsets) | 0.400 |" in page
    assert "accuracy in 2 of 3" in page
    assert "an older blend" not in page
    older = {
        "accuracy": 0.2,
        "complete_length": 60.04,
        "normalised_score": 0.5,
        "f1": 0.25,
        "perplexity": 70.0,
    }
    before = {"annotator": "an older blend", "measures": {"usual split": older}}
    (tmp_path / "auto-before.json").write_text(json.dumps(before))
    assert (
        "| an older blend | 0.200 | 60.0 | 0.500 | 0.250 | 70.0 |"
        in write_page(evidence, tmp_path).read_text()
    )


def test_learning_for_the_tool_keeps_the_order_of_the_images(cheap, rng):
    corpus = toy(rng, 60)
    corpus = corpus.without_captions(np.arange(60) >= 50)
    order = rng.permutation(60)
    straight, shuffled = learn_auto(corpus), learn_auto(corpus[order])
    held_out, again = straight.held_out.for_all(60), shuffled.held_out.for_all(60)
    np.testing.assert_array_equal(held_out.fold_of[order], again.fold_of)
    np.testing.assert_allclose(held_out.p[order], again.p)
    assert (held_out.fold_of >= 0).tolist() == corpus.tagged.tolist()
    assert straight.trial.model == "auto"
    assert straight.trial.accuracy > 0.3


def test_too_few_tagged_photos_are_told(cheap, rng):
    with pytest.raises(CorpusError, match="tag at least 3"):
        learn_auto(toy(rng, 10).without_captions(np.arange(10) > 1))


def test_joined_descriptors_keep_the_angles_between_images(rng):
    def division(columns):
        parts = []
        for n in (30, 5):
            corpus = toy(rng, n)
            parts.append(
                Corpus.from_arrays(
                    captions=corpus.captions,
                    vocabulary=corpus.vocabulary,
                    descriptor=rng.random((n, columns)),
                )
            )
        return Division(*parts)

    first, second = division(4), division(3)
    joined = auto_work.joined([first, second], n_columns=7)
    assert joined.train.descriptor.shape == (30, 7)
    sides = []
    for part in (first, second):
        centred = part.test.descriptor - part.train.descriptor.mean(axis=0)
        sides.append(centred / np.linalg.norm(centred, axis=1, keepdims=True))
    expected = np.linalg.norm(np.hstack(sides)[0] - np.hstack(sides)[1])
    found = np.linalg.norm(joined.test.descriptor[0] - joined.test.descriptor[1])
    assert found == pytest.approx(expected)
    assert auto_work.joined([first, second], n_columns=2).test.descriptor.shape == (5, 2)


def test_evened_words_are_chosen_where_they_stand_out():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.9, 0.1], [0.9, 0.1]])
    shares = np.array([0.9, 0.25])
    assert evened(p, shares, 0.0).argmax(axis=1).tolist() == [0, 0, 0, 0]
    assert evened(p, shares, 1.0).argmax(axis=1).tolist() == [0, 1, 0, 0]
