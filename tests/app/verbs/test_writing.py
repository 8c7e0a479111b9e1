"""Write: sidecars only, whole or not at all, and what can't be written stays pending and visible."""

import errno
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from photo_folder import RECIPE, hashes, jpeg, learn, make_library, make_photos, put, xmp
from privileges import give_away, without_privileges

from topicture.app.verbs import writing
from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords

exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=4, tagged=2)


@pytest.fixture
def root(library):
    return library.folder.parent


def photo_hashes(root):
    return {name: value for name, value in hashes(root).items() if not name.endswith(".xmp")}


def test_accepted_tags_go_into_sidecars_and_originals_stay_to_the_byte(library, root):
    before = photo_hashes(root)
    library.decide(root / "photo-002.jpg", ["tiger", "a|b", "ca,ts", "\U0001f42f"], "present")
    report = library.write()
    assert (report.files, report.written, report.pending) == (1, 1, ())
    assert set(photo_keywords(root / "photo-002.jpg").words) == {"tiger", "a|b", "ca,ts", "\U0001f42f"}
    assert photo_hashes(root) == before
    assert library.status().pending_writes == 0


def test_a_full_run_leaves_every_original_as_it_was(tmp_path):
    library = make_library(tmp_path / "photos")
    root = library.folder.parent
    before = photo_hashes(root)
    learn(library)
    library.accept_above(0.7)
    assert library.write().written > 0
    library.delete_tag("rose")
    library.write()
    library.scan()
    learn(library)
    assert photo_hashes(root) == before


def test_writing_again_changes_nothing(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    before = hashes(root)
    assert library.write().files == 0
    library.scan()
    assert library.write().files == 0
    assert hashes(root) == before


def test_a_dry_run_writes_nothing(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    before = hashes(root)
    report = library.write(dry_run=True)
    assert [(change.sidecar, change.added) for change in report.changes] == [
        ("photo-002.jpg.xmp", ("tiger",))
    ]
    assert hashes(root) == before
    assert library.status().pending_writes == 1


def test_undo_and_rejection_take_the_word_out_again(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    library.undo()
    assert library.write().changes[0].removed == ("tiger",)
    assert photo_keywords(root / "photo-002.jpg").words == ()


def test_a_tag_deleted_in_bulk_leaves_the_sidecars_and_does_not_come_back(library, root):
    put(root / "photo-002.jpg.xmp", xmp(["tiger", "mine"]))
    library.scan()
    library.decide(root / "trip/photo-003.jpg", ["tiger"], "present")
    library.write()
    library.delete_tag("tiger")
    library.write()
    library.scan()
    assert photo_keywords(root / "trip/photo-003.jpg").words == ()
    assert set(photo_keywords(root / "photo-002.jpg").words) == {"tiger", "mine"}  # another program's word
    assert {tag.word: tag.verdict for tag in library.tags(root / "photo-002.jpg")}["tiger"] == "rejected"
    assert library.status().pending_writes == 0


def test_a_word_that_another_program_removes_is_not_written_again(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    put(root / "photo-002.jpg.xmp", xmp(["grass"]))
    library.scan()
    assert {tag.word for tag in library.tags(root / "photo-002.jpg")} == {"grass", "tiger"}
    assert [conflict.word for conflict in library.conflicts()] == ["tiger"]
    assert library.write().files == 0
    assert photo_keywords(root / "photo-002.jpg").words == ("grass",)


def test_a_sidecar_that_moved_with_its_photo_is_still_ours(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    for name in ("photo-002.jpg", "photo-002.jpg.xmp"):
        (root / name).rename(root / name.replace("photo-002", "moved"))
    library.scan()
    assert library.write().files == 0
    library.decide(root / "moved.jpg", ["tiger"], "rejected")
    assert library.write().changes[0].removed == ("tiger",)
    assert photo_keywords(root / "moved.jpg").words == ()
    library.scan()
    assert {tag.word: tag.verdict for tag in library.tags(root / "moved.jpg")} == {"tiger": "rejected"}


def test_copies_of_a_photo_each_get_their_sidecar(library, root):
    put(root / "copy.jpg", (root / "photo-002.jpg").read_bytes())
    library.scan()
    library.decide(root / "copy.jpg", ["tiger"], "present")
    assert library.write().written == 2
    assert (root / "copy.jpg.xmp").exists()
    assert (root / "photo-002.jpg.xmp").exists()


def test_a_word_stays_in_a_shared_sidecar_while_another_photo_has_it(library, root):
    put(root / "two.jpg", jpeg(90))
    put(root / "two.png", jpeg(91))
    shared = put(root / "two.xmp", xmp(["theirs"]))
    library.scan()
    library.decide("two.jpg", ["cat"], "present")
    library.decide("two.png", ["cat"], "present")
    library.write()
    library.scan()
    library.undo()  # of the last photo's
    assert library.status().pending_writes == 0
    assert library.write().changes == ()
    assert library.scan().conflicts == ()
    assert "<rdf:li>cat</rdf:li>" in shared.read_text()
    library.undo()
    library.write()
    assert photo_keywords(root / "two.png").words == ("theirs",)
    assert library.scan().conflicts == ()
    assert library.status().pending_writes == 0


def test_suggestions_accepted_in_bulk_are_marked_as_the_machines(tmp_path):
    library = make_library(tmp_path / "photos")
    learn(library)
    library.accept_above(0.7)
    (first, *_) = library.write().changes
    keywords = photo_keywords(library.folder.parent / first.path)
    assert set(first.added) <= set(keywords.by_machine)
    assert not set(first.added) & set(keywords.words)


def test_the_plan_says_where_only_the_mark_of_the_machine_goes(tmp_path, topicture, monkeypatch):
    library = make_library(tmp_path / "photos")
    monkeypatch.chdir(library.folder.parent)
    learn(library)
    library.accept_above(0.7)
    (first, *_) = library.write().changes
    word = first.added[0]
    library.decide(library.folder.parent / first.path, [word], "present")
    (plan,) = library.write(dry_run=True).changes
    assert (plan.added, plan.removed, plan.confirmed, plan.unconfirmed) == ((), (), (word,), ())
    line = topicture("write", "--dry-run")[1].splitlines()[0]
    assert line == f"{first.sidecar}  {word} (no longer marked as the machine's)"
    assert library.write().changes == (plan,)
    library.undo()
    (plan,) = library.write(dry_run=True).changes
    assert (plan.confirmed, plan.unconfirmed) == ((), (word,))
    assert f"{word} (marked as the machine's)" in topicture("write", "--dry-run")[1]


def test_the_plan_says_where_only_the_place_of_a_word_changes(library, root, topicture, monkeypatch):
    monkeypatch.chdir(root)
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    with library.writing("tags") as catalog:
        catalog.words.set_parent("tiger", "animals")
    line = topicture("write", "--dry-run")[1].splitlines()[0]
    assert line.endswith("(the same words; their regions, places in the tree of tags or probabilities)")


def test_what_was_accepted_in_bulk_survives_other_programs_and_a_lost_catalog(tmp_path):
    library = make_library(tmp_path / "photos")
    learn(library)
    library.accept_above(0.7)
    changes = library.write().changes
    root = library.folder.parent
    before = library.status().accepted_here
    for change in changes:  # as another program would that changes a rating
        os.utime(root / change.sidecar)
    library.scan()
    assert library.status().accepted_here == before
    (root / changes[0].path).rename(root / "moved.jpg")
    (root / changes[0].sidecar).rename(root / "moved.jpg.xmp")
    library.scan()
    assert {tag.word for tag in library.tags(root / "moved.jpg")} >= set(changes[0].added)
    shutil.rmtree(library.folder)
    again = Library.create(root, recipe=RECIPE)
    again.scan()
    assert again.tags(root / "moved.jpg") == []  # a machine's choice is nobody's decision


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_write_that_fails_stays_pending_with_its_reason(library, root, monkeypatch, code):
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.decide(root / "trip/photo-003.jpg", ["grass"], "present")
    real = writing.write_sidecar

    def fail_once(photo, **arguments):
        if "photo-002" in str(photo):
            raise OSError(code, os.strerror(code))
        return real(photo, **arguments)

    monkeypatch.setattr(writing, "write_sidecar", fail_once)
    report = library.write()
    assert report.written == 1
    assert report.pending == (f"photo-002.jpg: {os.strerror(code)}",)
    status = library.status()
    assert status.pending_writes == 1
    assert status.troubles == report.pending
    monkeypatch.undo()
    assert library.write().written == 1
    assert library.status().troubles == ()


def test_a_keyword_that_another_program_adds_right_after_us_is_found_by_the_next_scan(
    library, root, monkeypatch
):
    real = writing.write_sidecar

    def write_and_be_followed(photo, **arguments):
        outcome = real(photo, **arguments)
        content = outcome.path.read_bytes()
        outcome.path.write_bytes(
            content.replace(b"<rdf:li>tiger</rdf:li>", b"<rdf:li>tiger</rdf:li><rdf:li>theirs</rdf:li>", 1)
        )
        return outcome

    monkeypatch.setattr(writing, "write_sidecar", write_and_be_followed)
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write()
    library.scan()
    assert {tag.word for tag in library.tags(root / "photo-002.jpg")} == {"tiger", "theirs"}


def test_a_malformed_sidecar_is_left_alone_and_told(library, root):
    put(root / "photo-002.jpg.xmp", b"<x:xmpmeta")
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    report = library.write()
    assert len(report.pending) == 1
    assert (root / "photo-002.jpg.xmp").read_bytes() == b"<x:xmpmeta"
    assert library.status().pending_writes == 1


def test_nothing_is_written_into_a_folder_that_became_a_link(library, root):
    library.decide(root / "trip/photo-003.jpg", ["tiger"], "present")
    (root / "trip").rename(root.parent / "elsewhere")
    (root / "trip").symlink_to(root.parent / "elsewhere")
    before = hashes(root.parent)
    report = library.write()
    (line,) = report.pending
    assert "outside the collection" in line or "out of the collection" in line
    assert hashes(root.parent) == before
    assert library.write(dry_run=True).pending == report.pending


def test_a_sidecar_that_is_a_link_is_refused_and_told(library, root):
    put(root.parent / "elsewhere.xmp", xmp(["theirs"]))
    (root / "photo-002.jpg.xmp").symlink_to(root.parent / "elsewhere.xmp")
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    assert "symbolic link" in library.write().pending[0]
    assert (root / "photo-002.jpg.xmp").is_symlink()
    assert (root.parent / "elsewhere.xmp").read_bytes() == xmp(["theirs"])


# --- As another user: folders that can't be written ----------------------------------------------------------------


@pytest.fixture
def read_only(topicture):
    """(photos, catalog): photos that can't be written, and a catalog elsewhere that can."""
    folder = Path(tempfile.mkdtemp(prefix="topicture-test-"))
    try:
        make_photos(folder / "photos", n=3, tagged=2)
        library = Library.create(folder / "photos", folder / "catalog", recipe=RECIPE)
        library.scan()
        topicture("write", catalog=folder / "catalog")  # whatever is imported late is imported now
        give_away(folder, *folder.rglob("*"))
        for path in (folder / "photos", *(folder / "photos").rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with without_privileges():
            yield folder / "photos", folder / "catalog"
    finally:
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(folder)


def test_decisions_about_a_read_only_collection_stay_pending_and_visible(read_only, topicture):
    photos, catalog = read_only
    assert topicture("tag", photos / "photo-000.jpg", "tiger", catalog=catalog)[0] == 0
    before = hashes(photos)
    code, out, error = topicture("write", catalog=catalog)
    assert code == 1
    assert "photo-000.jpg: Permission denied" in error
    assert "Wrote 0 sidecars, 1 still pending" in out
    code, out, _ = topicture("status", "--json", catalog=catalog)
    assert code == 1
    assert json.loads(out)["pending_writes"] == 1
    assert hashes(photos) == before
    photos.chmod(0o755)
    assert topicture("write", catalog=catalog)[0] == 0
    assert (photos / "photo-000.jpg.xmp").exists()


def test_a_catalog_in_a_read_only_collection_is_refused_with_the_remedy(read_only, topicture):
    photos, catalog = read_only
    code, _, error = topicture("init", photos, catalog=catalog)
    assert code == 2
    assert "--catalog" in error
    assert error.count("\n") == 1


# --- As other programs see it ---------------------------------------------------------------------------------------


@exiftool
def test_exiftool_reads_the_keywords_back(library, root):
    library.decide(root / "photo-002.jpg", ["tiger", "caf\u00e9"], "present")
    library.write()
    told = subprocess.run(
        ["exiftool", "-json", "-XMP-dc:Subject", root / "photo-002.jpg.xmp"], capture_output=True, check=True
    )
    assert sorted(json.loads(told.stdout)[0]["Subject"]) == ["caf\u00e9", "tiger"]
    assert jpeg(2) == (root / "photo-002.jpg").read_bytes()
