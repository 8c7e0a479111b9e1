"""`evaluate` and `explain` name words as they are called now, and tell one and the same of what was promised."""

import json

import pytest
from photo_folder import RECIPE, copy_library, jpeg, learn, make_library, put, words_of

from topicture.app.explain.evaluating import names_today
from topicture.app.explain.explaining import explain
from topicture.app.verbs.library import Library


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"), n=32, tagged=24)
    learn(library)
    library.explain(workers=0)
    return library


@pytest.fixture
def library(learned, tmp_path, monkeypatch):
    copy_library(learned.folder.parent, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def row(rows, word):
    (found,) = [each for each in rows if each["word"] == word]
    return found


def explained(topicture):
    return json.loads(topicture("explain", "--workers", 0, "--json")[1])


def test_words_go_by_their_names_of_today_and_deleted_ones_are_left_out(library, topicture):
    before, page_before = library.evaluate(), explained(topicture)
    topicture("tags", "--rename", "rose", "Rose2")
    topicture("tags", "--delete", "sand")
    report = library.evaluate()
    assert [tag["word"] for tag in report["tags"]] == ["grass", "Rose2", "sea"]
    assert {**row(report["tags"], "Rose2"), "word": "rose"} == row(before["tags"], "rose")
    out = topicture("evaluate")[1]
    assert "Rose2" in out
    assert "sand" not in out
    told = explained(topicture)
    words = {each["word"] for each in told["word_table"]}
    assert words == set(told["map_words"]) == {each["word"] for each in told["examples"]}
    assert words == {"grass", "Rose2", "sea"}
    assert row(told["word_table"], "Rose2")["photos"] == row(page_before["word_table"], "rose")["photos"]
    assert not {"rose", "sand"} & {
        w for each in told["confusions"] for w in (each["meant"], each["suggested"])
    }
    ends = [t[part] for t in told["topic_models"][0]["topics"] for part in ("words", "opposite_words")]
    assert {word for end in ends for word, _ in end} == words
    with open(told["page"], encoding="utf-8") as file:
        page = file.read()
    assert "Rose2" in page
    assert ">rose<" not in page
    assert ">sand<" not in page


def test_of_words_that_are_one_now_its_own_figures_count(library, topicture):
    before = library.evaluate()["tags"]
    assert topicture("tags", "--merge", "grass", "sea")[0] == 0
    with library.reading() as catalog:
        assert names_today(catalog, before) == {"rose": "rose", "sand": "sand", "sea": "sea"}
    assert row(library.evaluate()["tags"], "sea") == row(before, "sea")
    assert {each["word"] for each in explained(topicture)["word_table"]} == {"rose", "sand", "sea"}


def test_the_page_has_the_table_of_the_report(library, topicture):
    """Both are the report's, whatever is computed anew: it may judge other pairs than hidden tags."""
    path = library.folder / "models" / "0001" / "report.json"
    report = json.loads(path.read_text())
    bins = [{"low": 0.8, "high": 0.9, "n": 50, "promised": 0.85, "observed": 0.75}]
    path.write_text(json.dumps({**report, "reliability": bins, "calibration_error": 0.1}))
    told = explained(topicture)
    (point,) = told["calibration"]
    assert {name: point[name] for name in bins[0]} == bins[0]
    assert 0.6 < point["observed_low"] < 0.75 < point["observed_high"] < 0.9
    assert told["calibration_error"] == 0.1
    with open(told["page"], encoding="utf-8") as file:
        page = file.read()
    assert "differ by 10 percentage points" in page
    assert "<td>80% to 90%</td>" in page


def test_a_report_without_a_table_is_told_by_hidden_tags(library):
    path = library.folder / "models" / "0001" / "report.json"
    report = json.loads(path.read_text())
    error = report.pop("calibration_error")
    report.pop("reliability")
    path.write_text(json.dumps(report))
    with library.reading() as catalog:
        told, _ = explain(catalog, workers=0)
    assert sum(point.n for point in told.calibration) == 24 * 4
    assert told.calibration_error == pytest.approx(error)


def test_words_that_no_model_knows_do_not_decide_what_captions_are(tmp_path):
    """Files say a number of their own each, and nothing that can be learned: accepted words stand in for captions."""
    for number in range(48):
        put(tmp_path / f"photo-{number:03d}.jpg", jpeg(number, [f"no {number}"] if number < 24 else []))
    library = Library.create(tmp_path, recipe=RECIPE)
    library.scan()
    for number in range(24, 44):
        for word in set(words_of(number)):
            library.answer(library.image(f"photo-{number:03d}.jpg"), word, "present")
    assert library.learn("ridge", regions=False, workers=0).tagged == 20
    explanation = library.explain(workers=0)
    assert explanation.tagged == explanation.learned_tagged == 20
