"""A catalog that turns up elsewhere: the whole collection has moved, or somebody must say what it is for."""

import os
import shutil
from pathlib import Path

import pytest

from topicture.store import Catalog, CatalogError


@pytest.fixture
def photos(tmp_path):
    """A collection of six files that its catalog knows."""
    root = tmp_path / "photos"
    (root / "trip").mkdir(parents=True)
    with Catalog.create(root) as catalog, catalog.database.transaction():
        for number in range(6):
            path = f"trip/{number}.jpg"
            (root / path).write_bytes(b"x" * (number + 1))
            catalog.files.put(path, bytes([number]) * 32, number + 1, 0, "")
    return root


def forget_home(root):
    """As a version left it that did not note where the photos were."""
    with Catalog.open(root / ".topicture", write=True) as catalog:
        catalog.database.execute("DELETE FROM settings WHERE key IN ('home', 'id')")


def test_a_collection_that_moved_as_a_whole_is_accepted_and_noted(photos, tmp_path):
    moved = photos.rename(tmp_path / "moved")
    with Catalog.open(moved / ".topicture") as catalog:
        assert (catalog.root, catalog.moved_from) == (moved, photos)
    Catalog.open(moved / ".topicture", write=True).close()
    with Catalog.open(moved / ".topicture") as catalog:
        assert (catalog.root, catalog.moved_from) == (moved, None)


def test_a_few_edited_or_deleted_photos_do_not_stand_in_the_way(photos, tmp_path):
    moved = photos.rename(tmp_path / "moved")
    (moved / "trip" / "0.jpg").unlink()
    (moved / "trip" / "1.jpg").write_bytes(b"edited")
    with Catalog.open(moved / ".topicture") as catalog:
        assert catalog.root == moved


@pytest.mark.parametrize("write", [True, False])
def test_a_copy_is_refused_while_the_original_is_there(photos, tmp_path, write):
    copy = shutil.copytree(photos, tmp_path / "my copy")
    with pytest.raises(
        CatalogError, match=r"a copy of the catalog in .*: topicture scan .* --root '"
    ) as refused:
        Catalog.open(copy / ".topicture", write=write)
    assert str(photos) in str(refused.value)
    assert "\n" not in str(refused.value)
    Catalog.open(photos / ".topicture", write=True).close()


@pytest.mark.parametrize("is_old", [True, False])
def test_a_catalog_without_its_photos_does_not_take_over_others(photos, tmp_path, is_old):
    if is_old:
        forget_home(photos)
    other = tmp_path / "other" / "trip"
    other.mkdir(parents=True)
    for number in range(6):
        (other / f"{number}.jpg").write_bytes(b"somebody else's photo")
    shutil.move(photos / ".topicture", tmp_path / "other" / ".topicture")
    with pytest.raises(CatalogError, match=r"its photos are not here .* --root "):
        Catalog.open(tmp_path / "other" / ".topicture")


def test_the_user_may_say_that_the_photos_of_a_copy_are_its_own(photos, tmp_path):
    copy = shutil.copytree(photos, tmp_path / "copy")
    Catalog.open(copy / ".topicture", write=True, root=copy).close()
    for root in (photos, copy):
        with Catalog.open(root / ".topicture") as catalog:
            assert (catalog.root, catalog.moved_from) == (root, None)


def test_the_user_may_say_where_the_photos_of_a_catalog_outside_are(photos, tmp_path):
    with Catalog.create(photos, tmp_path / "catalog") as catalog:
        assert catalog.root == photos
    moved = photos.rename(tmp_path / "moved")
    Catalog.open(tmp_path / "catalog", write=True, root=moved).close()
    with Catalog.open(tmp_path / "catalog") as catalog:
        assert catalog.root == moved
    with pytest.raises(CatalogError, match="not a folder of photos"):
        Catalog.open(tmp_path / "catalog", write=True, root=tmp_path / "nothing")


def test_another_path_to_the_same_folder_is_no_copy(photos, tmp_path):
    (tmp_path / "alias").symlink_to(tmp_path)
    with Catalog.open(photos / ".topicture", write=True) as catalog:
        catalog.set("home", str(tmp_path / "alias" / "photos"))
    with Catalog.open(photos / ".topicture") as catalog:
        assert (catalog.root, catalog.moved_from) == (photos, None)


def test_a_catalog_of_the_version_before_opens_and_notes_its_home(photos, tmp_path):
    forget_home(photos)
    with Catalog.open(photos / ".topicture") as catalog:
        assert catalog.root == photos
    Catalog.open(photos / ".topicture", write=True).close()
    moved = photos.rename(tmp_path / "moved")
    with Catalog.open(moved / ".topicture") as catalog:
        assert catalog.moved_from == photos


# --- Places -------------------------------------------------------------------------------------------------------

BAD = [
    b"../outside.jpg",
    b"a/../../outside.jpg",
    b"/etc/outside.jpg",
    b"a//b.jpg",
    b"./a.jpg",
    b"a\0b.jpg",
    b"",
    "a.jpg",
]


@pytest.mark.parametrize("path", BAD)
def test_places_outside_the_collection_are_rejected_on_reading(photos, path):
    with Catalog.open(photos / ".topicture", write=True) as catalog:
        catalog.database.execute("UPDATE places SET path = ? WHERE path = ?", (path, b"trip/0.jpg"))
        image = catalog.files.image_of(bytes(32))
        for read in (
            catalog.files.known,
            catalog.files.living,
            lambda: catalog.files.paths_of(image),
            lambda: catalog.files.first_paths([image]),
        ):
            with pytest.raises(CatalogError, match="tampered") as refused:
                read()
            assert "\n" not in str(refused.value)


@pytest.mark.parametrize("path", [os.fsdecode(path) for path in BAD if isinstance(path, bytes)])
def test_places_outside_the_collection_are_rejected_before_writing(photos, path):
    with Catalog.open(photos / ".topicture") as catalog, pytest.raises(CatalogError):
        catalog.file_of(path)


def test_a_folder_that_became_a_link_is_not_written_to(photos, tmp_path):
    shutil.move(photos / "trip", tmp_path / "trip")
    (photos / "trip").symlink_to(tmp_path / "trip")
    with Catalog.open(photos / ".topicture") as catalog:
        with pytest.raises(CatalogError, match="leads out of the collection"):
            catalog.file_of("trip/0.jpg")
        (photos / "trip").unlink()
        (photos / "days").mkdir()
        (photos / "trip").symlink_to(Path("days"))
        assert catalog.file_of("trip/0.jpg") == photos / "trip" / "0.jpg"
