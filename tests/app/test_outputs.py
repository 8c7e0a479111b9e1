"""Commands that write where they are told: no photo and no file of someone else's is ever lost."""

import os

import pytest
from photo_folder import hashes, make_library

from topicture.app.verbs.library import Library

PHOTO, THEIRS = "photo-000.jpg", "notes.html"


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("outputs") / "photos", n=24, tagged=16)
    library.learn("lsa", regions=False, workers=0)
    return library


@pytest.fixture
def root(learned, tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICTURE_CACHE", str(tmp_path / "cache"))
    root = learned.folder.parent
    monkeypatch.chdir(root)
    (root / THEIRS).write_text("mine")
    (root / "raw.NEF").write_bytes(b"II*\0 raw")
    (tmp_path / "link").symlink_to(root)
    (root / "link.html").symlink_to(root / PHOTO)
    before = hashes(root)
    yield root
    assert hashes(root) == before  # whatever a test did: nothing in the collection has changed
    (root / "link.html").unlink()


COMMANDS = {
    "export": ["export", "{}", "--format", "coco"],
    "explain": ["explain", "--workers", "0", "--out", "{}"],
    "regions": ["regions", PHOTO, "--out", "{}"],
    "summary": ["reproduce", "blei2003", "--out", "../reports", "--summary", "{}"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "target", [PHOTO, "raw.NEF", "LINK/" + PHOTO, "link.html", ".topicture/catalog.sqlite"]
)
@pytest.mark.parametrize("force", [True, False])
def test_a_photo_is_never_written(root, tmp_path, topicture, command, target, force):
    path = target.replace("LINK", str(tmp_path / "link"))
    arguments = [part.format(path) for part in COMMANDS[command]] + ["--force"] * force
    code, told, error = topicture(*arguments)
    assert (code, told, error.count("\n")) == (2, "", 1)
    assert "choose a" in error


@pytest.mark.parametrize("command", ["export", "explain", "summary"])
def test_a_file_of_someone_else_s_needs_force(root, topicture, command):
    code, _, error = topicture(*(part.format(THEIRS) for part in COMMANDS[command]))
    assert code == 2
    assert error == f"topicture: {root / THEIRS}: exists and is not as Topicture wrote it; " + (
        "choose another name, or --force to replace it\n"
    )


def test_what_was_exported_is_exported_again(root, tmp_path, topicture):
    for _ in range(2):
        assert topicture("export", tmp_path / "tags.csv")[0] == 0
    (tmp_path / "tags.csv").write_text("corrected by hand")
    assert topicture("export", tmp_path / "tags.csv")[0] == 2
    assert topicture("export", tmp_path / "tags.csv", "--force")[0] == 0


@pytest.mark.parametrize("name", ["index.html", "demo.json"])
def test_the_demonstration_keeps_files_of_others(tmp_path, topicture, name):
    (tmp_path / name).write_text("mine")
    code, _, error = topicture("demo", "--out", tmp_path, "--images", 40)
    assert (code, error.count("\n")) == (2, 1)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["blei2003.md", "blei2003.json", "blei2003.html", "blei2003-1.png", "results.md"]
)
def test_a_reproduction_keeps_files_of_others(tmp_path, topicture, name):
    (tmp_path / name).write_text("{}")
    code, _, error = topicture("reproduce", "blei2003", "--out", tmp_path, "--data", tmp_path / "none")
    assert (code, error.count("\n")) == (2, 1)
    assert name in error
    assert os.listdir(tmp_path) == [name]


def test_a_reproduction_goes_on_with_its_own_files(tmp_path, topicture):
    (tmp_path / "blei2003.json").write_text('{"plan": {}, "found": {}}')
    (tmp_path / "blei2003.md").write_text("of an earlier run")
    (tmp_path / "results.md").write_text("# Results\n\nPut together by `topicture reproduce` on 2026-01-01.")
    error = topicture("reproduce", "blei2003", "--out", tmp_path, "--data", tmp_path / "none")[2]
    assert "--force" not in error  # it goes on to look for the data


@pytest.mark.parametrize("kind", ["file", "link", "inside"])
def test_a_backup_needs_a_new_folder_elsewhere(root, tmp_path, topicture, kind):
    target = tmp_path / "copy"
    if kind == "file":
        target.write_text("mine")
    elif kind == "link":
        target.symlink_to(tmp_path / "not there")
    else:
        target = root / ".topicture" / "copy"
    code, _, error = topicture("backup", target)
    assert (code, error.count("\n")) == (2, 1)
    assert not (tmp_path / "not there").exists()
    assert not (root / ".topicture" / "copy").exists()


def test_a_drawing_that_became_a_photo_of_the_collection_is_kept(root, learned, topicture):
    drawing = root / "drawn.png"
    drawing.write_bytes((root / PHOTO).read_bytes())
    try:
        Library(learned.folder).scan()
        code, _, error = topicture("regions", PHOTO, "--out", drawing, "--force")
        assert code == 2
        assert "a photo of the catalog" in error
    finally:
        drawing.unlink()
        Library(learned.folder).scan()
