"""Commands that people expect: look among photos, ask about any file, tag many, go back and forth, keep in order."""

import json
import os

import pytest
from photo_folder import copy_library, jpeg, learn, make_library, put

from topicture.app.cli.deciding.review_loop import ask_in_terminal
from topicture.app.verbs.library import Library
from topicture.app.verbs.upkeep.watching import watch
from topicture.collection.formats import read_annotations
from topicture.store import Catalog


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"), n=32, tagged=24)
    learn(library)
    return library.folder.parent


@pytest.fixture
def root(learned, tmp_path, monkeypatch):
    """A copy of a learned collection, with the working folder inside."""
    copy_library(learned, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path / "photos"


def told(result):
    code, out, error = result
    assert code == 0, error
    return json.loads(out)


# --- Looking ------------------------------------------------------------------------------------------------------


def test_search_takes_words_as_people_type_them(root, topicture):
    assert topicture("tag", "photo-000.jpg", "golden gate")[0] == 0
    page = told(topicture("search", "golden", "gate", "--json"))
    assert (page["wanted"], page["total"], len(page["hits"])) == (["golden gate"], 1, 1)
    page = told(topicture("search", "-golden", "gate", "rose", "-n3", "--json"))
    assert (page["wanted"], page["unwanted"], len(page["hits"])) == (["rose"], ["golden gate"], 3)
    assert told(topicture("search", "rose", "OR", "golden", "gate", "--json"))["any_of"] == [
        ["rose", "golden gate"]
    ]
    code, out, _ = topicture("search", "rose", "--limit", "2")
    assert code == 0
    page = told(topicture("search", "rose", "--limit", "1000", "--json"))
    total, likely = page["total"], sum(hit["probability"] >= 0.5 for hit in page["hits"])
    told_last = f"2 of {total} photos, {likely} of them more likely than not; --limit shows more."
    assert out.splitlines()[-1] == told_last
    assert (
        topicture("search", "rose", "--catalog", root, "-n", "1")[0] == 0
    )  # options still have their values


def test_search_and_list_among_some_photos(root, topicture):
    untagged = {f"photo-{n:03d}.jpg" for n in range(24, 32)}
    found = told(topicture("search", "rose", "--untagged", "-n", "99", "--json"))["hits"]
    assert found
    assert {os.path.basename(hit["path"]) for hit in found} <= untagged
    found = told(topicture("search", "rose", "--folder", "trip", "-n", "99", "--json"))["hits"]
    assert found
    assert all(hit["path"].startswith("trip/") for hit in found)
    page = told(topicture("list", "--untagged", "--json"))
    assert {photo["name"] for photo in page["photos"]} == untagged
    assert page["total"] == 8
    code, out, _ = topicture("list", "-n", "2")
    assert (code, out.splitlines()[-1]) == (0, "2 of 32 photos; --all shows the rest.")
    assert len(topicture("list", "-n", "2", "--all")[1].splitlines()) == 32
    assert topicture("list", "--untagged", "--paths", "--folder", "trip")[1].count("\0") == 4
    os.utime(root / "photo-000.jpg", (5e8, 5e8))
    assert topicture("scan")[0] == 0
    assert told(topicture("list", "--to", "1990-01-01", "--json"))["total"] == 1
    assert told(topicture("search", "rose", "--from", "2100-01-01", "--json"))["total"] == 0
    assert topicture("search", "--untagged")[0] == 2
    code, _, error = topicture("list", "--folder", "nowhere")
    assert (code, "not a folder of the collection" in error) == (2, True)


def test_annotate_new_says_what_of_the_new_ones(root, topicture):
    code, out, _ = topicture("annotate", "--new", "--workers", "0")
    assert (code, out) == (0, "No new photo was looked at; all others stay as they are.\n")
    put(root / "late.jpg", jpeg(77, ()))
    topicture("scan")
    assert (
        "of 1 untagged photo; 1 new photo can be searched."
        in topicture("annotate", "--new", "--workers", "0")[1]
    )


def test_a_tag_stands_for_those_below_it(root, topicture):
    of_rose = told(topicture("list", "--tag", "rose", "--json"))["total"]
    assert of_rose
    assert topicture("tags", "--parent", "rose", "plants")[0] == 0
    assert told(topicture("list", "--tag", "plants", "--json"))["total"] == of_rose


def test_any_file_is_suggested_for_from_anywhere(root, topicture, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere / "mine.jpg", jpeg(3, ()))
    put(elsewhere / "broken.jpg", b"no picture")
    code, out, error = topicture(
        "suggest", elsewhere / "mine.jpg", "photo-024.jpg", "--workers", "0", "--top", "2", "--json"
    )
    assert code == 0, error
    outside, inside = json.loads(out)
    assert outside["image"] is None
    assert len(outside["suggestions"]) == len(inside["suggestions"]) == 2
    with Catalog.open(root / ".topicture") as catalog:
        model = catalog.suggestions.newest().id
        stored = {s.word: s.probability for s in catalog.suggestions.open(model, image=inside["image"])}
    best = inside["suggestions"][0]
    assert best["probability"] == pytest.approx(stored[best["word"]])
    code, out, error = topicture(
        "suggest", "--workers", "0", elsewhere / "broken.jpg", elsewhere / "mine.jpg"
    )
    assert code == 1
    assert "broken.jpg" in error
    assert "mine.jpg" in out
    monkeypatch.chdir(elsewhere)  # no collection here: that of the photo counts
    assert (
        json.loads(topicture("suggest", root / "photo-024.jpg", "--workers", "0", "--json")[1])[0]["image"]
        == inside["image"]
    )
    assert topicture("similar", root / "photo-024.jpg")[0] == 0
    code, out, error = topicture("suggest", "mine.jpg", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (2, "catalog-error")
    assert error.startswith("topicture: ")


# --- Deciding -----------------------------------------------------------------------------------------------------


def test_many_photos_are_tagged_at_once_and_undone_as_one(root, topicture):
    photos = ["photo-024.jpg", "photo-026.jpg", str(root / "photo-028.jpg")]
    code, out, _ = topicture("tag", *photos, "holiday", "two words")
    assert (code, out) == (0, "3 photos: 6 decisions changed; 'topicture undo' takes them back.\n")
    assert topicture("tag", "--tag", "beach", *photos[:2])[0] == 0
    assert told(topicture("list", "--tag", "beach", "--json"))["total"] == 2
    code, _, error = topicture("tag", "photo-024.jpg", "photo-02.jpg", "holiday")  # no such photo: not a tag
    assert (code, "photo-02.jpg: not a photo" in error) == (2, True)
    assert topicture("undo")[0] == topicture("undo")[0] == 0
    assert told(topicture("list", "--tag", "holiday", "--json"))["total"] == 0


def test_steps_are_listed_undone_by_number_and_done_again(root, topicture):
    for word in ("one", "two"):
        topicture("tag", "photo-024.jpg", word)
    newest, before = told(topicture("undo", "--list", "-n", "2", "--json"))
    assert (before["text"], newest["undone"]) == ("Accepted one for 1 photo", False)
    assert "Undid 1 decision (review): one" in topicture("undo", "--step", before["step"])[1]
    assert [tag["word"] for tag in told(topicture("tag", "photo-024.jpg", "--json"))] == ["two"]
    assert "  (undone)" in topicture("undo", "--list")[1]
    assert topicture("redo")[1] == "Did again: 1 decision (review): one\n"
    assert topicture("redo")[1] == "There is nothing to redo.\n"
    assert topicture("redo", "--step", newest["step"])[1] == f"Step {newest['step']} was not undone.\n"
    assert told(topicture("redo", "--json")) == {"redone": None, "step": None}


def test_policies_are_set_and_shown(root, topicture):
    assert topicture("tags", "--policy")[1].startswith("All tags are suggested")
    topicture("tags", "--policy", "rose", "never")
    assert topicture("tags", "--policy")[1] == "never  rose\n"
    topicture("tags", "--policy", "rose", "accept", "0.9")
    assert told(topicture("tags", "--policy", "rose", "--json")) == [
        {"word": "rose", "policy": "accept", "accept_from": 0.9}
    ]
    assert topicture("tags", "--policy", "unicorn")[0] == 2


def test_review_opens_the_photo_and_shows_it_once(root):
    library = Library.find(root)
    questions = library.queue("certain", by_image=True, limit=4)
    keys, opened, shown = iter("osoyq"), [], []
    ask_in_terminal(
        library,
        questions,
        read_key=lambda: next(keys),
        say=lambda line: None,
        show=lambda question: shown.append(question.image),
        open_photo=opened.append,
    )
    first, second = questions[:2]
    assert opened == [library.path(first.image), library.path(second.image)]
    assert shown == list(dict.fromkeys(question.image for question in questions[:3]))


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.json"])
def test_suggestions_are_exported_with_their_probabilities_and_are_no_tags(root, topicture, name):
    library = Library.find(root)
    with library.reading() as catalog:
        model = catalog.suggestions.newest().id
        waiting = [s for s in catalog.suggestions.open(model) if s.probability >= 0.3]
    report = told(topicture("export", name, "--suggestions", "0.3", "--json"))
    assert report["suggestions"] == len(waiting) > 0
    items = {item.path: item for item in read_annotations(root / name).items}
    for each in waiting:
        path = library.path(each.image).relative_to(root).as_posix()
        assert dict(items[path].suggested)[each.word] == pytest.approx(each.probability)
    before = library.words()
    imported = told(topicture("import", name, "--json"))
    assert (imported["decisions"], imported["suggestions_left_out"]) == (0, len(waiting))
    assert library.words() == before
    code, _, error = topicture("export", "wide.csv", "--format", "csv-wide", "--suggestions", "0.3")
    assert code == 1
    assert "csv-wide has no place for them" in error
    assert topicture("export", "x.csv", "--suggestions", "30")[0] == 2


# --- Upkeep -------------------------------------------------------------------------------------------------------


def test_what_waits_to_be_written_is_no_trouble(root, topicture):
    topicture("tag", "photo-024.jpg", "holiday")
    code, out, _ = topicture("status")
    assert code == 0
    assert "1 sidecar" in out


def test_old_models_are_pruned_and_decisions_stay(root, topicture):
    library = Library.find(root)
    library.learn("knn", regions=False, workers=0)
    assert len(told(topicture("models", "--prune", "--dry-run", "--json"))["kept"]) == 2  # one has annotated
    library.annotate(workers=0)
    tags = library.words()
    pruned = told(topicture("models", "--prune", "--json"))
    assert [model["name"] for model in pruned["removed"]] == ["lsa"]
    assert pruned["bytes"] > 1000
    assert os.listdir(root / ".topicture" / "models") == ["0002"]
    assert [model.name for model in library.models()] == ["knn"]
    assert library.words() == tags
    assert topicture("check")[0] == 0
    assert topicture("search", "rose")[0] == topicture("review", "--list")[0] == 0


def test_new_photos_are_taken_in_as_they_arrive(root, looked_at):
    library = Library.find(root)
    with Catalog.open(library.folder) as catalog:
        before = {tuple(s) for s in catalog.suggestions.open(1)}
        known = catalog.index_images().tolist()
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 2:
            put(root / "new" / "rose.jpg", jpeg(40))
            put(root / "broken.jpg", b"no picture")
        if len(naps) == 5:
            raise Enough

    looks = []

    def look():
        for arrived in watch(library, every=5.0, workers=0, sleep=sleep):
            looks.append(arrived)

    with pytest.raises(Enough):
        look()
    assert [(look.scan.new, look.photos, bool(look.trouble)) for look in looks] == [(2, 1, False)]
    with Catalog.open(library.folder) as catalog:
        after = {tuple(s) for s in catalog.suggestions.open(1)}
        images = catalog.index_images().tolist()
        (new,) = set(images) - set(known)
        assert catalog.features().shape[0] == len(images)
        assert images == sorted(images)
    assert before < after
    assert {image for image, _, _ in after - before} == {new}
    library.annotate(again=True, workers=0)  # from the beginning it comes to the same
    assert looked_at == [2, len(images) + 1]  # the broken one too
    with Catalog.open(library.folder) as catalog:
        assert {tuple(s[:2]) for s in catalog.suggestions.open(1)} == {each[:2] for each in after}


class Enough(Exception):
    pass


def test_a_look_for_cron(root, topicture):
    put(root / "new.jpg", jpeg(41))
    arrived = told(topicture("watch", "--once", "--workers", "0", "--json"))
    assert (arrived["scan"]["new"], arrived["photos"]) == (1, 1)
    assert topicture("watch", "--once", "--workers", "0")[1].endswith("nothing new\n")
    assert topicture("annotate", "--new", "--workers", "0")[0] == 0


def test_settings_are_defaults_of_options(root, topicture):
    assert topicture("config", "search.limit", "2")[0] == 0
    assert len(told(topicture("search", "rose", "--json"))["hits"]) == 2
    assert len(told(topicture("search", "rose", "-n", "3", "--json"))["hits"]) == 3
    rows = {row["name"]: row for row in told(topicture("config", "--json"))["settings"]}
    assert (rows["search.limit"]["value"], rows["search.limit"]["default"]) == (2, False)
    assert (rows["review.order"]["value"], rows["review.order"]["default"]) == ("uncertain", True)
    file = root / ".topicture" / "topicture.toml"
    file.write_text("# mine\n[search]\nlimit = 2  # few\n\n[review]\norder = 'certain'\n")
    assert topicture("config", "search.limit", "5")[0] == topicture("config", "watch.every", "60")[0] == 0
    assert file.read_text().startswith("# mine\n[search]\nlimit = 5\n\n[review]\norder = 'certain'\n")
    assert topicture("config", "search.limit", "--unset")[0] == 0
    assert "limit" not in file.read_text()
    assert topicture("backup", "../copy")[0] == 0
    assert (root.parent / "copy" / "topicture.toml").read_text() == file.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[search\n", "not TOML"),
        ("limit = 3\n", "nothing to set about 'limit'"),
        ("[serch]\nlimit = 3\n", "did you mean 'search'?"),
        ("[search]\nlimits = 3\n", "did you mean 'limit'?"),
        ("[search]\nlimit = 0\n", "search.limit must be a whole number from 1 to 1000, not 0"),
        ("[search]\nlimit = true\n", "must be a whole number"),
        ("[annotate]\nthreshold = nan\n", "must be a number from 0 to 1, not nan"),
        ("[review]\norder = 'best'\n", "must be one of uncertain, certain"),
        ('[search]\n[learn]\nmodel = "a\\u001bb"\n', "must be a name in quotes"),
        ("\ufeff[write]\nout = '/etc/passwd'\n", "[write] has no setting 'out'"),
    ],
)
def test_bad_settings_are_one_clear_line(root, topicture, text, message):
    (root / ".topicture" / "topicture.toml").write_text(text, encoding="utf-8")
    code, _, error = topicture("search", "rose")
    assert code == 2
    assert message in error
    assert error.startswith("topicture: ")
    assert error.count("\n") == 1
    assert topicture("status")[0] == 0  # has no settings


def test_a_link_is_no_file_of_settings(root, topicture, tmp_path):
    (tmp_path / "secret").write_text("[search]\nlimit = 2\n")
    os.symlink(tmp_path / "secret", root / ".topicture" / "topicture.toml")
    code, _, error = topicture("search", "rose")
    assert code == 2
    assert "topicture.toml" in error
