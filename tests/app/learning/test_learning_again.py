"""Learning again: from the same it comes to the same, after a few decisions only what helped is tried."""

import json

import numpy as np
import pytest
from photo_folder import make_library

from topicture.app.learning.reports import former_choice, load_report
from topicture.models.blends import auto
from topicture.models.blends.members import members_for
from topicture.models.registry import load_annotator
from topicture.store import Catalog


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A collection that a blend of two quick models is learned from."""
    monkeypatch.setattr(auto, "members_for", lambda corpus, _: members_for(corpus, ["knn", "naive-bayes"]))
    library = make_library(tmp_path / "photos", n=32, tagged=24)
    library.learn(regions=False, workers=0)
    return library


def model_of(library, number=0):
    with Catalog.open(library.folder) as catalog:
        folder = catalog.model_folder(catalog.suggestions.models()[number])
        return load_report(folder), load_annotator(folder / "model.safetensors")


def test_from_the_same_it_comes_to_the_same(library):
    library.learn(regions=False, workers=0)
    (first, one), (second, other) = model_of(library, 1), model_of(library, 0)
    assert first["race"] == second["race"]
    assert first["trials"] == second["trials"]
    assert [row.member for row in one.report_] == [row.member for row in other.report_]
    np.testing.assert_array_equal(one.blend_.weights, other.blend_.weights)


def test_after_decisions_only_what_helped_is_tried(library):
    with Catalog.open(library.folder) as catalog:
        image = catalog.files.living_images()[-1]
    report, model = model_of(library)
    word = model.vocabulary_.words[0]
    library.decide(int(image), [word], "present")
    library.learn(regions=False, workers=0)
    again, _ = model_of(library)
    assert again["race"]["inputs"] != report["race"]["inputs"]
    assert again["race"]["former"] == report["race"]["rows"]
    helped = {row[0] for row in report["race"]["rows"] if row[2] > 0}
    tried = {row[0] for row in again["race"]["rows"] if not row[3].startswith("not tried again: ")}
    assert tried == helped
    library.learn(regions=False, workers=0, afresh=True)
    assert model_of(library)[0]["race"]["former"] == []


@pytest.mark.parametrize("race", [None, [], {"inputs": 3}, {"rows": "x"}, "missing", "older"])
def test_a_report_that_says_nothing_of_a_race_starts_afresh(library, race, tiny_corpus, monkeypatch):
    monkeypatch.setattr("topicture.app.learning.reports.MOST_CHANGE", 1e9)  # any collection is much the same
    with Catalog.open(library.folder) as catalog:
        path = catalog.model_folder(catalog.suggestions.newest()) / "report.json"
        report = json.loads(path.read_text())
        assert former_choice(catalog, tiny_corpus).rows
        report["race"] = report["race"] | {"rules": 1} if race == "older" else race
        if race == "missing":
            del report["race"]
        path.write_text(json.dumps(report))
        assert former_choice(catalog, tiny_corpus).rows == ()


def test_many_more_tags_are_raced_for_again(library, tiny_corpus):
    with Catalog.open(library.folder) as catalog:
        assert former_choice(catalog, tiny_corpus).rows == ()  # of other words, and far more of them
