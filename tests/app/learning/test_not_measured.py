"""Where no two tags occur together nothing was measured, until enough was answered about untagged photos."""

import json

import numpy as np
import pytest
from photo_folder import RECIPE, N, copy_library, jpeg, put

from topicture.annotations.choice.presence import JudgedPairs
from topicture.annotations.choice.trials import HeldOut, Trial
from topicture.app.learning.calibrating import FEWEST_ANSWERS, trust
from topicture.app.learning.model_folder import load_learned
from topicture.app.learning.reports import learning_told, not_measured
from topicture.app.learning.training_tags import TrainingTags
from topicture.app.learning.what_next import what_next
from topicture.app.verbs.library import Library
from topicture.app.verbs.words.editing import set_parent
from topicture.corpus import Corpus
from topicture.store.decisions.decisions import Decision

MARKS = {0: "for grandma", 1: "print"}  # on some of the photos with that upper half
N_MARKED = 32


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    root = tmp_path_factory.mktemp("marked")
    for number in range(2 * N):
        mark = MARKS.get(number % 4) if number < N_MARKED else None
        put(root / f"photo-{number:03d}.jpg", jpeg(number, [mark] if mark else []))
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    library.learn("ridge", regions=False, workers=0)
    library.annotate(workers=0)
    return library


@pytest.fixture
def library(marked, tmp_path, monkeypatch):
    copy_library(marked.folder.parent, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def test_nothing_is_told_that_was_not_measured(library, topicture):
    report = json.loads(topicture("evaluate", "--json")[1])
    assert report["measured"] is False
    assert (report["reliability"], report["calibration_error"]) == ([], None)
    for tag in report["tags"]:
        assert tag["photos"] == N_MARKED / 4
        assert [tag[name] for name in ("suggested", "precision", "threshold", "accepted")] == [None] * 4
    out = topicture("evaluate")[1]
    assert "%" not in out
    assert "observed" not in out
    assert [line for line in out.splitlines() if "Nothing was measured yet" in line] == [report["warning"]]
    assert "topicture review --order random" in report["warning"]


@pytest.mark.parametrize("n_answers", [0, FEWEST_ANSWERS - 1, FEWEST_ANSWERS])
@pytest.mark.parametrize("is_yes", [True, False])
def test_nothing_vouches_for_accepting_suggestions_unseen(rng, n_answers, is_yes):
    """Nor do answers, whatever they say, until there are enough; then figures are read from these alone."""
    given = np.zeros((300, 1), bool)
    given[:40] = True
    truth, rejected = given.copy(), np.zeros_like(given)
    answered = np.arange(40, 40 + n_answers)
    (truth if is_yes else rejected)[answered] = True
    shown = (
        given if n_answers < 40 or not is_yes else truth
    )  # accepted photos stand in where captions are few
    looks = rng.standard_normal((300, 20)) + 2 * (np.arange(300) < 150)[:, None]
    corpus = Corpus.from_arrays(shown.astype(float), ["print"], descriptor=looks)
    known, captions = truth | rejected, [["print"] * int(one) for one in shown[:, 0]]
    tags = TrainingTags(
        [], corpus.vocabulary, captions, truth, known, rejected, given[:, 0], given, ~known & False, ()
    )
    p, fold_of = known.astype(float), np.where(shown[:, 0], np.arange(300) % 3, -1)
    found = trust(corpus, tags, np.arange(300), HeldOut(p, fold_of), None, None)
    assert found.measured == (n_answers >= FEWEST_ANSWERS)
    if found.measured:
        np.testing.assert_array_equal(found.judged.truth, np.full(n_answers, is_yes))
    else:
        assert not len(found.pairs.word)


def test_learn_tells_it_in_the_same_line(library, topicture):
    arguments = ("learn", "--model", "ridge", "--no-regions", "--workers", 0)
    assert not_measured(0, FEWEST_ANSWERS) in topicture(*arguments)[1].splitlines()
    assert json.loads(topicture(*arguments, "--json")[1])["calibration_error"] is None


def test_the_explanation_has_no_such_figures_either(library, topicture):
    explanation = json.loads(topicture("explain", "--workers", 0, "--json")[1])
    assert explanation["measured"] is False
    assert (explanation["calibration"], explanation["calibration_error"]) == ([], None)
    assert {word["precision"] for word in explanation["word_table"]} == {None}
    with open(explanation["page"], encoding="utf-8") as file:
        page = file.read()
    assert page.count("Nothing was measured yet") == 1
    assert "Mean promise" not in page
    assert "eight in ten" not in page
    out = topicture("explain", "--workers", 0)[1]
    assert out.count("Nothing was measured yet") == 1
    assert "too few" not in out


def test_a_single_tag_is_explained_without_figures(tmp_path, topicture, monkeypatch):
    root = tmp_path / "photos"
    for number in range(2 * N):
        put(root / f"photo-{number:03d}.jpg", jpeg(number, ["rose"] if number % 8 == 0 else []))
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    library.learn("ridge", regions=False, workers=0)
    monkeypatch.chdir(root)
    code, out, error = topicture("explain", "--workers", 0, "--json")
    assert (code, error) == (0, "")
    told = json.loads(out)
    assert (told["measured"], told["calibration"], told["trials"], told["examples"]) == (False, [], [], [])
    assert (told["confusions"], told["map_shares"]) == ([], [])
    (row,) = told["word_table"]
    assert (row.pop("word"), row.pop("photos")) == ("rose", N // 4)
    assert set(row.values()) == {None}
    with open(told["page"], encoding="utf-8") as file:
        page = file.read()
    assert page.count("Nothing was measured yet") == 1
    assert "On hidden tags it reached" not in page
    assert "No word was suggested where" not in page


def test_no_word_is_called_weak(library):
    with library.reading() as catalog:
        assert what_next(catalog).weak == ()


def test_answers_measure_it(library):
    rows = [(image, word) for image in range(N_MARKED + 1, 2 * N) for word in MARKS.values()]
    for image, word in rows[: FEWEST_ANSWERS - 1]:
        library.answer(image, word, "rejected")
    library.learn("ridge", regions=False, workers=0)
    report = library.evaluate()
    assert not report["measured"]
    assert report["warning"] == not_measured(FEWEST_ANSWERS - 1, FEWEST_ANSWERS)
    assert "Answer 1 more question about" in report["warning"]
    library.answer(*rows[FEWEST_ANSWERS - 1], "rejected")
    library.learn("ridge", regions=False, workers=0)
    report = library.evaluate()
    assert report["measured"]
    assert sum(row["n"] for row in report["reliability"]) > 0


def test_what_answers_alone_have_measured_is_not_put_down_to_hidden_tags(library, topicture):
    """Beside a hundred answers as well, a photo with one mark was never said to lack the other."""
    for number in range(N_MARKED, 2 * N):
        for mark in MARKS.values():
            library.answer(library.image(f"photo-{number:03d}.jpg"), mark, "rejected")
    out = topicture("learn", "--model", "ridge", "--no-regions", "--workers", 0)[1]
    assert "hidden tags" not in out
    out = topicture("evaluate")[1]
    assert f"learned from the tags of {N_MARKED // 2} photos; judged by answers about untagged photos" in out
    assert "hidden tags" not in out
    assert "Judged as if no tag was left out" not in out
    report = json.loads(topicture("evaluate", "--json")[1])
    assert (report["measured"], report["by_answers"]) == (True, True)
    told = json.loads(topicture("explain", "--workers", 0, "--json")[1])
    assert {word["precision"] for word in told["word_table"]} == {None}
    assert {word["recall"] for word in told["word_table"]} != {None}
    assert told["trials"] == []
    with open(told["page"], encoding="utf-8") as file:
        page = file.read()
    assert "On hidden tags it reached" not in page
    assert "Mean promise" in page


def test_what_answers_find_in_captions_measures_nothing(library):
    """Five words that were left out: tags occur together now, by what answers say, and not by what was given."""
    upper = [number for number in range(N_MARKED) if number % 4 == 0][:5]
    for number in upper:
        library.answer(library.image(f"photo-{number:03d}.jpg"), "print", "present")
    library.learn("ridge", regions=False, workers=0)
    report = library.evaluate()
    assert not report["measured"]
    assert report["warning"] == not_measured(0, FEWEST_ANSWERS)


def test_what_a_tag_implies_is_no_second_tag(library):
    """Below one word, as people are kept by many programs: that word is on all photos that have a mark."""
    with library.writing("tags") as catalog:
        for mark in MARKS.values():
            set_parent(catalog, mark, "uses")
    report = library.learn("ridge", regions=False, workers=0)
    assert report.words == 3
    assert not report.measured
    assert report.warning == not_measured(0, FEWEST_ANSWERS)
    library.annotate(workers=0)
    assert library.accept_above(0.8).accepted == 0


def test_groups_of_tags_are_called_groups(tmp_path):
    """Of every trip the same two tags: some tags do occur together."""
    trips = (("italy", "rome"), ("greece", "athens"), ("spain", "madrid"), ())
    for number in range(200):
        put(tmp_path / f"photo-{number:03d}.jpg", jpeg(number, trips[number % 4] if number < 60 else ()))
    library = Library.create(tmp_path, recipe=RECIPE)
    library.scan()
    report = library.learn("ridge", regions=False, workers=0)
    assert not report.measured
    assert report.warning == not_measured(0, FEWEST_ANSWERS, what="groups of tags")
    assert "no two groups of tags occur together" in report.warning


def test_typed_tags_are_no_answers(library):
    typed = [library.image(f"photo-{number:03d}.jpg") for number in range(N_MARKED, N_MARKED + 40)]
    with library.writing("tag") as catalog:
        catalog.decisions.decide([Decision(image, "print", "present") for image in typed], "review")
    library.learn("ridge", regions=False, workers=0)
    assert library.evaluate()["warning"] == not_measured(0, FEWEST_ANSWERS)


def test_where_most_photos_have_some_answer_marks_are_still_told_by_looks(library):
    """All but a few photos were asked about: not for each of their words."""
    names = list(MARKS.values())
    for number in range(N_MARKED, 2 * N - 5):
        library.answer(library.image(f"photo-{number:03d}.jpg"), names[number % 2], "rejected")
    library.learn("ridge", regions=False, workers=0)
    report = library.evaluate()
    assert not report["measured"]
    assert "Answer" in report["warning"]
    with library.reading() as catalog:
        assert load_learned(catalog.model_folder(catalog.suggestions.newest())).calibration.marks is not None


def test_hardly_a_photo_without_tags_is_nothing_to_compare_with(tmp_path):
    for number in range(70):
        put(tmp_path / f"photo-{number:03d}.jpg", jpeg(number, [MARKS[number % 2]] if number < 60 else []))
    library = Library.create(tmp_path, recipe=RECIPE)
    library.scan()
    library.learn("ridge", regions=False, workers=0)
    report = library.evaluate()
    assert not report["measured"]
    assert report["reliability"] == []
    assert report["warning"] == not_measured(0, FEWEST_ANSWERS, possible=20)  # a hundred can't be asked
    for warning in (report["warning"], not_measured(FEWEST_ANSWERS, FEWEST_ANSWERS)):
        assert warning.startswith("Nothing was measured: no two tags")
        assert "Answer" not in warning


def test_reports_of_earlier_versions_were_measured(library, topicture):
    path = library.folder / "models" / "0001" / "report.json"
    report = json.loads(path.read_text())
    del report["measured"]
    bins = [
        {"low": 0.5, "high": 0.6, "n": 4, "promised": 0.55, "observed": 0.5},
        {"low": 0.9, "high": 1.0, "n": 0, "promised": 0.95, "observed": 0.875},
    ]
    told = {"suggested": 0, "precision": 0.625, "threshold": None, "accepted": 0}
    tags = [{**tag, **told} for tag in report["tags"]]
    path.write_text(json.dumps({**report, "reliability": bins, "calibration_error": 0.05, "tags": tags}))
    assert json.loads(topicture("evaluate", "--json")[1])["measured"] is True
    out = topicture("evaluate")[1]
    assert "Mean difference between promised and observed, from 10% on: 5.0%" in out
    assert "50.0%" in out
    assert "87.5%" not in out  # of no pair
    assert "62%" not in out  # of no suggestion


# --- Counts that exist ----------------------------------------------------------------------------------------------


def test_photos_are_counted_and_what_weighs_next_to_nothing_has_no_figures():
    corpus = Corpus.from_arrays(np.eye(2), ["sea", "sky"])
    pairs = JudgedPairs(
        np.array([0, 0, 1]),
        np.array([0.95, 0.15, 0.55]),
        np.array([1.0, 0.0, 1.0]),
        np.array([0.2, 9.0, 3.0]),
    )
    trial = Trial("ridge", 0.5, 0.1, 0.5)
    report = learning_told(trial, [], pairs, corpus, 3, 7, None, np.array([5, 40]))
    assert [row["n"] for row in report["reliability"]] == [9, 3]
    sea, sky = report["tags"]
    assert (sea["photos"], sea["suggested"], sea["precision"]) == (5, 0, None)
    assert (sky["photos"], sky["suggested"], sky["precision"]) == (40, 3, 1.0)
