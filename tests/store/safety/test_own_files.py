"""What belongs to a catalog and what does not: nothing of anybody else's is emptied, overwritten or deleted."""

import os
import shutil
import stat

import pytest

from topicture.store import Catalog, CatalogError
from topicture.store.safety.own_files import MARK

PHOTO = b"\xff\xd8 a photo that somebody loves"


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def make(catalog, kind):
    with catalog.new_folder(kind) as (name, folder):
        (folder / "content").write_text("x")
    return name


# --- Folders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["models", "index"])
def test_folders_of_somebody_else_are_left_alone(photos, kind):
    with Catalog.create(photos) as catalog:
        theirs = catalog.folder / kind / "0001"
        theirs.mkdir(parents=True)
        (theirs / "photo.jpg").write_bytes(PHOTO)
        (catalog.folder / kind / "holiday").mkdir()
        assert make(catalog, kind) == "0002"
        assert make(catalog, kind) == "0002"  # the former one was ours, and nothing refers to it
        assert (theirs / "photo.jpg").read_bytes() == PHOTO
        assert (catalog.folder / kind / "holiday").is_dir()


def test_the_mark_of_another_catalog_gives_no_right(photos):
    with Catalog.create(photos) as catalog:
        theirs = catalog.folder / "models" / "0001"
        theirs.mkdir(parents=True)
        (theirs / MARK).write_text("0123456789abcdef0123456789abcdef")
        make(catalog, "models")
        assert theirs.is_dir()


def test_a_link_with_our_mark_behind_it_is_not_followed(photos, tmp_path):
    with Catalog.create(photos) as catalog:
        name = make(catalog, "index")
        (catalog.folder / "index" / name).rename(tmp_path / "elsewhere")
        (catalog.folder / "index" / name).symlink_to(tmp_path / "elsewhere")
        make(catalog, "index")
        assert (tmp_path / "elsewhere" / "content").exists()


def test_folders_that_are_in_use_stay_whatever_their_mark(photos):
    with Catalog.create(photos) as catalog:
        catalog.set("index", make(catalog, "index"))
        old = catalog.folder / "models" / "0001"  # of a version that did not mark its folders
        old.mkdir(parents=True)
        catalog.suggestions.add_model("0001", "lsa", 1, {})
        assert make(catalog, "index") == "0002"
        assert make(catalog, "models") == "0002"
        assert catalog.index_folder().is_dir()
        assert old.is_dir()


def test_a_folder_that_could_not_be_filled_leaves_nothing(photos):
    def fill(catalog):
        with catalog.new_folder("models") as (_, folder):
            (folder / "half").write_text("x")
            raise OSError(28, "No space left on device")

    with Catalog.create(photos) as catalog:
        with pytest.raises(OSError, match="No space"):
            fill(catalog)
        assert list((catalog.folder / "models").iterdir()) == []


@pytest.mark.parametrize("content", ["models/0001/mine.txt", "index/0001/mine.txt", "photo.jpg"])
def test_a_catalog_needs_a_folder_of_its_own(photos, tmp_path, content):
    path = tmp_path / "mine" / content
    path.parent.mkdir(parents=True)
    path.write_bytes(PHOTO)
    with pytest.raises(CatalogError, match="a catalog needs a new or an empty folder"):
        Catalog.create(photos, tmp_path / "mine")
    assert path.read_bytes() == PHOTO
    assert [p for p in (tmp_path / "mine").rglob("*") if p.is_file()] == [path]


@pytest.mark.parametrize("name", ["../../photos", "..", "/etc", 7, ["0001"], "0001/../.."])
def test_names_of_folders_lead_nowhere_else(photos, name):
    with Catalog.create(photos) as catalog:
        catalog.set("index", name)
        with pytest.raises(CatalogError, match="tampered"):
            catalog.index_folder()


# --- Links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(
    "name",
    ["lock", "catalog.sqlite", "catalog.sqlite-wal", "cache/features-v1.sqlite", "cache", "models", "index"],
)
def test_links_in_a_catalog_are_refused(photos, tmp_path, name, write):
    Catalog.create(photos).close()
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    path = photos / ".topicture" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(photo)
    with pytest.raises(CatalogError, match="a link") as refused:
        Catalog.open(photos / ".topicture", write=write)
    assert "\n" not in str(refused.value)
    assert photo.read_bytes() == PHOTO


def test_a_link_named_lock_does_not_empty_what_it_points_to_when_a_catalog_is_made(photos, tmp_path):
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    (photos / ".topicture").mkdir()
    (photos / ".topicture" / "lock").symlink_to(photo)
    with pytest.raises(CatalogError, match="a link"):
        Catalog.create(photos)
    assert photo.read_bytes() == PHOTO


def test_a_second_name_of_a_photo_is_no_lock(photos, tmp_path):
    Catalog.create(photos).close()
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    lock = photos / ".topicture" / "lock"
    lock.unlink()
    os.link(photo, lock)
    with pytest.raises(CatalogError, match="not a lock"):
        Catalog.open(photos / ".topicture", write=True)
    assert photo.read_bytes() == PHOTO


@pytest.mark.parametrize("content", [PHOTO, b"x" * 10_000, b'{"my": "notes"}'])
def test_a_file_named_lock_is_not_emptied(photos, content):
    Catalog.create(photos).close()
    lock = photos / ".topicture" / "lock"
    lock.write_bytes(content)
    with pytest.raises(CatalogError, match="not a lock"):
        Catalog.open(photos / ".topicture", write=True)
    assert lock.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"\0" * 80, b'{"command": "scan", "pi'])
def test_what_a_crash_leaves_in_a_lock_is_no_obstacle(photos, content):
    Catalog.create(photos).close()
    (photos / ".topicture" / "lock").write_bytes(content)
    Catalog.open(photos / ".topicture", write=True).close()


def test_a_pipe_named_lock_does_not_keep_us_waiting(photos):
    Catalog.create(photos).close()
    lock = photos / ".topicture" / "lock"
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(CatalogError, match="something else"):
        Catalog.open(photos / ".topicture", write=True)
    assert stat.S_ISFIFO(lock.stat().st_mode)


def test_a_catalog_that_is_a_link_is_refused(photos, tmp_path):
    Catalog.create(photos).close()
    other = tmp_path / "other"
    other.mkdir()
    (other / ".topicture").symlink_to(photos / ".topicture")
    for write in (True, False):
        with pytest.raises(CatalogError, match=r"a link to .*name that folder itself"):
            Catalog.open(other / ".topicture", write=write)
    shutil.rmtree(photos / ".topicture")
    with pytest.raises(CatalogError, match="a link to"):
        Catalog.create(other)
    assert not (photos / ".topicture").exists()
