"""The commands as a person or a script meets them: output, JSON, exit codes, hostile names, interruption."""

import importlib.metadata
import json
import os
import re
import socket
from pathlib import Path

import pytest
import typer
import uvicorn
from photo_folder import RECIPE, copy_library, jpeg, learn, make_library, make_photos, put

from topicture.app.cli.commands import app
from topicture.app.cli.deciding.review_loop import HELP, ask_in_terminal
from topicture.app.verbs import scanning
from topicture.app.verbs.doctor import EXTRAS
from topicture.app.verbs.library import Library
from topicture.store import Catalog

VERBS = tuple(typer.main.get_command(app).commands)


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


def test_every_verb_is_in_the_help_and_has_its_own(topicture):
    _, out, _ = topicture("--help")
    for verb in VERBS:
        assert f" {verb} " in out
        code, text, _ = topicture(verb, "--help")
        assert code == 0
        assert "--json" in text


def test_every_verb_is_in_the_guide():
    guide = (Path(__file__).parent.parent.parent / "docs" / "tool.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\|((?:[^|\n]|\\\|)*)\|", guide, re.MULTILINE)
    rows = {verb for cell in first_cells for verb in re.findall(r"`(\w+)", cell)}
    assert set(VERBS) - rows == set()


def test_init_scans_and_tells(tmp_path, topicture, monkeypatch):
    make_photos(tmp_path / "photos", n=4, tagged=2)
    monkeypatch.chdir(tmp_path)
    code, out, _ = topicture("init", "photos", "--view", "colour-layout")
    assert code == 0
    assert out.splitlines()[:2] == [f"Catalog: {os.path.join('photos', '.topicture')}", "4 photos: 4 new."]
    (tmp_path / "empty").mkdir()
    assert topicture("init", "empty")[1].splitlines()[1:] == ["No photos found."]
    code, _, error = topicture("init", "photos")
    assert code == 2
    assert "there is a catalog already" in error
    code, _, error = topicture("init", "nowhere")
    assert (code, error.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan"],
        ["status"],
        ["search", "rose"],
        ["similar", "photo-000.jpg"],
        ["review", "--list"],
        ["review", "--accept-above", "0.8", "--dry-run"],
        ["tag", "photo-000.jpg"],
        ["tags"],
        ["undo"],
        ["undo", "--list"],
        ["redo"],
        ["list"],
        ["config"],
        ["models", "--prune"],
        ["watch", "--once", "--workers", "0"],
        ["write", "--dry-run"],
        ["models"],
        ["models", "--learned"],
        ["evaluate"],
        ["check"],
        ["annotate", "--top", "1", "--workers", "0"],
        ["export", "out.csv"],
        ["backup", "copy"],
    ],
    ids=" ".join,
)
def test_results_as_text_and_as_json(root, topicture, arguments):
    code, out, _ = topicture(*arguments)
    assert code == 0
    assert out.strip()
    if arguments == ["backup", "copy"]:
        arguments = ["backup", "copy2"]
    code, out, _ = topicture(*arguments, "--json")
    assert code == 0
    json.loads(out)


def test_learn_tells_what_was_tried_and_how_long_it_may_take(root, topicture):
    code, out, _ = topicture("learn", "--budget", "0.2", "--no-regions", "--workers", "0", "--verbose")
    assert code == 0
    lines = out.splitlines()
    assert any(line.split()[:3] == ["knn", "on", "descriptor"] for line in lines)
    assert "Time limit for trying and learning: 0.2 minutes (--budget)." in lines
    assert any(line.startswith("Learned ") and "(model: auto" in line for line in lines)


def test_learn_as_json(root, topicture):
    code, out, error = topicture("learn", "--model", "lsa", "--no-regions", "--workers", "0", "--json")
    assert (code, error) == (0, "")
    told = json.loads(out)
    assert told["model"] == "lsa"
    assert told["trials"][0]["standard_error"] is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn", "--model", "lda"], "there is no model 'lda'"),
        (["search", "rsoe"], "nearest: rose"),
        (["search", ""], "the query is empty"),
        (["annotate", "--threshold", "7"], "between 0 and 1"),
        (["similar", "nowhere.jpg"], "not a photo of the catalog"),
        (["similar", "../../etc/passwd"], "not a photo of the catalog"),
        (["tag", "photo-000.jpg", "two\nlines"], "control character"),
        (["tags", "--delete", "unicorn"], "no photo has or had"),
        (["regions", "photo-000.jpg"], "no learned model labels regions"),
        (["review", "--order", "best"], "there is no order"),
        (["review", "--accept-above", "95"], "between 0 and 1"),
        (["export", "out.xyz"], "--format"),
        (["import", "nowhere.csv"], "nowhere.csv"),
        (["backup", "trip"], "exists already"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(root, topicture, arguments, message):
    code, _, error = topicture(*arguments)
    assert code == 2
    assert message in error
    assert error.startswith("topicture: ")
    assert error.count("\n") == 1


def test_outside_a_collection(tmp_path, topicture, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, error = topicture("status")
    assert code == 2
    assert "topicture init" in error


def test_a_second_writer_is_told_to_wait(root, topicture):
    with Catalog.open(root / ".topicture", write=True, command="learn"):
        code, _, error = topicture("scan")
        assert topicture("status")[0] == 0  # readers need not wait
    assert code == 2
    assert "'topicture learn' (process" in error
    assert "wait for it to end" in error
    assert topicture("scan")[0] == 0


def test_skipped_files_give_code_one_and_their_reason(root, topicture):
    put(root / "broken.jpg", b"no photo")
    assert topicture("scan")[0] in (0, 1)
    code, _, error = topicture("annotate", "--workers", "0")
    assert code == 1
    assert "broken.jpg: " in error


def test_quiet_says_nothing(root, topicture):
    assert topicture("scan", "--quiet") == (0, "", "")
    assert topicture("annotate", "--again", "--workers", "0", "--quiet") == (0, "", "")


def test_interruption_gives_code_130(root, topicture, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(scanning, "walk_photos", interrupt)
    code, _, error = topicture("scan")
    assert code == 130
    assert "Traceback" not in error


def test_hostile_names_are_printed_as_text(root, topicture):
    name = "[bold red]evil\x1b[31m\n.jpg"
    put(root / name, jpeg(70))
    topicture("scan")
    code, out, _ = topicture("tag", f"./{name}", "[link=http://x]tag[/link]", "--", "-dash")
    assert code == 0
    assert "[link=http://x]tag[/link]" in out
    assert "\x1b" not in topicture("search", '"-dash"')[1]
    assert "evil\\x1b[31m\\n.jpg" in topicture("search", '"-dash"')[1]
    assert f"{name}\0" == topicture("search", '"-dash"', "--paths")[1]


def test_export_and_import_round_trip(root, topicture, tmp_path):
    assert topicture("export", tmp_path / "tags.csv")[0] == 0
    make_photos(tmp_path / "again", n=32, tagged=0)
    library = Library.create(tmp_path / "again", recipe=RECIPE)
    library.scan()
    assert topicture("import", tmp_path / "tags.csv", "--catalog", tmp_path / "again")[0] == 0
    assert library.words() == Library.find(root).words()
    topicture("undo", "--catalog", tmp_path / "again")
    assert library.words() == []


def test_import_refuses_what_lies_outside_and_takes_the_rest(root, topicture):
    (root / "tags.csv").write_text(
        "file,word\n../../etc/passwd,evil\nnowhere.jpg,gone\nphoto-030.jpg,night\n"
    )
    code, out, error = topicture("import", "tags.csv", "--format", "csv-long")
    assert code == 1
    assert "1 new tag for 1 photo." in out
    assert "nowhere.jpg" in error
    assert {tag.word for tag in Library.find(root).tags("photo-030.jpg")} == {"night"}


def test_no_connection_is_ever_tried(root, topicture, monkeypatch):
    def refuse(*arguments):
        raise AssertionError(f"tried to connect to {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for arguments in (
        ["scan"],
        ["learn", "--model", "lsa", "--no-regions", "--workers", "0"],
        ["annotate", "--workers", "0"],
        ["search", "rose"],
        ["review", "--accept-above", "0.8"],
        ["write"],
        ["doctor"],
    ):
        assert topicture(*arguments)[0] in (0, 1), arguments


def test_serve_tells_a_script_where_it_is(root, topicture, monkeypatch):
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    # It would close every handler of this process's log, pytest's among them.
    monkeypatch.setattr(uvicorn.Config, "configure_logging", lambda self: None)
    code, out, error = topicture("serve", "--port", "0", "--no-browser", "--json")
    assert (code, error) == (0, "")
    told = json.loads(out)
    assert told == {"address": told["address"], "pid": os.getpid()}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login\S+", told["address"])


def test_doctor_finds_what_the_tests_run_on(topicture):
    code, out, _ = topicture("doctor", "--json")
    assert code == 0
    assert {"Python", "numpy", "SQLite"} <= {finding["what"] for finding in json.loads(out)}


# --- The questions of a review ----------------------------------------------------------------------------------------


def answer(root, keys):
    library = Library.find(root)
    said = []
    questions = library.queue("certain", limit=4)
    iterator = iter(keys)
    result = ask_in_terminal(library, questions, read_key=lambda: next(iterator), say=said.append)
    return library, questions, said, result


def test_answers_are_noted_at_once(root):
    library, questions, said, result = answer(root, "yns?q")
    assert result.startswith("1 accepted, 1 rejected.")
    assert said[0] == HELP
    verdicts = [{tag.word: tag.verdict for tag in library.tags(q.path)}.get(q.word) for q in questions]
    assert verdicts == ["present", "rejected", None, None]


def test_the_end_of_the_input_ends_a_review(root):
    def read_key():
        raise EOFError

    library = Library.find(root)
    result = ask_in_terminal(library, library.queue(limit=2), read_key=read_key, say=lambda line: None)
    assert result.startswith("0 accepted, 0 rejected.")


def test_undo_goes_back_to_the_question(root):
    library, questions, _, result = answer(root, "yynuuyq")
    assert result.startswith("2 accepted, 0 rejected.")
    verdicts = [{tag.word: tag.verdict for tag in library.tags(q.path)}.get(q.word) for q in questions]
    assert verdicts == ["present", "present", None, None]


def test_undo_in_a_review_reaches_no_further_back_than_the_review(root):
    library = Library.find(root)
    library.decide(root / "photo-000.jpg", ["night"], "present")
    library, _, said, result = answer(root, "uyuuq")
    assert result.startswith("0 accepted, 0 rejected.")
    assert sum("Nothing left to undo in this review" in line for line in said) == 2
    assert "night" in {tag.word for tag in library.tags(root / "photo-000.jpg")}
    assert library.undo().decisions[0].word == "night"


def test_undo_in_a_review_takes_back_its_own_answer_and_nothing_that_came_between(root):
    library = Library.find(root)
    questions = library.queue("certain", limit=2)
    keys = iter("yuq")

    def read_key():
        key = next(keys)
        if key == "u":  # meanwhile, in another window
            library.decide(root / "photo-000.jpg", ["night"], "present")
        return key

    ask_in_terminal(library, questions, read_key=read_key, say=lambda line: None)
    assert "night" in {tag.word for tag in library.tags(root / "photo-000.jpg")}
    assert questions[0].word not in {tag.word for tag in library.tags(questions[0].path)}


def test_an_answer_that_was_given_anew_meanwhile_is_left_alone(root):
    library = Library.find(root)
    questions = library.queue("certain", limit=2)
    said, keys = [], iter("yuq")

    def read_key():
        key = next(keys)
        if key == "u":
            library.decide(questions[0].image, [questions[0].word], "rejected")
        return key

    ask_in_terminal(library, questions, read_key=read_key, say=said.append)
    assert "Something else was decided about it since; that stays." in said
    verdicts = {tag.word: tag.verdict for tag in library.tags(questions[0].path)}
    assert verdicts[questions[0].word] == "rejected"


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (["tag", "photo-000.jpg", "night"], "Undid 1 decision (review): night\n"),
        (["tag", "photo-000.jpg", "night", "dusk"], "Undid 2 decisions (review): dusk, night\n"),
        (["tags", "--delete", "unused"], "Undid the deletion of unused\n"),
        (["tags"], "There is nothing left to undo.\n"),
    ],
    ids=["one", "two", "deletion", "none"],
)
def test_undo_shows_what_it_did(root, topicture, before, told):
    with Catalog.open(root / ".topicture", write=True) as catalog:
        catalog.decisions.word_id("unused")
    topicture(*before)
    assert topicture("undo")[1] == told


def test_an_interrupted_review_keeps_its_answers(root):
    library = Library.find(root)
    keys = iter("y")

    def read_key():
        for key in keys:
            return key
        raise KeyboardInterrupt

    questions = library.queue("certain", limit=3)
    with pytest.raises(KeyboardInterrupt):
        ask_in_terminal(library, questions, read_key=read_key, say=lambda line: None)
    assert library.status().accepted_here == 1


def test_a_collection_is_told_what_to_leave_out_and_where_it_is_now(tmp_path, topicture):
    photos, moved = make_photos(tmp_path / "old", 4, 2), tmp_path / "new"
    assert topicture("init", photos, "--catalog", tmp_path / "catalog", "--exclude", "trip/")[1].count(
        "2 photos"
    )
    photos.rename(moved)
    at = ("--catalog", tmp_path / "catalog")
    code, _, error = topicture("relocate", tmp_path, *at)
    assert (code, error.count("\n")) == (2, 1)
    assert topicture("relocate", moved, *at)[1].startswith(f"2 of 2 photos found in {moved}.")
    assert topicture("scan", "--exclude", "", *at)[1].startswith("4 photos: 2 new, 2 unchanged.")


def test_doctor_is_content_without_the_extras_and_names_them(topicture, monkeypatch):
    version, extras = importlib.metadata.version, {name for _, _, name, _ in EXTRAS}

    def some(name):
        if name in extras:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("importlib.metadata.version", some)
    code, out, _ = topicture("doctor")
    assert code == 0
    assert "-     HEIC photos: are left out: pip install 'topicture[heic]'" in out
    assert "-     RAW files: are left out: pip install 'topicture[raw]'" in out
    assert "MISS" not in out
    assert "videos: always left out" in out
