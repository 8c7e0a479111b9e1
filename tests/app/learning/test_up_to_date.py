"""annotate looks only at what is new or was decided about, and comes to the same as if it had looked at everything."""

from dataclasses import replace

import pytest
from photo_folder import copy_library, jpeg, learn, make_library, put

from topicture.app.learning import annotating
from topicture.app.verbs.library import Library
from topicture.errors import TopictureError
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


# --- Photos that can't be opened for a while --------------------------------------------------------------------------


@pytest.fixture
def away(tmp_path):
    """Take a photo away, and bring it back, without a scan between."""
    taken = tmp_path / "taken.jpg"

    def move(path):
        (path if path.exists() else taken).rename(taken if path.exists() else path)

    return move


@pytest.mark.parametrize("new_only", [True, False])
def test_a_photo_that_could_not_be_opened_is_tried_again(library, away, new_only):
    photo = put(library.folder.parent / "new.jpg", jpeg(40))
    library.scan()
    before = stored(library)
    away(photo)
    assert "new.jpg" in library.annotate(workers=0).skipped[0]
    told = library.annotate(new_only=True, threshold=0.9, workers=0)
    assert (told.photos, len(told.skipped)) == (0, 1)
    assert stored(library) == before  # that of the photo that was looked at in its stead included
    away(photo)
    told = library.annotate(new_only=new_only, workers=0)
    assert (told.photos, told.skipped) == (1 if new_only else 33, ())
    found = stored(library)
    assert library.annotate(again=True, workers=0).photos == 33
    assert stored(library) == found


def test_a_decided_photo_that_cannot_be_opened_keeps_its_suggestions(library, away):
    with Catalog.open(library.folder) as catalog:
        (image, word, _), *_ = catalog.suggestions.open(1)
        photo = library.folder.parent / catalog.files.first_paths([image])[image]
    library.decide(image, [word], "present")
    before = stored(library)
    away(photo)
    assert photo.name in library.annotate(workers=0).skipped[0]
    assert stored(library) == before
    away(photo)
    assert library.annotate(workers=0).skipped == ()
    found = stored(library)
    assert found != before  # what was decided is not suggested any more
    library.annotate(again=True, workers=0)
    assert stored(library) == found


def test_a_new_photo_and_others_that_cannot_be_opened_end_nothing(library, tmp_path):
    root = library.folder.parent
    photo = put(root / "new.jpg", jpeg(40))
    library.scan()
    with Catalog.open(library.folder) as catalog:
        first = root / next(each.path for each in catalog.files.living() if each.path != photo.name)
    away = tmp_path / "away"
    away.mkdir()
    before = stored(library)
    for path in (photo, first):
        path.rename(away / path.name)
    assert [line.split(":")[0] for line in library.annotate(workers=0).skipped] == ["new.jpg"]
    root.joinpath("trip").rename(away / "trip")
    for path in root.glob("*.jpg"):
        path.rename(away / path.name)
    for new_only in (False, True):
        told = library.annotate(workers=0, new_only=new_only)
        assert [line.split(":")[0] for line in told.skipped] == ["new.jpg"]
    assert stored(library) == before
    for path in away.iterdir():
        path.rename(root / path.name)
    assert (library.annotate(workers=0).photos, library.annotate(workers=0).skipped) == (33, ())


def test_a_photo_that_is_away_keeps_its_suggestions_when_everything_is_looked_at(library, away):
    rows, _ = stored(library)
    image = rows[0][0]
    with Catalog.open(library.folder) as catalog:
        photo = library.folder.parent / catalog.files.first_paths([image])[image]
    away(photo)
    library.annotate(again=True, workers=0)
    assert stored(library)[0] == rows
    library.annotate(threshold=0.9, workers=0)
    kept = {row for row in stored(library)[0] if row[0] == image}
    assert kept == {row for row in rows if row[0] == image}
    away(photo)
    library.annotate(threshold=0.9, workers=0)
    found = stored(library)
    library.annotate(threshold=0.9, again=True, workers=0)
    assert stored(library) == found  # nothing is left of what was suggested by other settings


def test_damaged_photos_are_not_tried_again(library, looked_at):
    put(library.folder.parent / "broken.jpg", b"no picture")
    library.scan()
    library.annotate(workers=0)
    looked_at.clear()
    library.annotate(workers=0)
    library.annotate(new_only=True, workers=0)
    assert looked_at == []


# --- What else may have changed ---------------------------------------------------------------------------------------


def test_new_photos_with_other_settings_do_not_pass_for_those_of_all(library):
    put(library.folder.parent / "new.jpg", jpeg(40))
    library.scan()
    library.annotate(new_only=True, top=1, threshold=0.9, workers=0)
    told = library.annotate(workers=0)
    assert library.annotate(again=True, workers=0) == told


def test_where_the_folder_matters_photos_that_were_moved_are_looked_at(library, looked_at, monkeypatch):
    load = annotating.load_learned

    def of_two_worlds(folder, **options):
        learned = load(folder, **options)
        return replace(learned, calibration=learned.calibration._replace(worlds=object()))

    monkeypatch.setattr(annotating, "load_learned", of_two_worlds)
    root = library.folder.parent
    (root / "photo-030.jpg").rename(root / "renamed.jpg")
    library.scan()
    library.annotate(workers=0)
    assert looked_at == []
    (root / "renamed.jpg").rename(root / "trip" / "photo-030.jpg")
    library.scan()
    library.annotate(workers=0)
    library.annotate(workers=0)
    assert looked_at == [32]


def test_a_model_that_is_removed_meanwhile_is_told(library, monkeypatch):
    answer = annotating.presence_blocks

    def remove(*arguments):
        with Catalog.open(library.folder, write=True) as catalog:
            catalog.suggestions.forget([1])
            catalog.suggestions.add_model("0002", "knn", 1, {})
        return answer(*arguments)

    monkeypatch.setattr(annotating, "presence_blocks", remove)
    with pytest.raises(TopictureError, match="was removed while it was at work") as told:
        library.annotate(again=True, workers=0)
    assert "backup" not in str(told.value)
