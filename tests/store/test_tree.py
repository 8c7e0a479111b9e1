"""The tree of words: from files by majority, from people above all, and what follows from it."""

import pytest

from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        yield catalog


def read(catalog, name, *paths, whole=True):
    """Note what a file says of trees, as a scan does."""
    image = catalog.files.put(name, name.encode(), 1, 1, "")
    catalog.tree.note(name, image, [WordSource(PHOTO, whole=whole, paths=frozenset(paths))])
    catalog.tree.settle(catalog.decisions.step("file"))
    return image


def test_a_path_of_a_file_gives_every_word_its_place(catalog):
    read(catalog, "a.jpg", ("Animals", "Cats", "tiger"))
    assert catalog.tree.paths() == {"Cats": ("Animals", "Cats"), "tiger": ("Animals", "Cats", "tiger")}
    assert catalog.tree.below() == {"Animals": {"Cats", "tiger"}, "Cats": {"tiger"}}


def test_the_place_that_most_files_name_counts(catalog):
    read(catalog, "a.jpg", ("Toys", "bear"))
    read(catalog, "b.jpg", ("Animals", "bear"))
    assert catalog.tree.paths()["bear"] == ("Toys", "bear")  # of equals, the one that stands
    read(catalog, "c.jpg", ("Animals", "bear"))
    assert catalog.tree.paths()["bear"] == ("Animals", "bear")
    read(catalog, "a.jpg", ("Animals", "bear"))
    catalog.files.mark_gone(["b.jpg", "c.jpg"])
    catalog.tree.settle(catalog.decisions.step("file"))
    assert catalog.tree.paths()["bear"] == ("Animals", "bear")


def test_what_a_person_says_outweighs_files_until_it_is_undone(catalog):
    read(catalog, "a.jpg", ("Toys", "bear"))
    catalog.words.set_parent("bear", "Animals")
    read(catalog, "b.jpg", ("Toys", "bear"))
    assert catalog.tree.paths()["bear"] == ("Animals", "bear")
    catalog.words.set_parent("bear", None)
    read(catalog, "c.jpg", ("Toys", "bear"))
    assert "bear" not in catalog.tree.paths()
    catalog.decisions.undo()
    catalog.decisions.undo()
    read(catalog, "d.jpg", ("Toys", "bear"))
    assert catalog.tree.paths()["bear"] == ("Toys", "bear")


@pytest.mark.parametrize("above", ["Animals", None])
def test_what_a_person_says_holds_under_a_new_name(catalog, above):
    read(catalog, "a.jpg", ("Toys", "bear"))
    catalog.words.set_parent("bear", above)
    place = catalog.tree.paths().get("bear", ("bear",))[:-1]
    for old, new in (("bear", "Bear"), ("Bear", "teddy"), ("teddy", "bear")):
        catalog.words.merge([old], new, "rename")
        read(catalog, f"{new}.jpg", ("Toys", "bear"))
        assert catalog.tree.paths().get(new, (new,)) == (*place, new)


def test_a_word_that_takes_over_another_stays_with_the_files(catalog):
    read(catalog, "a.jpg", ("Toys", "bear"))
    catalog.words.set_parent("teddy", "Animals")
    catalog.words.merge(["teddy"], "bear")
    for name in "bc":
        read(catalog, f"{name}.jpg", ("Games", "bear"))
    assert catalog.tree.paths()["bear"] == ("Games", "bear")


def test_a_place_that_we_wrote_is_no_word_of_a_file(catalog):
    image = read(catalog, "a.jpg")
    catalog.decisions.decide([Decision(image, "bear", "present")], "review")
    catalog.sidecar_record.plan(catalog.sidecar_record.due())
    ours = WordSource("a.jpg.xmp", own_paths=frozenset({("Animals", "bear")}))
    catalog.tree.note("a.jpg", image, [ours])
    catalog.tree.settle(catalog.decisions.step("file"))
    assert catalog.tree.paths() == {}
    catalog.tree.note("b.jpg", read(catalog, "b.jpg"), [ours])  # by another catalog, perhaps one that is lost
    catalog.tree.settle(catalog.decisions.step("file"))
    assert catalog.tree.paths() == {"bear": ("Animals", "bear")}


def test_rings_and_words_above_themselves_are_not_made(catalog):
    read(catalog, "a.jpg", ("a", "b"), ("b", "c"), ("c", "a"), ("d", "d"))
    paths = catalog.tree.paths()
    assert len(paths) == 2
    assert all(len(set(path)) == len(path) for path in paths.values())


def test_a_file_that_could_not_be_read_whole_keeps_what_it_said(catalog):
    image = read(catalog, "a.jpg", ("Animals", "bear"))
    read(catalog, "a.jpg", whole=False)
    assert catalog.database.execute("SELECT image FROM file_places").fetchall() == [(image,)]
    read(catalog, "a.jpg")
    assert catalog.database.execute("SELECT count(*) FROM file_places").fetchone() == (0,)


def test_merged_words_stand_where_their_new_name_does(catalog):
    read(catalog, "a.jpg", ("Animals", "tigers"))
    catalog.words.merge(["tigers"], "tiger")
    catalog.words.merge(["Animals"], "Creatures")
    read(catalog, "b.jpg", ("Animals", "tigers"))
    assert catalog.tree.paths() == {"tiger": ("Creatures", "tiger")}


def test_parents_are_implied_unless_somebody_said_otherwise(catalog):
    one, two = (read(catalog, name, ("Animals", "Cats", "tiger")) for name in ("a.jpg", "b.jpg"))
    catalog.decisions.decide([Decision(one, "tiger", "present"), Decision(two, "tiger", "present")], "review")
    catalog.decisions.decide([Decision(two, "Cats", "rejected")], "review")
    assert set(catalog.tree.with_implied(catalog.decisions.all_tags())) == {
        (one, "tiger", "present", "review"),
        (one, "Cats", "present", "review"),
        (one, "Animals", "present", "review"),
        (two, "tiger", "present", "review"),
        (two, "Cats", "rejected", "review"),
        (two, "Animals", "present", "review"),
    }
