"""No word comes to lie below itself: not by undo or redo, and not through words that are deleted."""

import pytest

from topicture.app.verbs.words.editing import delete_word, merge_words, rename_word, set_parent
from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.safety.checks import problems


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        image = catalog.files.put("a.jpg", b"a", 1, 1, "")
        catalog.decisions.decide([Decision(image, word, "present") for word in "ABGH"], "review")
        yield catalog
        assert problems(catalog) == []


def parents(catalog):
    return {word.word: word.parent for word in catalog.words.all() if word.parent}


def read(catalog, name, path):
    image = catalog.files.put(name, name.encode(), 1, 1, "")
    catalog.tree.note(name, image, [WordSource(PHOTO, paths=frozenset({path}))])
    catalog.tree.settle(catalog.decisions.step("file"))


def test_undo_leaves_a_place_that_files_have_turned_around_since(catalog):
    read(catalog, "b.jpg", ("B", "A"))
    set_parent(catalog, "A", None)
    read(catalog, "c.jpg", ("A", "B"))
    assert parents(catalog) == {"B": "A"}
    undone = catalog.decisions.undo()
    assert (undone.words, undone.decided_anew) == ((), 1)
    assert parents(catalog) == {"B": "A"}


def test_redo_leaves_a_place_that_a_person_has_turned_around_since(catalog):
    step = set_parent(catalog, "A", "B").step
    catalog.decisions.undo()
    set_parent(catalog, "B", "A")
    redone = catalog.decisions.redo(step)
    assert (redone.words, redone.decided_anew) == ((), 1)
    assert parents(catalog) == {"B": "A"}


def test_a_deleted_word_taken_into_use_above_another_gives_up_its_place_below_it(catalog):
    set_parent(catalog, "A", "B")
    delete_word(catalog, "A")
    set_parent(catalog, "B", "A")
    assert parents(catalog) == {"B": "A"}
    catalog.decisions.undo()
    catalog.decisions.undo()
    assert parents(catalog) == {"A": "B"}
    catalog.decisions.redo()
    catalog.decisions.redo()
    assert parents(catalog) == {"B": "A"}


def test_a_place_below_a_deleted_word_is_in_nobody_s_way(catalog):
    set_parent(catalog, "G", "H")
    set_parent(catalog, "H", "A")
    delete_word(catalog, "H")
    set_parent(catalog, "A", "G")  # G stands by itself as far as anybody can see
    catalog.decisions.decide([Decision(1, "H", "present")], "review")
    assert parents(catalog) == {"A": "G", "H": "A"}


@pytest.mark.parametrize(
    "edit", [rename_word, lambda catalog, *words: merge_words(catalog, [words[0]], words[1])]
)
def test_a_word_takes_the_name_of_a_deleted_one_that_it_lay_below(catalog, edit):
    set_parent(catalog, "H", "D")
    set_parent(catalog, "G", "H")
    delete_word(catalog, "D")
    edit(catalog, "G", "D")
    assert parents(catalog) == {"D": "H"}
    catalog.decisions.undo()
    catalog.decisions.undo()
    assert parents(catalog) == {"H": "D", "G": "H"}


def test_a_ring_that_anybody_can_see_is_refused(catalog):
    set_parent(catalog, "A", "B")
    for above in ("A", "B"):
        with pytest.raises(TopictureError, match=f"'A' can't be above '{above}'"):
            set_parent(catalog, above, "A")
    assert parents(catalog) == {"A": "B"}


def test_check_names_a_ring_and_how_to_leave_it(catalog):
    set_parent(catalog, "A", "B")
    catalog.database.execute(
        "UPDATE words SET parent = (SELECT id FROM words WHERE word = 'A') WHERE word = 'B'"
    )
    set_parent(catalog, "H", "A")
    (line,) = problems(catalog)
    assert "below themselves: A, B (topicture tags --parent TAG" in line
    assert catalog.tree.paths()["A"] == ("B", "A")
    set_parent(catalog, "A", None)
