"""Scan: incremental, moves and edits keep decisions, odd files and names are survived."""

import os
import shutil
import time
from dataclasses import replace

import pytest
from photo_folder import LONG_AGO, RECIPE, jpeg, make_library, make_photos, put, xmp

from topicture.app.console.tables import print_scan
from topicture.app.verbs import scanning
from topicture.app.verbs.library import Library
from topicture.app.verbs.relocating import relocate
from topicture.errors import DataNotFound, TopictureError


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=6, tagged=3)


@pytest.fixture
def root(library):
    return library.folder.parent


def tags(library, name):
    return {tag.word: tag.verdict for tag in library.tags(name)}


def test_an_unchanged_tree_is_not_touched_again(library, monkeypatch):
    def fail(path, *more):
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(scanning, "picture_id", fail)
    monkeypatch.setattr(scanning, "photo_keywords", fail)
    report = library.scan()
    assert (report.files, report.unchanged, report.new, report.changed) == (6, 6, 0, 0)


def test_keywords_become_tags(library, root):
    assert tags(library, root / "photo-000.jpg") == {"rose": "present"}
    assert library.status().tagged == 3


def test_a_fresh_file_is_read_again_until_its_time_stamp_can_be_trusted(library, root):
    fresh, now = root / "fresh.jpg", time.time()
    for number, numbers in ((50, (1, 0, 6)), (50, (0, 0, 7)), (51, (0, 1, 6)), (51, (0, 0, 7))):
        fresh.write_bytes(jpeg(number).ljust(100_000, b"\0"))  # the same size, the same time
        os.utime(fresh, (now, now))
        report = library.scan()
        assert (report.new, report.changed, report.unchanged) == numbers
    os.utime(root / "fresh.jpg", (LONG_AGO, LONG_AGO))
    library.scan()
    assert library.scan().unchanged == 7


def test_a_clock_set_back_does_no_harm(library, root, monkeypatch):
    before = library.status()
    monkeypatch.setattr(time, "time", lambda: LONG_AGO - 1000.0)
    library.scan()
    library.decide(root / "photo-004.jpg", ["night"], "present")
    library.decide(root / "photo-004.jpg", ["night"], "rejected")
    assert tags(library, root / "photo-004.jpg") == {"night": "rejected"}
    assert library.status().files == before.files
    assert library.check() == []


def test_rename_and_move_keep_what_was_decided(library, root):
    library.decide(root / "photo-000.jpg", ["rose"], "rejected")
    library.decide(root / "photo-000.jpg", ["night"], "present")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "photo-000.jpg").rename(root / "deep" / "er" / "renamed.jpeg")
    report = library.scan()
    assert (report.new, report.moved, report.gone) == (0, 1, 0)
    assert library.status().gone == 0  # it merely moved
    assert tags(library, root / "deep/er/renamed.jpeg") == {"rose": "rejected", "night": "present"}


def test_gone_photos_are_remembered_and_come_back(library, root):
    library.decide(root / "photo-002.jpg", ["night"], "present")
    shutil.move(root / "photo-002.jpg", root.parent / "elsewhere.jpg")
    assert library.scan().gone == 1
    assert library.status().gone == 1
    shutil.move(root.parent / "elsewhere.jpg", root / "back.jpg")
    library.scan()
    assert tags(library, root / "back.jpg")["night"] == "present"


def test_keywords_that_another_program_writes_into_the_file_keep_the_picture(library, root):
    library.decide(root / "photo-000.jpg", ["night"], "present")
    put(root / "photo-000.jpg", jpeg(0, ["rose", "garden"]))
    os.utime(root / "photo-000.jpg", (LONG_AGO + 50, LONG_AGO + 50))
    assert library.scan().changed == 1
    assert tags(library, root / "photo-000.jpg") == {
        "garden": "present",
        "night": "present",
        "rose": "present",
    }


def test_a_photo_edited_in_place_keeps_what_was_decided(library, root):
    library.decide(root / "photo-000.jpg", ["rose"], "rejected")
    library.decide(root / "photo-000.jpg", ["night"], "present")
    put(root / "photo-000.jpg", jpeg(100, ["rose"]))
    os.utime(root / "photo-000.jpg", (LONG_AGO + 50, LONG_AGO + 50))
    library.scan()
    assert tags(library, root / "photo-000.jpg") == {"rose": "rejected", "night": "present"}


def replace_photo(library, path, content, seconds):
    put(path, content)
    os.utime(path, (LONG_AGO + seconds, LONG_AGO + seconds))
    return library.scan()


def test_an_earlier_version_that_is_put_back_keeps_what_was_decided_since(library, root):
    photo, earlier = root / "photo-004.jpg", jpeg(4)
    library.decide(photo, ["night", "fog", "calm"], "present")
    library.write()
    replace_photo(library, photo, jpeg(100), 50)
    library.decide(photo, ["dusk"], "present")
    library.decide(photo, ["night"], "rejected")
    library.decide(photo, ["fog"], "cleared")
    library.write()
    replace_photo(library, photo, jpeg(101), 60)  # edited once more
    report = replace_photo(library, photo, earlier, 70)
    assert (report.changed, report.conflicts, report.withdrawn) == (1, (), 0)
    assert tags(library, photo) == {"night": "rejected", "dusk": "present", "calm": "present"}
    assert library.write().changes == ()
    replace_photo(library, photo, jpeg(100), 80)  # and a version between
    assert tags(library, photo) == {"night": "rejected", "dusk": "present", "calm": "present"}
    assert library.check() == []


def test_of_two_versions_what_was_decided_last_counts(library, root):
    photo, earlier = root / "photo-004.jpg", jpeg(4)
    library.decide(photo, ["night", "calm"], "present")
    replace_photo(library, photo, jpeg(100), 50)
    put(root / "copy.jpg", earlier)  # both are there for a while
    library.scan()
    library.decide(photo, ["night"], "rejected")
    library.decide(root / "copy.jpg", ["calm"], "rejected")
    library.decide(root / "copy.jpg", ["fog"], "present")
    (root / "copy.jpg").unlink()
    library.scan()
    replace_photo(library, photo, jpeg(101), 60)
    replace_photo(library, photo, earlier, 70)
    assert tags(library, photo) == {"night": "rejected", "calm": "rejected", "fog": "present"}


def test_a_known_photo_that_takes_the_name_of_another_inherits_nothing(library, root):
    library.decide(root / "photo-004.jpg", ["night"], "present")
    os.replace(root / "trip" / "photo-005.jpg", root / "photo-004.jpg")
    library.scan()
    assert tags(library, root / "photo-004.jpg") == {}


def test_photos_that_exchange_their_names_keep_their_own(library, root):
    first, second = root / "photo-004.jpg", root / "photo-002.jpg"
    replace_photo(library, first, jpeg(100), 50)  # it has versions, too
    library.decide(first, ["night"], "present")
    first.rename(root / "other")
    second.rename(first)
    (root / "other").rename(second)
    library.scan()
    assert "night" in tags(library, second)
    assert "night" not in tags(library, first)


def test_another_photo_under_an_old_name_inherits_nothing_while_the_old_one_exists(library, root):
    library.decide(root / "photo-000.jpg", ["night"], "present")
    (root / "photo-000.jpg").rename(root / "zz-kept.jpg")
    put(root / "photo-000.jpg", jpeg(100, ["rose"]))
    library.scan()
    assert tags(library, root / "photo-000.jpg") == {"rose": "present"}
    assert tags(library, root / "zz-kept.jpg") == {"rose": "present", "night": "present"}


def test_a_changed_sidecar_is_noticed(library, root):
    from photo_folder import xmp

    put(root / "photo-004.jpg.xmp", xmp(["dusk"]))
    assert library.scan().decisions == 1
    assert tags(library, root / "photo-004.jpg") == {"dusk": "present"}
    put(root / "photo-004.jpg.xmp", xmp(["dawn!"]))
    library.scan()
    assert tags(library, root / "photo-004.jpg") == {"dawn!": "present"}


def test_a_raw_files_sidecar_that_is_older_than_the_photo_is_noticed(library, root):
    put(root / "photo-004.cr2", b"RAW")
    for words in (["dusk"], ["dusk", "dawn"]):
        sidecar = put(root / "photo-004.cr2.xmp", xmp(words))
        os.utime(sidecar, (LONG_AGO - 500, LONG_AGO - 500))
        library.scan()
        assert sorted(tags(library, root / "photo-004.jpg")) == sorted(words)
    assert library.scan().unchanged == 6


def test_what_could_not_be_read_is_read_when_more_is_read_than_before(library, root, monkeypatch):
    with library.writing("test") as catalog:
        catalog.set("reading", scanning.READING - 1)
    read, tried = scanning.photo_keywords, []

    def sometimes(path, *rest):
        tried.append(path.name)
        if len(tried) == 1:
            raise OSError(5, "Input/output error")
        return read(path, *rest)

    monkeypatch.setattr(scanning, "photo_keywords", sometimes)
    (line,) = library.scan().skipped
    assert line == f"{tried[0]}: can't be read (Input/output error)"
    assert library.scan().skipped == ()
    assert tried[6:] == tried[:1]
    assert library.scan().unchanged == 6
    assert len(tried) == 7


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline.jpg",
        b"-rf.jpg",
        b"'; DROP TABLE images; --.jpg",
        b"\xff\xfe\xfd.jpg",
        b"n" * 251 + b".jpg",
    ],
)
def test_odd_names_are_indexed(library, root, name):
    path = os.path.join(os.fsencode(root), name)
    with open(path, "wb") as file:
        file.write(jpeg(60))
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert library.scan().new == 1
    assert library.scan().unchanged == 7
    library.decide(os.fsdecode(path), ["odd"], "present")
    assert tags(library, os.fsdecode(path)) == {"odd": "present"}


def test_links_are_not_followed(library, root, tmp_path):
    make_photos(tmp_path / "outside", n=2, tagged=0)
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.jpg").symlink_to(tmp_path / "outside" / "photo-000.jpg")
    report = library.scan()
    assert report.files == 6
    assert len(report.skipped) == 3


def test_a_missing_root_forgets_nothing(library, root, tmp_path):
    catalog = tmp_path / "catalog"
    shutil.copytree(root, tmp_path / "copy", ignore=shutil.ignore_patterns(".topicture"))
    other = Library.create(tmp_path / "copy", catalog, recipe=RECIPE)
    other.scan()
    shutil.rmtree(tmp_path / "copy")
    with pytest.raises(Exception, match="no such folder"):
        other.scan()
    assert other.status().files == 6


def test_odd_tags_round_trip_and_control_characters_are_refused(library, root):
    from topicture.errors import BadWord

    photo = root / "photo-004.jpg"
    good = [
        "-rf",
        "a|b",
        "a/b",
        "a,b",
        "x" * 10_000,
        "\u05e9\u05dc\u05d5\u05dd",
        "\U0001f42f",
        "$(touch pwned)",
    ]
    library.decide(photo, [*good, "caf\u00e9", "cafe\u0301"], "present")
    assert sorted(tags(library, photo)) == sorted([*good, "caf\u00e9"])  # twins are one word
    for bad in ("new\nline", "cr\rhere", "nul\0", "", " "):
        with pytest.raises(BadWord):
            library.decide(photo, [bad], "present")


def test_a_sidecar_that_its_photo_has_left_is_reported(library, root):
    library.decide("photo-000.jpg", ["night"], "present")
    library.decide("photo-002.jpg", ["night"], "present")
    library.write()
    for name in ("photo-000.jpg", "photo-002.jpg"):
        (root / name).rename(root / "trip" / name)
    (root / "photo-002.jpg.xmp").rename(root / "trip" / "photo-002.jpg.xmp")
    (line,) = library.scan().left_behind
    assert line.startswith("photo-000.jpg.xmp: its photo is trip/photo-000.jpg now")
    (root / "photo-000.jpg.xmp").unlink()
    assert library.scan().left_behind == ()


def test_a_sidecar_that_another_photo_has_is_not_left_behind(library, root):
    put(root / "photo-000.xmp", xmp(["shared"]))
    put(root / "photo-000.png", jpeg(99))
    library.scan()
    (root / "photo-000.jpg").rename(root / "trip" / "photo-000.jpg")
    assert library.scan().left_behind == ()


def test_patterns_are_remembered_and_what_they_leave_out_is_not_forgotten(library, root):
    library.decide("trip/photo-001.jpg", ["night"], "present")
    before = library.scan().files
    report = library.scan(exclude=["trip/"])
    assert (report.files, report.gone) == (before // 2, before - before // 2)
    assert library.scan().files == before // 2
    assert library.scan(exclude=[""]).files == before
    assert tags(library, "trip/photo-001.jpg")["night"] == "present"
    (root / ".topictureignore").write_text("photo-000.jpg\n")
    assert library.scan().files == before - 1


def test_a_bad_pattern_changes_nothing(library):
    before = library.scan().files
    with pytest.raises(TopictureError, match="not understood"):
        library.scan(exclude=["!"])
    assert library.scan().files == before


def test_what_is_left_out_is_told_in_one_line(library, root, capsys):
    for name in ("a.mov", "b.mp4"):
        put(root / name, b"x")
    report = library.scan()
    assert report.left_out == {"video": 2}
    print_scan(replace(report, left_out={"video": 1234, "RAW file": 56}))
    told = "1,234 videos and 56 RAW files were left out; 'topicture doctor' says why.\n"
    assert told in capsys.readouterr().out


def test_a_collection_that_moved_away_from_its_catalog_is_found_again(tmp_path):
    catalog = tmp_path / "catalog"
    library = Library.create(make_photos(tmp_path / "old", 4, 2), catalog, recipe=RECIPE)
    library.scan()
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "other").mkdir()
    with pytest.raises(DataNotFound, match="none of the 4 photos"):
        relocate(library, tmp_path / "other")
    moved = relocate(library, tmp_path / "new")
    assert (moved.known, moved.found, moved.now) == (4, 4, str(tmp_path / "new"))
    report = library.scan()
    assert (report.unchanged, report.gone) == (4, 0)
