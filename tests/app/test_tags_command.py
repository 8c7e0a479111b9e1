"""`topicture tags` changes words, says so in a line and in JSON, and `undo` takes it back."""

import json

import pytest
from photo_folder import copy_library, learn, make_library


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    learn(make_library(root))
    return root


@pytest.fixture
def root(learned, tmp_path, monkeypatch):
    copy_library(learned, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path / "photos"


def words(topicture):
    return {row["word"]: row for row in json.loads(topicture("tags", "--json")[1])}


@pytest.mark.parametrize(
    ("arguments", "said", "undone"),
    [
        (["--rename", "rose", "roses"], "rose is now called roses (", "(rename): rose, roses"),
        (
            ["--merge", "rose", "grass", "plant"],
            "rose, grass merged into plant (",
            "(merge): grass, plant, rose",
        ),
        (["--parent", "rose", "plants"], "rose is below plants; ", "Undid the place of plants, rose"),
        (["--policy", "rose", "never"], "rose is never suggested; ", "Undid the policy of rose"),
        (
            ["--policy", "rose", "accept", "0.9"],
            "accepted from 90% precision on; ",
            "Undid the policy of rose",
        ),
    ],
)
def test_a_change_is_said_and_undone(root, topicture, arguments, said, undone):
    before = words(topicture)
    code, out, err = topicture("tags", *arguments)
    assert (code, err) == (0, "")
    assert said in out
    assert words(topicture) != before
    code, out, _ = topicture("undo")
    assert (code, undone in out) == (0, True)
    assert words(topicture) == before


def test_changes_and_lists_as_json(root, topicture):
    _, out, _ = topicture("tags", "--rename", "rose", "roses", "--json")
    edit = json.loads(out)
    assert edit["text"] == "rose is now called roses"
    assert edit["photos"] == words(topicture)["roses"]["present"]
    assert json.loads(topicture("tags", "--proposals", "--json")[1]) == []
    topicture("tag", "photo-000.jpg", "seas")
    (proposal,) = json.loads(topicture("tags", "--proposals", "--json")[1])
    assert (proposal["kind"], proposal["into"]) == ("plural", "sea")
    assert "seas -> sea" in topicture("tags", "--proposals")[1]


def test_the_list_says_what_is_special_about_a_word(root, topicture):
    for change in (
        ["--parent", "rose", "plants"],
        ["--policy", "sea", "never"],
        ["--rename", "sand", "beach"],
    ):
        topicture("tags", *change)
    out = topicture("tags")[1]
    assert "plants\n     21    rose\n" in out  # a tree
    assert "sea  (never suggested)" in out
    assert "beach  (was sand)" in out
    assert topicture("tags", "bea")[1].split()[1] == "beach"


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--rename", "rose"], 2, "--rename OLD NEW"),
        (["--rename", "rose", "sea"], 2, "merge 'rose' into it"),
        (["--merge", "rose"], 2, "--merge OLD... INTO"),
        (["--policy", "rose", "accept", "much"], 2, "a precision is a number"),
        (["--policy", "rose", "accept"], 2, "needs a precision"),
        (["--rename", "--merge", "a", "b"], 2, "choose one of"),
        (["--parent", "unicorn", "rose"], 2, "no tag 'unicorn' is in use"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(root, topicture, arguments, code, reason):
    found, out, err = topicture("tags", *arguments)
    assert (found, out) == (code, "")
    assert reason in " ".join(err.replace("│", " ").split())


def test_annotate_applies_policies_and_says_so(root, topicture):
    topicture("tags", "--policy", "sea", "accept", "0.8")
    _, out, _ = topicture("annotate", "--workers", "0", "--quiet", "--json")
    accepted = json.loads(out)["accepted"]
    assert accepted["accepted"] == words(topicture)["sea"]["by_machine"] > 0
    assert "(bulk)" in topicture("undo")[1]
    assert words(topicture)["sea"]["by_machine"] == 0
    assert "Accepted by policy: " in topicture("annotate", "--workers", "0")[1]


def test_a_former_name_finds_photos_and_deletes_nothing(root, topicture):
    _, listed, _ = topicture("list", "--tag", "rose")
    assert topicture("tags", "--rename", "rose", "roses")[0] == 0
    assert topicture("list", "--tag", "rose") == (0, listed, "")
    code, out, err = topicture("tags", "--delete", "rose")
    assert (code, out) == (2, "")
    assert "it is called 'roses' now" in err
    assert words(topicture)["roses"]["present"] > 0
