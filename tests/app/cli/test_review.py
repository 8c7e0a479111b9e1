"""The command `review`: what it asks and does not, what it accepts and does not, and what it says where it can't."""

import json

import pytest
from photo_folder import copy_library, learn, make_library

from topicture.app.cli.deciding.accepting import audit_in_terminal
from topicture.app.console.pictures import protocol_of_terminal
from topicture.app.console.terminal import is_terminal
from topicture.app.verbs.library import Library

AUDIT = ("review", "--accept-above", "0.6", "--audit")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    return library.folder.parent


@pytest.fixture
def root(learned, tmp_path, monkeypatch):
    """A copy of a learned collection, with the working folder inside."""
    copy_library(learned, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path / "photos"


@pytest.fixture
def press(monkeypatch):
    """Sit before a terminal and press keys in an audit of two suggestions of three."""

    def press(keys):
        pressed = iter(keys)
        monkeypatch.setattr("topicture.app.verbs.asking.auditing.AUDITED", 2)
        monkeypatch.setattr("topicture.app.cli.deciding.accepting.is_terminal", lambda *streams: True)
        monkeypatch.setitem(audit_in_terminal.__kwdefaults__, "read_key", lambda: next(pressed))

    return press


def accepted(root):
    return Library.find(root).status().accepted_here


# --- Audits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["q", "yq", "y\x1b"])
def test_who_stops_an_audit_accepts_no_more(root, topicture, press, keys):
    press(keys)
    code, out, _ = topicture(*AUDIT)
    assert code == 0
    assert out.splitlines()[-1] == "Stopped: the rest is not accepted."
    assert accepted(root) == keys.count("y")


def test_an_audit_that_goes_well_accepts_the_rest(root, topicture, press):
    expected = Library.find(root).accept_above(0.6, dry_run=True).accepted
    press("yy")
    _, out, _ = topicture(*AUDIT)
    assert "2 of 2 were right: the rest is accepted." in out
    assert f"Accepted {expected - 2} suggestion" in out
    assert accepted(root) == expected


@pytest.mark.parametrize(
    ("keys", "asked", "right", "stopped"),
    [("yy", 2, 2, False), ("nn", 2, 0, False), ("yq", 1, 1, True)],
)
def test_an_audit_speaks_json_and_asks_elsewhere(root, topicture, press, keys, asked, right, stopped):
    press(keys)
    code, out, error = topicture(*AUDIT, "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["asked"], told["right"], told["stopped"]) == (asked, right, stopped)
    assert told["accepted"] == accepted(root) - right
    assert (told["accepted"] > 0) == (keys == "yy")
    assert {"precision", "photos", "tags", "dry_run", "too_little", "not_reached"} <= set(told)
    assert not told["dry_run"]
    assert "[1/2]" in error


def test_an_audit_needs_a_terminal_and_says_so_before_it_asks(root, topicture):
    code, out, error = topicture(*AUDIT)
    assert (code, out) == (2, "")
    assert error.startswith("topicture: an audit asks in a terminal")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("precision", ["0", "1.5"])
def test_an_audit_of_no_precision_asks_nothing(root, topicture, press, precision):
    press("")
    code, _, error = topicture("review", "--accept-above", precision, "--audit")
    assert code == 2
    assert "between 0 and 1" in error


def test_what_was_accepted_in_bulk_is_told_apart_wherever_tags_are_shown(root, topicture):
    library = Library.find(root)
    assert topicture("review", "--accept-above", "0.6", "--quiet")[0] == 0
    word, n = max(library.machine_words().items(), key=lambda entry: entry[1])
    hits = json.loads(topicture("search", word, "-n", "99", "--json")[1])["hits"]
    theirs = [hit["path"] for hit in hits if hit["by_machine"]]
    assert len(theirs) == n
    page = json.loads(topicture("list", "--tag", word, "--all", "--json")[1])
    assert set(theirs) <= {photo["path"] for photo in page["photos"] if photo["by_machine"]}
    assert topicture("undo")[0] == 0
    assert topicture("review", "--accept-above", "0.6", "--tag", word, "--quiet")[0] == 0
    library.decide(theirs[0], ["holiday"], "present")
    listed = topicture("list", "--tag", word, "--all")[1]
    assert f"{theirs[0]}  (2 tags, 1 by machine" in listed
    suggested = "suggest", theirs[0], "--workers", "0"
    told = json.loads(topicture(*suggested, "--json")[1])[0]
    assert (set(told["tags"]), told["by_machine"]) == ({word, "holiday"}, [word])
    assert f"{word} by machine" in topicture(*suggested)[1]
    assert f"{word}  ({n} by machine)" in topicture("tags", word)[1]


def test_photos_with_answers_are_not_called_untagged(root, topicture):
    assert "16 untagged photos; 64 photos can be searched" in topicture("annotate", "--workers", "0")[1]
    topicture("review", "--accept-above", "0.6")
    tagged = 16 - json.loads(topicture("list", "--untagged", "--json")[1])["total"]
    assert tagged
    told = f"16 photos ({tagged} tagged in part); 64 photos can be searched"
    assert told in topicture("annotate", "--workers", "0")[1]


# --- Options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ["--accept-above", "0.6", "--list"],
        ["--accept-above", "0.6", "-n", "5"],
        ["--accept-above", "0.6", "--order", "certain"],
        ["--accept-above", "0.6", "--by-image"],
        ["--accept-above", "0.6", "--audit", "--dry-run"],
        ["--audit"],
        ["--dry-run"],
    ],
)
def test_options_that_contradict_each_other_are_refused(root, topicture, options):
    code, out, error = topicture("review", *options)
    assert (code, out) == (2, "")
    assert "--accept-above" in error or "--audit and --dry-run" in error
    assert accepted(root) == 0


def test_settings_of_the_collection_contradict_nothing(root, topicture):
    assert topicture("config", "review.limit", "7")[0] == 0
    assert topicture("review", "--accept-above", "0.6")[0] == 0
    assert accepted(root) > 0


# --- Questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_tag", [["--tag", "rose"], []])
def test_questions_about_one_tag_are_about_no_other(root, topicture, monkeypatch, of_tag):
    asked = []
    monkeypatch.setattr("topicture.app.cli.deciding.review.is_terminal", lambda: True)
    monkeypatch.setattr(
        "topicture.app.cli.deciding.review_loop.ask_with_pictures",
        lambda library, questions, pictures: asked.extend(questions) or "",
    )
    assert topicture("review", "--order", "missing", "-n", "20", *of_tag)[0] == 0
    assert len(asked) >= 10
    assert ({q.word for q in asked} == {"rose"}) == bool(of_tag)
    assert any(q.drawn is not None for q in asked) != bool(of_tag)


@pytest.mark.parametrize("arguments", [["-n", "3"], ["-n", "3", "--list"], ["-n", "3", "--json"]])
def test_a_closed_input_is_no_terminal(root, topicture, monkeypatch, arguments):
    listed = topicture("review", *arguments)
    monkeypatch.setattr("sys.stdin", None)
    assert not is_terminal()
    assert protocol_of_terminal({"TERM": "xterm"}) is None
    assert topicture("review", *arguments) == listed
    assert listed[0] == 0
    assert listed[1]


# --- Nothing to ask -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--accept-above", "0.6"], ["--order", "missing"]])
def test_a_tag_that_is_not_in_use_is_an_error(root, topicture, more):
    code, out, error = topicture("review", "--tag", "rsoe", *more)
    assert (code, out) == (2, "")
    assert error == "topicture: no tag 'rsoe' is in use; 'topicture tags' lists them\n"
    topicture("tags", "--rename", "rose", "roses")
    code, _, error = topicture("review", "--tag", "rose", *more)
    assert code == 2
    assert error == "topicture: no tag 'rose' is in use; it is called 'roses' now\n"


def test_without_captions_nothing_was_left_out(root, topicture, monkeypatch):
    monkeypatch.setattr("topicture.store.listing.Listing.captioned", lambda self: self.living()[:0])
    monkeypatch.setattr("topicture.app.verbs.asking.drawing_lots.left_out", lambda *rest: iter(()))
    code, out, _ = topicture("review", "--order", "missing")
    assert code == 0
    assert out.startswith("Nothing to review: no photo has a caption of its owner's")
    assert out.endswith("'topicture review' asks about suggestions.\n")
    assert topicture("review", "--order", "missing", "--json")[1] == "[]\n"
