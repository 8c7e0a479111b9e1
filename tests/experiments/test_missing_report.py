"""The report on missing tags: libraries of a toy collection, one run of each kind, and the page."""

import json

import numpy as np
import pytest
from topicture_experiments.missing import libraries, page, report, work
from topicture_experiments.missing.libraries import Photos, library, without_tags
from topicture_experiments.missing.work import Task
from topicture_experiments.shared.ranking import evened, ranked


@pytest.fixture
def toy(rng):
    """Photos of 12 folders with looks of their own, and words that follow themes."""
    folder = np.repeat(np.arange(12), 40)
    rows = 1.5 * rng.standard_normal((12, 20))[folder] + rng.standard_normal((480, 20))
    scores = rows @ rng.standard_normal((20, 8))
    truth = scores > np.quantile(scores, 0.8, axis=0)
    truth[np.arange(480), folder % 8] = True
    ids = np.array([f"{number:02d}/{i:04d}" for i, number in enumerate(folder)])
    return Photos(ids, rows, rows, folder.astype(str), tuple("abcdefgh"), truth, 400)


@pytest.fixture
def small(monkeypatch, toy):
    monkeypatch.setattr(libraries, "N_TAGGED", 150)
    monkeypatch.setattr(libraries, "N_FOLDERS", 4)
    monkeypatch.setattr(libraries, "N_LOOKS", 6)
    monkeypatch.setattr(libraries, "N_PERSONAL", 3)
    monkeypatch.setattr(libraries, "N_POSITIVES", 15)
    monkeypatch.setattr(work, "N_ANSWERS", 30)
    monkeypatch.setattr(work, "N_QUESTIONS", 60)
    monkeypatch.setattr(work, "photos", lambda data, cache: toy)
    return toy


def test_libraries_are_what_they_say(small):
    assert library("random", 0, small).corpus.tagged.sum() == 150
    folders = library("folders", 0, small)
    assert len(set(np.array(folders.places)[folders.corpus.tagged])) == 4
    personal = library("personal", 0, small)
    assert set(np.asarray(personal.corpus.captions.sum(axis=0)).ravel()) == {15}
    for way in ("random", "biased"):
        left, train = without_tags(way, 0.4, 0, small)
        given = left.corpus.captions.toarray() > 0
        assert train.sum() == 400
        assert not given[~train].any()
        assert not (given & ~left.truth).any()
        assert given.sum() / left.truth[train].sum() == pytest.approx(0.4, abs=0.05)


def test_every_part_is_measured_and_the_page_shows_it(small, tmp_path):
    report.main(["--data", str(tmp_path), "--out", str(tmp_path), "--quick"])
    found = json.loads((tmp_path / "missing.json").read_text())["found"]
    assert set(found) == {task.key for task in report.tasks(quick=True)}
    page = (tmp_path / "missing.md").read_text()
    for part in (
        "12 of 50 folders",
        "second round",
        "absent means no",
        "average precision",
        "asked 90%",
        "by itself",
    ):
        assert part in page
    left = [found[Task(kind, report.LATER[kind], "ridge").key] for kind in report.LEFT_OUT]
    before, now = ([one[state]["error"] for one in left] for state in ("before", "now"))
    # Promises against the truth, not against what was given; the toy's test photos are of two folders, both untagged.
    assert np.mean(now) < np.mean(before)
    assert sum(one["now"]["probable"] for one in left) > sum(one["before"]["probable"] for one in left)


def test_nothing_is_claimed_where_evaluate_claims_nothing(small):
    """Before 100 answers about tags that never occur together; a page may hold draws of both kinds."""
    found = work.do(None, "", Task("personal", 0, "ridge"))
    assert (found["now"]["claimed"], found["answers"]["claimed"]) == (None, None)
    measured = {**found["answers"], "error": 0.02, "claimed": 0.07}
    assert page._verdict("both", [found["answers"], measured]).endswith("claims are 5.0 points off")
    assert "claims" not in page._verdict("neither", [found["now"], found["answers"]])


def test_what_was_accepted_in_bulk_is_not_accepted_again(small):
    found = work.do(None, "", Task("second round", 0, "knn"))
    first = work.do(None, "", Task("random", 0, "knn"))["now"]["accepted"]
    assert found["now"]["accepted"][2][0] <= first[2][0]


def test_a_photo_ranked_by_itself_keeps_its_words_among_others(rng):
    """The divisor is that of hidden folds: a photo alone gets the words that it gets among all."""
    hidden, asked = rng.dirichlet(np.full(6, 0.3), 200), rng.dirichlet(np.full(6, 0.3), 20)
    shares = np.full(6, 0.2)
    together = evened(asked, shares, 1.0, hidden)
    np.testing.assert_allclose(evened(asked[:1], shares, 1.0, hidden), together[:1])
    assert np.abs(evened(asked[:1], shares, 1.0) - evened(asked, shares, 1.0)[:1]).max() > 0.1
    hidden, asked = rng.dirichlet(np.full(20, 0.3), 400), rng.dirichlet(np.full(20, 0.3), 200)
    rare = np.geomspace(0.01, 1, 20)  # a model that hardly ever dares to say some words
    found = ranked(hidden * rare, hidden > 0.1, asked * rare, asked > 0.1)
    assert found["by itself"]["f1"] > found["plain"]["f1"] + 0.1


def left_out(gain, right, overall, common):
    """A run whose measures grow by so much, and of what else the bars speak."""
    before = dict.fromkeys(("map", "accuracy", "error", "probable"), 0.5)
    now = {**before, "map": 0.5 + gain, "accuracy": 0.6 + gain, "error": 0.1 - gain, "probable": 0.7 + gain}
    return {
        "before": before,
        "now": {**now, "accepted": [[0, 0], [0, 0], [1000, right]]},
        "completeness": [0.5 + overall, 0.1, 0.5],
        "error of common words": common,
    }


def test_bars_that_are_missed_are_named():
    good = [left_out(gain, 900, 0.02, 0.05) for gain in (0.01, 0.02, 0.015)]
    assert page._missed(good) == []
    noisy = [left_out(gain, 960, sign * 0.04, 0.12) for gain, sign in ((-0.02, 1), (0.03, -1), (0.01, 1))]
    assert page._missed(noisy) == [
        "the gain of mAP may be chance",
        "accept at 90% gives 96.0%",
        "all words together are off by 0.040",
        "the 20 commonest words are off by 0.120",
    ]
    assert "the gain of mAP may be chance" in page._missed(good[:1])
