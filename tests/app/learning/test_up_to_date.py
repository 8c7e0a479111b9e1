"""annotate looks only at what is new or was decided about, and comes to the same as if it had looked at everything."""

import pytest
from photo_folder import copy_library, jpeg, learn, make_library, put

from topicture.app.verbs.library import Library
from topicture.store import Catalog


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"), n=32, tagged=24)
    learn(library)
    return library.folder.parent


@pytest.fixture
def library(learned, tmp_path):
    copy_library(learned, tmp_path / "photos")
    library = Library.find(tmp_path / "photos")
    library.annotate(again=True, workers=0)
    return library


def stored(library):
    with Catalog.open(library.folder) as catalog:
        model = catalog.suggestions.newest().id
        rows = catalog.database.execute(
            "SELECT image, word, probability FROM suggestions WHERE model = ? ORDER BY image, word", (model,)
        ).fetchall()
        return rows, catalog.index_images().tolist()


def test_nothing_new_costs_nothing(library, looked_at):
    before, first = stored(library), library.annotate(workers=0)
    assert looked_at == []
    assert stored(library) == before
    assert library.annotate(again=True, workers=0) == first  # what is told is the same
    assert looked_at == [32]


def test_new_and_decided_photos_are_looked_at_and_it_comes_to_the_same(library, looked_at):
    rows, _ = stored(library)
    with Catalog.open(library.folder) as catalog:
        (image, word, _), *_ = catalog.suggestions.open(1)
    library.decide(image, [word], "present")
    put(library.folder.parent / "new" / "rose.jpg", jpeg(40))
    library.scan()
    told = library.annotate(workers=0)
    assert looked_at == [2]
    found = stored(library)
    assert found[0] != rows
    assert library.annotate(again=True, workers=0) == told
    assert stored(library) == found


def test_other_settings_or_words_look_at_everything(library, looked_at):
    library.annotate(threshold=0.1, workers=0)
    library.annotate(threshold=0.1, workers=0)
    library.annotate(threshold=0.1, everything=True, workers=0)
    assert looked_at == [32, 32]


def test_a_damaged_index_is_made_anew(library, looked_at):
    with Catalog.open(library.folder) as catalog:
        numbers = catalog.index_folder() / "images.npy"
        before = stored(library)
    numbers.write_bytes(numbers.read_bytes()[:-3])
    library.annotate(workers=0)
    assert looked_at == [32]
    assert stored(library) == before


def test_new_photos_that_cannot_be_read_are_told(library):
    put(library.folder.parent / "broken.jpg", b"no picture")
    library.scan()
    told = library.annotate(workers=0)
    assert len(told.skipped) == 1
    assert "broken.jpg" in told.skipped[0]
    assert told.photos == 32
