"""Lists of photos: right after everything that changes them, and cheap however many there are."""

import shutil
import sqlite3
import threading

import numpy as np
import pytest
from photo_folder import copy_library, learn, make_library

from topicture.app.verbs.browsing import columns as columns_module
from topicture.app.verbs.browsing.columns import Columns, columns_of
from topicture.app.verbs.browsing.listing import ORDERS, PhotoFilter, counts, folders, listed, photos
from topicture.app.verbs.browsing.photo import photo
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.listing import Listing


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    root = tmp_path_factory.mktemp("sample") / "photos"
    learn(make_library(root))
    return root


@pytest.fixture
def library(sample, tmp_path):
    from topicture.app.verbs.library import Library

    return Library(copy_library(sample, tmp_path / "photos") / ".topicture")


def ids(catalog, limit=1000, **wanted):
    return [each.id for each in photos(catalog, PhotoFilter(**wanted), limit=limit).photos]


def by_hand(catalog):
    """(tagged, with undecided suggestions), found one photo at a time."""
    model = catalog.suggestions.newest().id
    living = [image.image for image in catalog.files.living()]
    tagged = {i for i in living if any(tag.verdict == "present" for tag in catalog.decisions.tags_of(i))}
    return set(living), tagged, {i for i in living if catalog.suggestions.open(model, image=i)}


def check(library):
    """What the columns say is what is in the catalog."""
    with library.reading() as catalog:
        living, tagged, waiting = by_hand(catalog)
        assert set(ids(catalog)) == living
        assert set(ids(catalog, tagged=True)) == tagged
        assert set(ids(catalog, tagged=False)) == living - tagged
        assert set(ids(catalog, suggested=True)) == waiting
        assert set(ids(catalog, suggested=False)) == living - waiting
        now, status = counts(catalog), library.status()
        assert (now.photos, now.tagged) == (status.photos, status.tagged)
        assert now.open_suggestions == status.open_suggestions
        assert now.photos_with_suggestions == status.photos_with_suggestions


def test_lists_follow_everything_that_changes_them(library):
    check(library)
    with library.reading() as catalog:
        image = ids(catalog, suggested=True, tagged=False)[0]
        words = [each.word for each in photo(catalog, image).suggestions]
    for word in words:
        library.decide(image, [word], "rejected")
        check(library)
    library.decide(image, ["meadow"], "present")
    check(library)
    for _ in range(len(words) + 1):
        library.undo()
        check(library)
    library.delete_tag("rose")
    check(library)
    library.undo()
    check(library)
    root = library.folder.parent
    (root / "photo-000.jpg").unlink()
    shutil.copy(root / "photo-002.jpg", root / "photo-004.jpg")  # the picture that was there has no file now
    library.scan()
    check(library)
    library.annotate(workers=0, threshold=0.05)
    check(library)


def test_a_log_that_grew_much_is_read_whole(library, monkeypatch):
    monkeypatch.setattr(columns_module, "MANY", 3)
    check(library)
    with library.writing("test") as catalog:
        catalog.decisions.decide([Decision(i, "meadow", "present") for i in range(1, 30)], "review")
    check(library)


def test_every_order_and_page_has_the_same_photos(library):
    with library.reading() as catalog:
        paths = {image.image: image.path for image in catalog.files.living()}
        for order in ORDERS:
            whole = [each.id for each in photos(catalog, None, order, limit=1000).photos]
            assert sorted(whole) == sorted(paths)
            for descending in (False, True):
                pages = [
                    photos(catalog, None, order, descending=descending, offset=offset, limit=9)
                    for offset in range(0, 80, 9)
                ]
                together = [each.id for page in pages for each in page.photos]
                assert together == (whole[::-1] if descending else whole)
        by_path = photos(catalog, None, "path", limit=1000).photos
        assert [each.path for each in by_path] == sorted(paths.values())
        assert [(each.folder, each.photos) for each in folders(catalog)] == [("", 32), ("trip", 32)]


def test_a_photo_in_two_places_is_listed_once(library):
    root = library.folder.parent
    shutil.copy(root / "photo-010.jpg", root / "trip" / "again.jpg")
    library.scan()
    with library.reading() as catalog:
        for order in ORDERS:
            assert photos(catalog, None, order).total == 64
        image = next(each.id for each in photos(catalog).photos if each.name == "photo-010.jpg")
        assert image in ids(catalog, folder="trip")
        assert [each.path for each in listed(catalog, [image])] == ["photo-010.jpg"]


def test_folders_are_whole_names(library):
    root = library.folder.parent
    (root / "trip2").mkdir()
    shutil.move(root / "photo-002.jpg", root / "trip2" / "photo.jpg")
    library.scan()
    with library.reading() as catalog:
        assert len(ids(catalog, folder="trip")) == 32
        assert len(ids(catalog, folder="trip2")) == 1
        assert ids(catalog, folder="tri") == []


def with_pictures(catalog, rows):
    """The cache of thumbnails as far as lists read it: content, width, height, date."""
    connection = sqlite3.connect(catalog.cache / "thumbnails.sqlite")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS pictures (content BLOB PRIMARY KEY, width INTEGER, height INTEGER, taken TEXT)"
    )
    connection.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()


def test_sizes_and_dates_come_from_the_cache_of_pictures(library):
    with library.reading() as catalog:
        assert {(each.width, each.taken) for each in photos(catalog).photos} == {(None, None)}
        assert len(ids(catalog, first_day="2020-09-13", last_day="2020-09-14")) == 64  # when the files were written
        content = {image: catalog.files.content_of(image) for image in (5, 9)}
        with_pictures(catalog, [(content[5], 40, 30, "2001-02-03T04:05:06"), (content[9], 30, 40, None)])
        found = {each.id: each for each in photos(catalog).photos}
        assert (found[5].width, found[5].height, found[5].taken) == (40, 30, "2001-02-03T04:05:06")
        assert (found[9].width, found[9].height, found[9].taken) == (30, 40, None)
        assert ids(catalog, last_day="2001-02-03") == [5]
        assert ids(catalog, first_day="2001-02-04", last_day="2001-12-31") == []
        assert photos(catalog, None, "taken").photos[0].id == 5
        with_pictures(catalog, [(content[9], 30, 40, "1999-01-01T00:00:00")])
        assert [each.id for each in photos(catalog, None, "taken", limit=2).photos] == [9, 5]
        assert photo(catalog, 9).taken == "1999-01-01T00:00:00"


def test_a_damaged_cache_of_pictures_is_as_none(library):
    (library.folder / "cache" / "thumbnails.sqlite").write_bytes(b"no database at all" * 100)
    with library.reading() as catalog:
        assert photos(catalog, None, "taken").total == 64
        assert photo(catalog, 1).width is None


def test_what_cannot_be_is_refused(library):
    with library.reading() as catalog:
        for wrong in ({"order": "size"}, {"offset": -1}, {"limit": 0}, {"limit": 10**6}):
            with pytest.raises(TopictureError):
                photos(catalog, None, **wrong)
        with pytest.raises(TopictureError, match="2024-05-31"):
            photos(catalog, PhotoFilter(first_day="May"))
        with pytest.raises(DataNotFound):
            photo(catalog, 999)


def test_a_large_collection_is_counted_in_the_background(library, monkeypatch):
    monkeypatch.setattr(columns_module, "AT_ONCE", 10)
    with library.reading() as catalog:
        assert counts(catalog).open_suggestions is None
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and getattr(thread, "_target", None) is not None:
                thread.join(20)
        assert counts(catalog).open_suggestions == library.status().open_suggestions


def test_what_is_decided_while_a_column_is_made_is_in_it(library):
    """The column was read before the decision, and finished after it."""
    with library.reading() as catalog:
        columns = columns_of(catalog)
        image = ids(catalog, tagged=False)[0]
        columns._parts.pop("tagged")
        real = Listing.with_tags

        def slow(self, among=None):
            found = real(self, among)
            if among is None:
                library.decide(image, ["meadow"], "present")
                with library.reading() as other:
                    columns.refresh(other)
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Listing, "with_tags", slow)
            tagged = columns.tagged(catalog)
        assert tagged[columns.positions(np.array([image]))].all()


def test_columns_of_a_few_catalogs_are_kept(sample, tmp_path):
    for number in range(4):
        copy = copy_library(sample, tmp_path / str(number))
        with Catalog.open(copy / ".topicture") as catalog:
            assert isinstance(columns_of(catalog), Columns)
    assert len(columns_module._kept) == 2


# --- No screenful reads a whole table --------------------------------------------------------------------------------


def test_a_screenful_is_found_by_indexes(library):
    """Whatever a page asks for again and again is looked up, never scanned."""
    asked = []
    with library.reading() as catalog:
        photos(catalog, None, "added")
        counts(catalog)
        library.decide(3, ["meadow"], "present")
        catalog.database.connection.set_trace_callback(asked.append)
        photos(catalog, None, "added", offset=20, limit=30)
        photo(catalog, 3)
        counts(catalog)
        catalog.database.connection.set_trace_callback(None)
        assert len(asked) > 5
        scanned = {
            (line[3], statement)
            for statement in asked
            if statement.lstrip().upper().startswith(("SELECT", "WITH"))
            for line in catalog.database.connection.execute(f"EXPLAIN QUERY PLAN {statement}")
            if line[3].startswith("SCAN ") and not any(small in line[3] for small in SMALL)
        }
    assert scanned == set()


# Of the size of the answer, of the number of words or models, or read at one end only (max of an index).
SMALL = ("found", "json_each", "wanted", "words", "models", "VIRTUAL TABLE", "settings", "CONSTANT ROW")
