"""Which catalog a command finds by itself, and what a copied, tampered or foreign one may do."""

import os
import shutil
from pathlib import Path

import pytest
from photo_folder import hashes, make_library
from privileges import NOBODY

from topicture.app.verbs import finding
from topicture.app.verbs.library import Library
from topicture.store import Catalog, CatalogError
from topicture.store.decisions.decisions import Decision


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=4, tagged=2)


@pytest.fixture
def root(library):
    return library.folder.parent


# --- Other owners -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are numbers only on Unix")
@pytest.mark.parametrize("name", [".topicture", ".topicture/catalog.sqlite"])
def test_a_catalog_of_somebody_else_is_not_adopted(root, monkeypatch, name):
    lstat = os.lstat

    def of_nobody(path, **options):
        found = lstat(path, **options)
        if Path(path) != root / name:
            return found
        return os.stat_result((*found[:4], NOBODY, *found[5:10]))

    monkeypatch.setattr(finding.os, "lstat", of_nobody)
    with pytest.raises(CatalogError, match=r"belongs to somebody else.*--catalog"):
        Library.find(root / "trip")
    assert Library.find(catalog=root).status().files == 4  # named, it is used


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are numbers only on Unix")
def test_with_sudo_the_catalog_of_the_caller_is_found(root, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(finding.os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(owner))
    assert Library.find(root).folder == root / ".topicture"


def test_the_search_ends_with_the_file_system(root, monkeypatch):
    stat = os.stat

    def on_another_disk(path, **options):
        found = stat(path, **options)
        return os.stat_result((*found[:2], found[2] + 1, *found[3:10])) if Path(path) == root else found

    monkeypatch.setattr(finding.os, "stat", on_another_disk)
    with pytest.raises(CatalogError, match="not searched beyond the file system"):
        Library.find(root / "trip")


def test_a_catalog_found_here_is_about_photos_here(root, tmp_path):
    """One that came with somebody's folder, say in an archive, can't turn us to photos elsewhere."""
    theirs = tmp_path / "downloaded"
    theirs.mkdir()
    with Catalog.create(root, theirs / ".topicture") as catalog:
        assert catalog.root == root
    with pytest.raises(CatalogError, match="not of those here; name it with --catalog"):
        Library.find(theirs).status()
    assert Library.find(catalog=theirs).status().root == str(root)


# --- Copies -------------------------------------------------------------------------------------------------------


def test_commands_on_a_copy_are_refused_with_a_way_out(root, tmp_path, monkeypatch, topicture):
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    before = hashes(copy)
    monkeypatch.chdir(copy)
    for command in (["scan"], ["status"], ["write"], ["tag", "photo-000.jpg", "tiger"]):
        code, _, err = topicture(*command)
        assert code == 2
        assert "a copy of the catalog" in err
        assert err.count("\n") == 1
    assert hashes(copy) == before
    code, out, _ = topicture("scan", "--root", ".")
    assert code == 0
    assert "gone" not in out or "0 gone" in out
    assert topicture("status")[0] == 0


def test_a_catalog_among_foreign_photos_writes_nothing(root, library, tmp_path, monkeypatch, topicture):
    library.decide(root / "photo-000.jpg", ["tiger"], "present")
    other = tmp_path / "other"
    for path in root.rglob("*.jpg"):
        (other / path.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
        (other / path.relative_to(root)).write_bytes(b"a photo of somebody else")
    shutil.move(root / ".topicture", other / ".topicture")
    before = hashes(other)
    monkeypatch.chdir(other)
    for command in ("scan", "write"):
        code, _, err = topicture(command)
        assert code == 2
        assert "its photos are not here" in err
    assert hashes(other) == before


def test_a_collection_that_moved_as_a_whole_says_so_once(root, tmp_path, monkeypatch, topicture):
    root.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    code, _, err = topicture("scan")
    assert code == 0
    assert f"The collection was moved here from {root}." in err
    assert "moved here" not in topicture("scan")[2]


# --- Tampered places ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["../outside.jpg", "{}/outside.jpg", "trip/../../outside.jpg"])
def test_nothing_is_written_outside_the_collection(root, library, tmp_path, place):
    shutil.copy(root / "photo-000.jpg", tmp_path / "outside.jpg")
    path = os.fsencode(place.format(tmp_path))
    with Catalog.open(library.folder, write=True) as catalog:
        image = catalog.files.at("photo-000.jpg").image
        catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
        catalog.database.execute("PRAGMA foreign_keys = OFF")
        catalog.database.execute("UPDATE places SET path = ? WHERE path = ?", (path, b"photo-000.jpg"))
    with pytest.raises(CatalogError, match="tampered"):
        library.write()
    assert not (tmp_path / "outside.jpg.xmp").exists()
    assert not (tmp_path / "outside.xmp").exists()


def test_a_folder_that_became_a_link_out_of_the_collection_stays_pending(root, library, tmp_path):
    library.decide(root / "trip" / "photo-001.jpg", ["tiger"], "present")
    shutil.move(root / "trip", tmp_path / "elsewhere")
    (root / "trip").symlink_to(tmp_path / "elsewhere")
    before = hashes(tmp_path / "elsewhere")
    report = library.write()
    assert len(report.pending) == 1
    assert "leads out of the collection" in report.pending[0]
    assert hashes(tmp_path / "elsewhere") == before
