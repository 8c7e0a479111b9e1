"""A word that was decided here and that another program took out, or put in, is for a person to settle."""

import json
import shutil
import subprocess

import pytest
from decided_photos import later, sidecars, state
from photo_folder import jpeg, make_library, put, xmp

from topicture.collection.metadata.keywords import photo_keywords
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
SIDECAR = "photo-002.jpg.xmp"


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=4, tagged=2)


@pytest.fixture
def root(library):
    return library.folder.parent


def tags(library, name):
    return {tag.word: (tag.verdict, tag.source) for tag in library.tags(name)}


def accept(library, name, word, source="review", probability=None):
    with Catalog.open(library.folder, write=True) as catalog:
        image = catalog.files.at(name).image
        catalog.decisions.decide([Decision(image, word, "present", 1, probability)], source)


@pytest.fixture
def conflict(library, root):
    """Somebody accepted `tiger`, it was written, and another program took it out."""
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    library.write(regions=False)
    written = (root / SIDECAR).read_bytes()
    later(put(root / SIDECAR, xmp(["grass"])))
    return written


@pytest.mark.parametrize("source", ["review", "bulk", "import"])
def test_a_decision_outlives_its_keyword(library, root, source):
    accept(library, "photo-002.jpg", "tiger", source, 0.75)
    accept(library, "trip/photo-003.jpg", "tiger", source, 0.75)
    library.write(regions=False)
    put(root / SIDECAR, xmp(["grass"]))
    report = library.scan()
    assert report.conflicts == ("photo-002.jpg: tiger (removed by another program)",)
    assert tags(library, root / "photo-002.jpg")["tiger"] == ("present", source)
    assert library.status().conflicts == 1
    before = sidecars(root)
    assert library.write(regions=False).files == 0  # neither put back nor taken out elsewhere
    assert sidecars(root) == before


def test_another_new_word_does_not_bring_the_removed_one_along(library, root, conflict):
    library.scan()
    library.decide(root / "photo-002.jpg", ["night"], "present")
    library.write(regions=False)
    assert set(photo_keywords(root / "photo-002.jpg").words) == {"grass", "night"}
    assert len(library.conflicts()) == 1


def test_it_is_found_once_and_stays_until_it_is_settled(library, root, conflict):
    assert len(library.scan().conflicts) == 1
    later(root / SIDECAR, 20)
    assert library.scan().conflicts == ()
    assert len(library.conflicts()) == 1


def test_a_moved_photo_takes_its_conflict_along(library, root, conflict):
    library.scan()
    for name in ("photo-002.jpg", SIDECAR):
        (root / name).rename(root / name.replace("photo-002", "moved"))
    library.scan()
    assert [c.path for c in library.conflicts()] == ["moved.jpg"]
    assert library.write(regions=False).files == 0
    library.resolve(keep=True)
    library.write(regions=False)
    assert set(photo_keywords(root / "moved.jpg").words) == {"grass", "tiger"}


def test_a_word_that_returns_ends_the_conflict_as_if_nothing_had_been(library, root, conflict):
    before = state(library)
    library.scan()
    later(put(root / SIDECAR, conflict), 30)
    library.scan()
    assert library.conflicts() == []
    assert state(library) == before
    assert library.write(regions=False).files == 0
    library.decide(root / "photo-002.jpg", ["tiger"], "rejected")  # it is still ours to take out
    assert library.write(regions=False).changes[0].removed == ("tiger",)


def test_keeping_puts_the_word_back(library, root, conflict):
    library.scan()
    assert [settled.word for settled in library.resolve(keep=True)] == ["tiger"]
    assert library.status().conflicts == 0
    assert library.write(regions=False).changes[0].added == ("tiger",)
    assert set(photo_keywords(root / "photo-002.jpg").words) == {"grass", "tiger"}


def test_following_takes_the_decision_back_and_undo_brings_both(library, root, conflict):
    library.scan()
    before = state(library)
    library.resolve(keep=False)
    assert tags(library, root / "photo-002.jpg")["tiger"] == ("rejected", "review")
    assert library.write(regions=False).files == 0
    undone = library.undo()
    assert (undone.source, len(undone.decisions), undone.reopened) == ("conflict", 1, 1)
    assert state(library) == before
    assert len(library.conflicts()) == 1


def test_keeping_can_be_undone(library, root, conflict):
    library.scan()
    library.resolve(keep=True)
    assert library.undo().reopened == 1
    assert len(library.conflicts()) == 1
    assert library.write(regions=False).files == 0


def test_saying_it_again_is_an_answer(library, root, conflict):
    library.scan()
    library.decide(root / "photo-002.jpg", ["tiger"], "present")
    assert library.conflicts() == []
    assert library.write(regions=False).written == 1


def test_a_rejected_word_that_is_put_in_is_a_conflict_too(library, root):
    library.decide(root / "photo-002.jpg", ["tiger"], "rejected")
    put(root / SIDECAR, xmp(["tiger"]))
    assert library.scan().conflicts == ("photo-002.jpg: tiger (added by another program)",)
    assert tags(library, root / "photo-002.jpg")["tiger"] == ("rejected", "review")
    library.resolve(keep=False)
    assert tags(library, root / "photo-002.jpg")["tiger"] == ("present", "review")
    library.undo()
    later(put(root / SIDECAR, xmp(["sea"])))
    library.scan()
    assert library.conflicts() == []  # it was taken out again


def test_a_keyword_of_the_file_that_somebody_confirmed_is_theirs(library, root):
    library.decide(root / "photo-000.jpg", ["rose"], "present")
    later(put(root / "photo-000.jpg", jpeg(0)))
    library.scan()
    assert tags(library, root / "photo-000.jpg") == {"rose": ("present", "review")}
    assert [c.word for c in library.conflicts()] == ["rose"]


def test_a_copy_that_still_has_the_word_settles_nothing(library, root):
    put(root / "copy.jpg", (root / "photo-002.jpg").read_bytes())
    library.scan()
    library.decide(root / "copy.jpg", ["tiger"], "present")
    library.write(regions=False)
    later(put(root / SIDECAR, xmp(["grass"])))
    library.scan()
    later(root / "copy.jpg.xmp")
    library.scan()
    assert [(c.path, c.word) for c in library.conflicts()] == [("photo-002.jpg", "tiger")]
    assert library.write(regions=False).files == 0


def test_only_some_are_settled(library, root, topicture):
    for name in ("photo-002.jpg", "trip/photo-003.jpg"):
        library.decide(root / name, ["tiger", "night"], "present")
    library.write(regions=False)
    for path in root.rglob("*.xmp"):
        later(put(path, xmp(["grass"])))
    library.scan()
    library.resolve([root / "photo-002.jpg"], keep=True)
    assert {c.path for c in library.conflicts()} == {"trip/photo-003.jpg"}
    library.resolve(tag="tiger", keep=False)
    assert [(c.path, c.word) for c in library.conflicts()] == [("trip/photo-003.jpg", "night")]


# --- As a person sees it ----------------------------------------------------------------------------------------------


@exiftool
def test_by_the_commands_with_a_real_removal(library, root, topicture):
    topicture("tag", root / "photo-002.jpg", "tiger", "night", catalog=root)
    topicture("write", "--no-regions")
    for field in ("XMP-dc:Subject", "XMP-lr:HierarchicalSubject", "XMP-digiKam:TagsList"):
        subprocess.run(
            ["exiftool", "-q", "-overwrite_original", f"-{field}-=tiger", root / SIDECAR],
            check=True,
            capture_output=True,
        )
    code, out, error = topicture("scan")
    assert code == 1
    assert "1 conflict with other programs (see 'topicture conflicts')." in out
    assert "photo-002.jpg: tiger (removed by another program)" in error
    code, out, _ = topicture("status")
    assert code == 1
    assert "1 conflict with other programs" in out
    _, out, _ = topicture("conflicts")
    assert "photo-002.jpg  tiger  accepted here (review), removed by another program" in out
    assert json.loads(topicture("conflicts", "--json")[1])[0]["word"] == "tiger"
    assert "Wrote 0 sidecars" in topicture("write", "--no-regions")[1]
    code, out, _ = topicture("conflicts", "--follow", "--tag", "tiger")
    assert (code, out.splitlines()[0]) == (0, "Settled 1 conflict as the other program did.")
    assert topicture("undo")[1].startswith(
        "Undid 1 decision (conflict): tiger; 1 answer to conflicts (open again)"
    )
    code, out, _ = topicture("conflicts", root / "photo-002.jpg", "--keep")
    assert out.startswith("Settled 1 conflict as decided here")
    assert "1 sidecar" in topicture("write", "--no-regions")[1]
    assert set(photo_keywords(root / "photo-002.jpg").words) == {"tiger", "night"}
    assert topicture("status")[0] == 0
    assert topicture("conflicts")[1] == "No conflicts.\n"


def test_keep_and_follow_exclude_each_other(library, root, topicture):
    code, _, error = topicture("conflicts", "--keep", "--follow", catalog=root)
    assert code == 2
    assert "choose one of" in error
