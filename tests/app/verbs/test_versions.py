"""Photos edited in place, put back and renumbered: each version has what was decided last, and many cost little."""

import pytest
from decided_photos import later
from photo_folder import jpeg, make_library, put

from topicture.app.verbs.words.editing import merge_words
from topicture.store import Catalog
from topicture.store.questions import Drawn

NAME = "photo-000.jpg"


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=2, tagged=2)


def tags(library):
    return {tag.word: tag.verdict for tag in library.tags(library.folder.parent / NAME)}


def edit_and_put_back(library):
    for number, seconds in ((100, 10), (0, 20)):
        later(put(library.folder.parent / NAME, jpeg(number, ["rose"])), seconds)
        library.scan()


def test_a_decision_that_was_undone_is_not_taken_up_again(library):
    library.decide(NAME, ["rose"], "rejected")
    library.undo()
    edit_and_put_back(library)
    assert tags(library) == {"rose": "present"}


def test_a_decision_that_a_merge_went_over_is_not_taken_up_again(library):
    library.decide(NAME, ["flora"], "rejected")
    with Catalog.open(library.folder, write=True) as catalog:
        merge_words(catalog, ["rose"], "flora")
    before = tags(library)
    assert before["flora"] == "present"
    edit_and_put_back(library)
    assert tags(library) == before


def test_answers_to_drawn_questions_stay_such(library):
    """The version that is there now has the question as well, and it counts once."""
    image = library.image(NAME)
    library.decide(NAME, ["flora"], "rejected")
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.questions.note([Drawn(image, "flora", 0.3, 0.5)], 1)
    later(put(library.folder.parent / NAME, jpeg(100, ["rose"])), 10)
    library.scan()
    assert library.image(NAME) != image
    assert drawn(library) == {(library.image(NAME), "flora"): 0.5}
    later(put(library.folder.parent / NAME, jpeg(0, ["rose"])), 20)
    library.scan()
    assert library.image(NAME) == image
    assert drawn(library) == {(image, "flora"): 0.5}


def drawn(library):
    with library.reading() as catalog:
        return catalog.questions.pairs()


def test_renumbered_photos_are_noted_a_batch_at_a_time(tmp_path, monkeypatch):
    library = make_library(tmp_path / "photos", n=24, tagged=0)
    photos = sorted(library.folder.parent.glob("*.jpg"))
    names, stored, store = [*photos[1:], photos[0].with_name("photo-999.jpg")], [], Catalog.set
    for old, new in reversed(list(zip(photos, names, strict=True))):
        later(old.rename(new))

    def note(catalog, key, value):
        stored.append(key)
        store(catalog, key, value)

    monkeypatch.setattr(Catalog, "set", note)
    report = library.scan()
    assert (report.changed, report.moved, report.gone) == (len(photos) - 1, 1, 0)
    assert stored.count("replaced") == 2  # put down with the batch, and taken off when all is done
