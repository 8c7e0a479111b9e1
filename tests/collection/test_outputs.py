"""Outputs: never onto a photo, never over a file of someone else's, all or nothing, on disk."""

import os
import subprocess
import sys

import pytest
from privileges import give_away, without_privileges

from topicture.collection import outputs
from topicture.collection.formats import Item, write_annotations
from topicture.collection.outputs import OutputError, Outputs
from topicture.collection.precious import is_precious_name, looks_like_a_picture

HAND_MADE = b'{"shapes": [], "imagePath": "a.jpg", "by": "hand"}'


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TOPICTURE_CACHE", str(folder))
    return folder


def refused(place, files, message):
    with pytest.raises(OutputError, match=message) as error:
        place.write(files)
    assert "\n" not in str(error.value)


def test_what_was_written_is_replaced_again_and_again(tmp_path):
    for content in (b"one", b"two", b"two", b"three"):
        Outputs(tmp_path / "new").write({"tags.csv": content, "deep/tags.csv": content})
        assert (tmp_path / "new" / "tags.csv").read_bytes() == content
        assert (tmp_path / "new" / "deep" / "tags.csv").read_bytes() == content
    assert sorted(os.listdir(tmp_path / "new")) == ["deep", "tags.csv"]


def test_a_file_of_someone_else_s_is_kept_unless_forced(tmp_path):
    path = tmp_path / "tags.csv"
    path.write_bytes(b"mine")
    refused(Outputs(tmp_path), {"new.csv": b"x", "tags.csv": b"x"}, "--force")
    assert os.listdir(tmp_path) == ["tags.csv"]  # not even the file that may be written
    assert path.read_bytes() == b"mine"
    Outputs(tmp_path, force=True).write({"tags.csv": b"x"})
    assert path.read_bytes() == b"x"


def test_what_a_person_has_changed_since_is_theirs(tmp_path):
    Outputs(tmp_path).write({"tags.csv": b"ours"})
    (tmp_path / "tags.csv").write_bytes(b"ours, with corrections")
    refused(Outputs(tmp_path), {"tags.csv": b"new"}, "--force")


def test_without_a_cache_nothing_is_known_to_be_ours(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOPICTURE_CACHE", str(tmp_path / "file" / "cache"))
    Outputs(tmp_path).write({"tags.csv": b"one"})
    refused(Outputs(tmp_path), {"tags.csv": b"two"}, "--force")


def test_the_record_holds_no_names(tmp_path, cache):
    Outputs(tmp_path).write({"a-secret-name.csv": b"x"})
    (record,) = (cache / "outputs").iterdir()
    assert "secret" not in record.name + record.read_text()


@pytest.mark.parametrize("name", ["a.jpg", "A.JPG", "a.png", "a.nef", "a.CR3", "a.mov", "a.jpg.xmp"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_name_of_a_photo_is_never_taken(tmp_path, name, exists):
    if exists:
        (tmp_path / name).write_bytes(b"photo")
    refused(Outputs(tmp_path, force=True), {name: b"x"}, "choose another name")
    assert os.listdir(tmp_path) == ([name] if exists else [])


def test_a_photo_without_its_name_is_never_replaced(tmp_path):
    (tmp_path / "tags.csv").write_bytes(b"\xff\xd8\xff\xe0 a jpeg")
    refused(Outputs(tmp_path, force=True), {"tags.csv": b"x"}, "photo or video")


@pytest.mark.parametrize("start", [b"RIFF1234WEBPVP8 ", b"\0\0\0\x18ftypheic", b"II*\0", b"FUJIFILMCCD-RAW "])
def test_pictures_are_seen_by_how_they_begin(start):
    assert looks_like_a_picture(start)
    assert not looks_like_a_picture(b"file,word\n")
    assert not is_precious_name("tags.csv")


def test_pictures_are_png_and_replace_only_our_own(tmp_path):
    place = Outputs(tmp_path, pictures=True, force=True)
    refused(place, {"regions.jpg": b"x"}, r"\.png")
    for content in (b"one", b"two"):
        place.write({"regions.png": content})
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n theirs")
    refused(place, {"photo.png": b"x"}, "never replaced")


@pytest.mark.parametrize("kind", ["file", "photo", "nothing", "folder", "pipe", "device"])
def test_links_pipes_devices_and_folders_are_left_alone(tmp_path, kind):
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    path = tmp_path / "out" / "tags.csv"
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to(os.devnull)
    else:
        path.symlink_to(outside if kind != "nothing" else tmp_path / "not there")
    before = path.lstat().st_ino
    refused(Outputs(path.parent, force=True), {"tags.csv": b"x"}, r"a link|a folder|a device or pipe")
    assert path.lstat().st_ino == before
    assert outside.read_bytes() == b"precious"
    assert not (tmp_path / "not there").exists()


def test_a_folder_that_is_a_link_inside_the_output_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trip").symlink_to(tmp_path / "elsewhere")
    refused(Outputs(tmp_path / "out", force=True), {"trip/a.json": b"x"}, "links are not followed")
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("name", ["../a.csv", "b/../../a.csv", "/etc/a.csv", ""])
def test_nothing_leaves_the_folder(tmp_path, name):
    refused(Outputs(tmp_path / "out", force=True), {name: b"x"}, "leads out")


def test_a_catalog_is_no_place_for_outputs(tmp_path):
    (tmp_path / "photos" / ".topicture").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "photos" / ".topicture")
    for folder in (tmp_path / "photos" / ".topicture", tmp_path / "link"):
        refused(Outputs(folder, force=True), {"catalog.sqlite": b"x"}, "catalog")


def test_a_file_that_appears_in_the_last_moment_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "tags.csv"

    def prepared(*arguments):
        path.write_bytes(b"mine")
        return _prepared(*arguments)

    _prepared = outputs._prepared
    monkeypatch.setattr(outputs, "_prepared", prepared)
    refused(Outputs(tmp_path), {"tags.csv": b"x"}, "--force")
    assert path.read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["tags.csv"]


def test_want_of_room_in_the_middle_leaves_every_old_file(tmp_path, monkeypatch):
    old = {f"{n}.csv": b"old" for n in range(4)}
    Outputs(tmp_path).write(old)
    fsync, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 3:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    refused(Outputs(tmp_path), dict.fromkeys(old, b"new"), "No space left on device.*; nothing was written")
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_a_folder_that_may_not_be_written_is_one_line(tmp_path):
    give_away(tmp_path)
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    with without_privileges():
        refused(Outputs(folder), {"tags.csv": b"x"}, "Permission denied")


def test_the_mode_of_a_file_is_kept(tmp_path):
    Outputs(tmp_path).write({"tags.csv": b"one"})
    (tmp_path / "tags.csv").chmod(0o600)
    Outputs(tmp_path).write({"tags.csv": b"two"})
    assert (tmp_path / "tags.csv").stat().st_mode & 0o777 == 0o600


KILLED = """
import os, sys
from pathlib import Path
from topicture.collection import outputs
moved = []
put = outputs.put_in_place
def put_and_die(*arguments):
    put(*arguments)
    os.kill(os.getpid(), 9)
outputs.put_in_place = put_and_die
outputs.Outputs(Path(sys.argv[1])).write({"a.csv": b"new", "b.csv": b"new"})
"""


def test_after_a_kill_the_same_run_goes_through_and_clears_up(tmp_path):
    Outputs(tmp_path).write({"a.csv": b"old", "b.csv": b"old"})
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)])
    assert [(tmp_path / name).read_bytes() for name in ("a.csv", "b.csv")] == [b"new", b"old"]
    assert len(os.listdir(tmp_path)) == 3
    Outputs(tmp_path).write({"a.csv": b"new", "b.csv": b"new"})
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]
    assert (tmp_path / "b.csv").read_bytes() == b"new"


# --- Formats -------------------------------------------------------------------------------------------------------


def test_annotations_made_by_hand_are_kept(tmp_path):
    (tmp_path / "trip").mkdir()
    mine = tmp_path / "trip" / "b.json"
    mine.write_bytes(HAND_MADE)
    items = [Item("a.jpg", ("sea",)), Item("trip/b.jpg", ("sand",))]
    with pytest.raises(OutputError, match=r"b\.json"):
        write_annotations(tmp_path, items, "labelme")
    assert mine.read_bytes() == HAND_MADE
    assert sorted(os.listdir(tmp_path)) == ["trip"]  # nothing was written before it was noticed
    write_annotations(tmp_path, items, "labelme", force=True)
    assert b"hand" not in mine.read_bytes()
    write_annotations(tmp_path, items, "labelme")


@pytest.mark.parametrize("format", ["arff", "arff-dense"])
def test_an_unrelated_file_beside_a_table_is_kept(tmp_path, format):
    (tmp_path / "tags.xml").write_bytes(b"<mine/>")
    with pytest.raises(OutputError, match=r"tags\.xml"):
        write_annotations(tmp_path / "tags.arff", [Item("a.jpg", ("sea",))], format)
    assert os.listdir(tmp_path) == ["tags.xml"]
    assert (tmp_path / "tags.xml").read_bytes() == b"<mine/>"


@pytest.mark.parametrize("format", ["labelme", "voc"])
def test_a_photo_with_the_longest_name_is_left_out_with_a_reason(tmp_path, format):
    longest = "é" * 125 + "x.jpg"
    assert len(os.fsencode(longest)) == 255
    short = "b.jpg"
    left_out = write_annotations(
        tmp_path, [Item(longest[:-4] + "x.jp", ("sea",)), Item(short, ("sea",))], format
    )
    assert len(os.listdir(tmp_path)) + len(left_out) == 2
    left_out = write_annotations(
        tmp_path / "two", [Item("y" * 252 + ".gif", ("sea",)), Item(short, ("a",))], format
    )
    assert [str(line) for line in left_out if "255 bytes" in str(line)]
    assert len(os.listdir(tmp_path / "two")) == 1


def test_a_name_that_is_too_long_is_one_line(tmp_path):
    with pytest.raises(OutputError, match="255 bytes"):
        write_annotations(tmp_path / ("x" * 252 + ".csv"), [Item("a.jpg", ("sea",))], "csv-long")
    longest = tmp_path / ("x" * 251 + ".csv")
    write_annotations(longest, [Item("a.jpg", ("sea",))], "csv-long")
    assert longest.exists()


def test_a_file_where_a_folder_must_be_is_seen_before_the_work(tmp_path):
    (tmp_path / "taken").write_text("mine")
    for place, name in ((Outputs(tmp_path / "taken"), "page.html"), (Outputs(tmp_path), "taken/page.html")):
        with pytest.raises(OutputError, match="a file stands where a folder must be"):
            place.check([name])
    assert (tmp_path / "taken").read_text() == "mine"
