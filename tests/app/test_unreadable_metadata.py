"""Metadata that can't be read, or is not there, takes nothing away: neither from the catalog nor from a sidecar."""

import os
import pathlib
import shutil

import pytest
from decided_photos import decided, later, sidecars, state
from photo_folder import copy_library, hashes, jpeg, make_library, put, xmp

from topicture.app.verbs import scanning
from topicture.collection.metadata.xmp import MAX_XMP
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

DTD = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>'


def cut(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def grow(path):
    os.truncate(path, MAX_XMP + 1)  # a sparse file


def make_deep(path):
    path.write_bytes(b"<a>" * 2000 + b"</a>" * 2000)


def make_link(path):
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def make_folder(path):
    path.unlink()
    path.mkdir()


SPOILED = {
    "half-written": cut,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(b"\0" * 4096),
    "malformed": lambda path: path.write_bytes(path.read_bytes().replace(b"</rdf:RDF>", b"</rdf:RDX>")),
    "DTD added": lambda path: path.write_bytes(DTD + path.read_bytes()),
    "too large": grow,
    "too deep": make_deep,
    "not XMP": lambda path: path.write_bytes(b"<html>Please sign in to your cloud</html>"),
    "a link": make_link,
    "a folder": make_folder,
}


@pytest.fixture
def library(tmp_path):
    return decided(tmp_path / "photos")


@pytest.fixture
def root(library):
    return library.folder.parent


@pytest.fixture
def keep(root, tmp_path):
    """Put the collection back as it was, catalog apart."""
    shutil.copytree(root, tmp_path / "kept", ignore=shutil.ignore_patterns(".topicture"))

    def put_back():
        for path in sorted(root.rglob("*"), reverse=True):
            if ".topicture" not in path.parts:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(tmp_path / "kept", root, dirs_exist_ok=True)

    return put_back


def assert_nothing_is_lost(library, root, before, *, written=0):
    """Scanned and written, again and again: all verdicts stand, and no sidecar is touched."""
    found = sidecars(root)
    for _ in range(2):
        report = library.scan()
        assert (report.withdrawn, report.conflicts, report.withheld) == (0, (), ())
        assert state(library) == before
    assert library.write(regions=False).written == written
    assert {name: value for name, value in sidecars(root).items() if name in found} == found
    library.scan()
    assert state(library) == before


@pytest.mark.parametrize("way", SPOILED)
def test_a_sidecar_that_cant_be_read_for_a_moment(library, root, keep, way):
    before, whole = state(library), hashes(root)
    paths = sorted(root.rglob("*.xmp"))
    for path in paths:
        SPOILED[way](path)
        os.utime(path, follow_symlinks=False)
    assert len(library.scan().skipped) >= len(paths)
    assert_nothing_is_lost(library, root, before)
    assert len(library.scan().skipped) >= len(paths)  # and the reason is told as long as it is true
    keep()
    assert_nothing_is_lost(library, root, before)
    assert hashes(root) == whole
    assert library.scan().skipped == ()


def test_a_sidecar_without_permission(library, root, monkeypatch):
    before = state(library)
    real = pathlib.Path.read_bytes

    def refuse(path):
        if path.suffix == ".xmp":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(pathlib.Path, "read_bytes", refuse)
    for path in root.rglob("*.xmp"):
        later(path)
    assert "Permission denied" in library.scan().skipped[0]
    assert state(library) == before
    library.write(regions=False)
    monkeypatch.undo()
    assert library.scan().changed > 0  # though nothing but the permission has changed, they are read again
    assert_nothing_is_lost(library, root, before)


def test_sidecars_moved_away_and_back(library, root, keep):
    before, whole = state(library), hashes(root)
    n = len(sidecars(root))
    for path in root.rglob("*.xmp"):
        path.unlink()
    report = library.scan()
    assert (report.missing_sidecars, library.status().missing_sidecars) == (n, n)
    assert state(library) == before
    keep()
    assert_nothing_is_lost(library, root, before)
    assert library.status().missing_sidecars == 0
    assert hashes(root) == whole


def test_sidecars_that_are_gone_are_written_again_and_what_others_wrote_is_not_forgotten(library, root, keep):
    before, whole = state(library), hashes(root)
    n = len(sidecars(root))
    for path in root.rglob("*.xmp"):
        path.unlink()
    library.scan()
    assert_nothing_is_lost(library, root, before, written=n)
    for path in root.rglob("*.xmp"):  # read again, they lack the keywords that others had written
        later(path)
    assert_nothing_is_lost(library, root, before)
    assert library.status().missing_sidecars == 0
    keep()
    assert_nothing_is_lost(library, root, before)
    assert hashes(root) == whole


def test_photos_restored_before_their_sidecars(library, root, keep):
    before = state(library)
    for path in root.rglob("*.xmp"):
        path.unlink()
    for path in root.rglob("*.jpg"):
        later(path)
    library.scan()
    assert state(library) == before
    keep()
    assert_nothing_is_lost(library, root, before)


def test_a_sidecar_of_another_name_is_not_the_one_that_is_gone(library, root):
    before = state(library)
    own = root / "photo-002.jpg.xmp"
    put(root / "photo-002.xmp", xmp(["raw"]))
    content = own.read_bytes()
    own.unlink()
    library.scan()
    put(root / "photo-002.xmp", xmp(["raw", "file"]))
    later(root / "photo-002.xmp")
    library.scan()
    assert set(before[0]) <= set(state(library)[0])
    own.write_bytes(content)
    library.scan()
    assert set(before[0]) <= set(state(library)[0])
    assert library.conflicts() == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.replace(b"</rdf:RDF>", b"</rdf:RDX>"),
        lambda content: b"",
        lambda content: content[:50],
        lambda content: content[: len(content) // 2],
        lambda content: b"This photo is online only." * 40,
    ],
    ids=["metadata", "empty", "header cut", "picture cut", "placeholder"],
)
def test_a_photo_that_cant_be_read_for_a_moment(library, root, keep, spoil):
    before, whole = state(library), sidecars(root)
    for path in root.rglob("*.jpg"):
        later(put(path, spoil(path.read_bytes())))
    library.scan()
    library.write(regions=False)
    assert set(before[0]) <= set(state(library)[0])
    assert sidecars(root) == whole
    keep()
    library.scan()
    library.write(regions=False)
    # What was known of the damaged pictures is remembered, but belongs to no file.
    assert set(before[0]) <= set(state(library)[0])
    assert sidecars(root) == whole
    for path in root.rglob("*.jpg"):
        assert library.tags(path)


def test_a_rejected_keyword_stays_rejected_when_its_photo_was_damaged_for_a_moment(library, root, keep):
    def verdict():
        return {tag.word: tag.verdict for tag in library.tags(root / "photo-000.jpg")}["rose"]

    assert verdict() == "rejected"
    content = (root / "photo-000.jpg").read_bytes()
    later(put(root / "photo-000.jpg", content[: len(content) // 2]))
    library.scan()
    keep()
    library.scan()
    assert verdict() == "rejected"
    assert library.conflicts() == []


def test_empty_files_are_not_the_same_photo(library, root):
    for number in (0, 2, 4):
        put(root / f"photo-{number:03d}.jpg", b"")
    report = library.scan()
    assert sum("an empty file" in line for line in report.skipped) == 3
    assert {len(library.tags(root / f"photo-{number:03d}.jpg")) for number in (0, 2, 4)} != {0}
    assert library.write(regions=False).written == 0


# --- Whole libraries --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """60 photos with 314 accepted tags, written into sidecars."""
    library = make_library(tmp_path_factory.mktemp("large") / "photos", n=60, tagged=0)
    with Catalog.open(library.folder, write=True) as catalog:
        images = [catalog.files.at(path).image for path in sorted(catalog.files.known())]
        decisions = [
            Decision(image, f"word-{number}", "present", 1, 0.9)
            for i, image in enumerate(images)
            for number in range(6 if i < 14 else 5)
        ]
        assert catalog.decisions.decide(decisions, "review") == 314
    library.write(regions=False)
    return library


@pytest.fixture
def large_copy(large, tmp_path):
    copy_library(large.folder.parent, tmp_path / "photos")
    return type(large)(tmp_path / "photos" / ".topicture")


@pytest.mark.parametrize("spoil", [cut, os.unlink], ids=["half-written", "deleted"])
def test_no_tag_of_a_library_is_lost_with_its_sidecars(large_copy, spoil, topicture):
    root = large_copy.folder.parent
    before, whole = state(large_copy), {path: path.read_bytes() for path in root.rglob("*.xmp")}
    assert (len(whole), len(before[0])) == (60, 314)
    for path in whole:
        spoil(path)
    left = sidecars(root)
    code, out, _ = topicture("scan", catalog=root)
    assert "news" not in out
    if spoil is os.unlink:
        assert "60 sidecars that Topicture wrote are missing; 'topicture write' writes them again." in out
    else:
        assert code == 1
    large_copy.write(regions=False)
    assert {name: value for name, value in sidecars(root).items() if name in left} == left
    assert state(large_copy) == before
    for path, content in whole.items():
        path.write_bytes(content)
    large_copy.scan()
    assert state(large_copy) == before
    assert large_copy.write(regions=False).written == 0
    assert {path: path.read_bytes() for path in root.rglob("*.xmp")} == whole


# --- One bad file never stops a scan ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [MemoryError, ValueError, RecursionError, KeyError, UnicodeError, AssertionError]
)
@pytest.mark.parametrize("place", ["picture_id", "photo_keywords"])
def test_one_bad_file_never_stops_a_scan(library, root, monkeypatch, error, place):
    before = state(library)
    real = getattr(scanning, place)

    def fail(path, *more):
        if path.name == "bad.jpg":
            raise error("all wrong\nhere")
        return real(path, *more)

    monkeypatch.setattr(scanning, place, fail)
    put(root / "bad.jpg", jpeg(70))
    put(root / "good.jpg", jpeg(71, ["sea"]))
    report = library.scan()
    assert report.new == 1
    assert len(report.skipped) == 1
    assert report.skipped[0].startswith("bad.jpg: can't be read (")
    assert "\n" not in report.skipped[0]
    monkeypatch.undo()
    assert library.scan().new == 1
    assert set(before[0]) < set(state(library)[0])
