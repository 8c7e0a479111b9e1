"""Learning again: from the same it comes to the same, after a few decisions only what helped is tried."""

import json

import numpy as np
import pytest
from photo_folder import jpeg, make_library, make_photos, put, words_of

from topicture.app.learning import training_tags
from topicture.app.learning.model_folder import load_judged
from topicture.app.learning.reports import former_choice, load_report
from topicture.app.verbs.library import Library
from topicture.models.blends import auto
from topicture.models.blends.members import members_for
from topicture.models.registry import load_annotator
from topicture.store import Catalog


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A collection that a blend of two quick models is learned from; every answer teaches them."""
    monkeypatch.setattr(training_tags, "LEAST_TEACHING", 0.0)
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


def test_few_answers_leave_the_models_as_they_are(library, monkeypatch):
    """They correct what is promised: there are no trials, and models learn from the same as before."""
    monkeypatch.setattr(training_tags, "LEAST_TEACHING", 0.5)
    monkeypatch.setattr(
        "topicture.store.decisions.decisions.Decisions.answered_suggestions",
        lambda self: {(image, word) for image, word, _, source in self.all_tags() if source == "review"},
    )
    monkeypatch.setattr(
        "topicture.models.blends.trials.Trials.run", lambda *_: pytest.fail("there was a trial")
    )
    decide(library, 3)
    library.learn(regions=False, workers=0)
    (first, one), (second, other) = model_of(library, 1), model_of(library, 0)
    assert (first["tagged"], second["tagged"]) == (24, 27)
    assert (first["race"]["tagged"], second["race"]["tagged"]) == (
        24,
        24,
    )  # of the race, which was not run again
    for before, after in zip(one.members_, other.members_, strict=True):
        for name, array in before._file_content()[1].items():
            np.testing.assert_array_equal(after._file_content()[1][name], array)
    np.testing.assert_allclose(other.blend_.weights, one.blend_.weights, atol=0.02)
    told = [(folder_of(library, n) / "presence.safetensors").read_bytes() for n in (0, 1)]
    assert told[0] != told[1]


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


# --- Going on from the last model -----------------------------------------------------------------------------------


def decide(library, n, first=24, words=None):
    """Tell the words of some photos that had none."""
    with Catalog.open(library.folder) as catalog:
        images = [i for i in catalog.files.living() if int(i.path[-7:-4]) in range(first, first + n)]
    for image in images:
        number = int(image.path[-7:-4])
        library.decide(image.image, words or sorted(set(words_of(number))), "present")


def folder_of(library, number=0):
    with Catalog.open(library.folder) as catalog:
        return catalog.model_folder(catalog.suggestions.models()[number])


def test_after_decisions_trials_are_taken_over(library, monkeypatch):
    decide(library, 3)
    monkeypatch.setattr(
        "topicture.models.blends.trials.Trials.run", lambda *_: pytest.fail("there was a trial")
    )
    library.learn(regions=False, workers=0)
    report, _ = model_of(library)
    assert report["race"]["went_on"]
    assert report["tagged"] == 27
    before = model_of(library, 1)[0]
    assert report["race"]["former"] == before["race"]["rows"]
    assert report["trials"][0]["mean"] > 0.5
    library.annotate(workers=0)


def test_from_the_same_it_comes_to_the_same_after_it_went_on(library):
    decide(library, 3)
    for _ in range(2):
        library.learn(regions=False, workers=0)
    (first, one), (second, other) = model_of(library, 1), model_of(library, 0)
    assert first["race"]["went_on"]
    assert first == second
    np.testing.assert_array_equal(one.blend_.weights, other.blend_.weights)
    for name in ("known", "presence", "answers", "features", "model"):
        files = [(folder_of(library, n) / f"{name}.safetensors").read_bytes() for n in (0, 1)]
        assert files[0] == files[1]


def test_after_many_decisions_there_are_trials_again(library):
    went_on = []
    for step in (24, 26, 28):  # each a few; a fifth of 24 in the end
        decide(library, 2, step)
        library.learn(regions=False, workers=0)
        went_on.append(model_of(library)[0]["race"]["went_on"])
    assert went_on == [True, True, False]


@pytest.mark.parametrize("damage", [b"nothing", None])
def test_without_answers_of_the_last_model_there_are_trials(library, damage):
    known = folder_of(library) / "known.safetensors"
    known.unlink() if damage is None else known.write_bytes(damage)
    decide(library, 3)
    library.learn(regions=False, workers=0)
    assert not model_of(library)[0]["race"]["went_on"]
    assert (folder_of(library) / "known.safetensors").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda race: race.update(photos=float("inf")),
        lambda race: race.update(tagged=float("inf")),
        lambda race: race.update(rows=[[title, {"gone": 1}, *rest] for title, _, *rest in race["rows"]]),
    ],
    ids=["photos", "tagged", "settings"],
)
def test_a_report_of_another_version_is_no_obstacle(library, change):
    path = folder_of(library) / "report.json"
    report = json.loads(path.read_text())
    change(report["race"])
    path.write_text(json.dumps(report))
    decide(library, 3)
    library.learn(regions=False, workers=0)
    assert not model_of(library)[0]["race"]["went_on"]


def test_new_photos_are_described_as_the_others_were(library):
    features = (folder_of(library) / "features.safetensors").read_bytes()
    for number in range(32, 36):
        put(
            library.folder.parent / f"photo-{number:03d}.jpg",
            jpeg(number, sorted(set(words_of(number)))[: number % 2]),
        )
    library.scan()
    library.learn(regions=False, workers=0)
    report, _ = model_of(library)
    assert report["race"]["went_on"]
    assert report["race"]["photos"] == 32
    assert (folder_of(library) / "features.safetensors").read_bytes() == features


def test_nothing_vouches_for_a_word_that_came_since_the_trials(library, monkeypatch):
    monkeypatch.setattr("topicture.models.blends.again.MOST_NEW_WORDS", 0.5)
    decide(library, 4, first=0, words=["holiday"])
    library.learn(regions=False, workers=0)
    report, model = model_of(library)
    assert report["race"]["went_on"]
    word = model.vocabulary_.index("holiday")
    assert report["tags"][word]["threshold"] is None
    presence, pairs = load_judged(folder_of(library), len(model.vocabulary_))
    assert presence.near.offsets[word] <= 0
    assert not (pairs.word == word).any()
    assert (pairs.word != word).any()


@pytest.mark.slow
def test_the_region_model_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(auto, "members_for", lambda corpus, _: members_for(corpus, ["knn", "naive-bayes"]))
    recipe = {"views": ["colour-layout", "regions:blobs"], "max_side": 32}
    library = Library.create(make_photos(tmp_path / "photos", n=32, tagged=24), recipe=recipe)
    library.scan()
    library.learn(workers=0)
    before = model_of(library)[0]["regions"]
    assert before["trials"]
    decide(library, 3)
    monkeypatch.setattr(
        "topicture.app.learning.region_choice._evidence", lambda *_: pytest.fail("a region model was tried")
    )
    library.learn(workers=0)
    assert model_of(library)[0]["regions"] == before
    library.learn(workers=0)  # from the same
    files = [(folder_of(library, n) / "regions.safetensors").read_bytes() for n in (0, 1, 2)]
    assert files[0] == files[1] != files[2]
