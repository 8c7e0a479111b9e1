"""A program that read a sidecar before we took a word out of it, and wrote it afterwards, puts our word back.

That word carries our record. So a person is told, and whatever they say then is what the sidecar says after a write.
"""

import pytest
from decided_photos import later, state
from photo_folder import RECIPE, make_library, put, xmp

from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.sidecar_record import SidecarRecord

NAME = "photo-002.jpg"


@pytest.fixture
def library(tmp_path):
    """One whose photo has a sidecar of another program."""
    made = make_library(tmp_path / "photos", n=4, tagged=2)
    put(made.folder.parent / f"{NAME}.xmp", xmp(["theirs"]))
    made.scan()
    return made


@pytest.fixture
def sidecar(library):
    return library.folder.parent / f"{NAME}.xmp"


def answer(library, verdict):
    return library.answer(library.image(NAME), "tiger", verdict)


def verdict(library):
    return {tag.word: tag.verdict for tag in library.tags(NAME)}.get("tiger")


def words(library):
    found = photo_keywords(library.folder.parent / NAME)
    return {*found.words, *found.by_machine}


def put_back(library, sidecar, take_back):
    """Have `tiger` written, taken back and taken out; then another program, which had read before, writes."""
    library.write(regions=False)
    stale = sidecar.read_bytes()
    take_back()
    library.write(regions=False)
    assert words(library) == {"theirs"}
    later(put(sidecar, stale.replace(b"theirs</rdf:li>", b"theirs</rdf:li><rdf:li>more</rdf:li>", 1)))


@pytest.fixture
def rejected(library, sidecar):
    answer(library, "present")
    put_back(library, sidecar, lambda: answer(library, "rejected"))


@pytest.mark.parametrize(
    "settle", [lambda made: answer(made, "rejected"), lambda made: made.resolve(keep=True)]
)
def test_rejecting_it_again_takes_it_out(library, rejected, settle):
    assert library.scan().conflicts == (f"{NAME}: tiger (added by another program)",)
    assert library.write(regions=False).files == 0  # nothing is done before somebody has said what
    settle(library)
    library.write(regions=False)
    assert words(library) == {"theirs", "more"}
    assert (verdict(library), library.conflicts(), library.scan().conflicts) == ("rejected", [], ())


def test_an_answer_undone_after_the_scan_leaves_nothing_in_the_sidecar(library, rejected):
    step = answer(library, "present")
    assert library.scan().conflicts == ()
    library.undo(step)
    library.write(regions=False)
    assert (verdict(library), words(library)) == ("rejected", {"theirs", "more"})


def test_accepted_once_more_it_is_still_ours_to_take_out(library, rejected):
    library.scan()
    answer(library, "present")
    library.write(regions=False)
    answer(library, "rejected")
    library.write(regions=False)
    assert words(library) == {"theirs", "more"}


def test_a_word_taken_back_is_accepted_again_and_can_be_rejected_and_brought_back(library, sidecar):
    step = answer(library, "present")
    before = state(library)
    put_back(library, sidecar, lambda: library.undo(step))
    assert library.scan().decisions == 2  # `more` and `tiger`
    assert [row for row in state(library)[0] if row[1] == "tiger"] == [
        row for row in before[0] if row[1] == "tiger"
    ]
    step = answer(library, "rejected")
    library.write(regions=False)
    assert words(library) == {"theirs", "more"}
    library.undo(step)
    library.write(regions=False)
    assert (verdict(library), words(library)) == ("present", {"theirs", "more", "tiger"})


@pytest.mark.parametrize("answers", [True, False])
def test_a_models_choice_is_told_where_it_was_rejected_and_else_taken_out(library, sidecar, answers):
    with Catalog.open(library.folder, write=True) as catalog:
        image = catalog.files.at(NAME).image
        catalog.decisions.decide([Decision(image, "tiger", "present", 1, 0.75)], "bulk")
    put_back(library, sidecar, lambda: answer(library, "rejected") if answers else library.undo())
    assert len(library.scan().conflicts) == answers
    assert verdict(library) == ("rejected" if answers else None)
    library.resolve(keep=True)
    library.write(regions=False)
    assert words(library) == {"theirs", "more"}


def test_what_another_catalog_wrote_is_a_keyword_as_any_other(library, sidecar, tmp_path):
    answer(library, "present")
    library.write(regions=False)
    other = Library.create(library.folder.parent, tmp_path / "other", recipe=RECIPE)
    other.scan()
    other.undo()
    other.write(regions=False)
    answer(other, "rejected")
    other.write(regions=False)
    assert words(library) == {"theirs", "tiger"}


@pytest.mark.parametrize("said", ["rejected", None])
def test_a_keyword_of_others_in_place_of_ours_is_told(library, sidecar, monkeypatch, said):
    """Ours was taken out, but the kill came before that was noted; theirs is not ours to take out."""
    step = answer(library, "present")
    library.write(regions=False)
    answer(library, "rejected") if said else library.undo(step)
    with monkeypatch.context() as patch:
        patch.setattr(SidecarRecord, "finish", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            library.write(regions=False)
    assert words(library) == {"theirs"}
    later(put(sidecar, xmp(["theirs", "tiger"])))
    library.scan()
    library.write(regions=False)
    library.scan()
    assert words(library) == {"theirs", "tiger"}
    assert [conflict.word for conflict in library.conflicts()] == (["tiger"] if said else [])
    assert verdict(library) == (said or "present")
