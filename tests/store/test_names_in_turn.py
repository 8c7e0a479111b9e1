"""Undo and redo of renamed and merged words: whole or not at all, also where a scan came in between."""

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
        yield catalog
        assert problems(catalog) == []


def read(catalog, name, *words):
    """A photo whose file says some words, as a scan finds it; its number."""
    image = catalog.files.put(name, name.encode(), 1, 1, "")
    catalog.file_words.update(
        name, image, [WordSource(PHOTO, frozenset(words))], catalog.decisions.step("file")
    )
    return image


def verdicts(catalog, image):
    return {tag.word: (tag.verdict, tag.source) for tag in catalog.decisions.tags_of(image)}


def written(catalog):
    """What `write` would put into sidecars."""
    return {due.path: [word.word for word in due.add] for due in catalog.sidecar_record.due() if due.add}


# --- One after the other --------------------------------------------------------------------------------------


def test_a_renaming_is_not_undone_before_a_later_one_of_the_same_word(catalog):
    image = read(catalog, "a.jpg", "a")
    first, second = rename_word(catalog, "a", "b").step, rename_word(catalog, "b", "c").step
    with pytest.raises(
        TopictureError, match=f"step {first} can't be undone by itself: step {second} gave 'a'"
    ):
        catalog.decisions.undo(first)
    assert verdicts(catalog, image) == {"c": ("present", "merge")}
    assert catalog.decisions.merged_words() == {"a": "c", "b": "c"}
    catalog.decisions.undo(second)
    catalog.decisions.undo(first)
    assert verdicts(catalog, image) == {"a": ("present", "file")}
    with pytest.raises(TopictureError, match=f"step {second} can't be done again by itself: 'a' had another"):
        catalog.decisions.redo(second)
    catalog.decisions.redo(first)
    catalog.decisions.redo(second)
    assert verdicts(catalog, image) == {"c": ("present", "merge")}


def test_a_renaming_is_not_done_again_after_another_one_of_the_same_word(catalog):
    image = read(catalog, "a.jpg", "a")
    first = rename_word(catalog, "a", "b").step
    catalog.decisions.undo()
    second = rename_word(catalog, "a", "c").step
    with pytest.raises(TopictureError, match=f"step {first} can't be done again by itself: step {second}"):
        catalog.decisions.redo(first)
    assert verdicts(catalog, image) == {"c": ("present", "merge")}


@pytest.mark.parametrize("of_file", [True, False])
def test_what_an_undo_gave_to_a_new_name_goes_back_with_the_name(catalog, of_file):
    """Of a photo that had neither when the word was renamed."""
    image = read(catalog, "a.jpg", *(["cat"] if of_file else []))
    step = catalog.decisions.step("scan" if of_file else "review")
    if of_file:
        catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)], step)
    else:
        catalog.decisions.decide([Decision(image, "cat", "present")], "review")
        catalog.decisions.decide([Decision(image, "cat", "cleared")], "review", step)
    renamed = rename_word(catalog, "cat", "pet").step
    catalog.decisions.undo(step.made)
    assert verdicts(catalog, image) == {"pet": ("present", "merge" if of_file else "review")}
    undone = catalog.decisions.undo(renamed)
    assert [(each.image, each.word) for each in undone.decisions] == [(image, "pet")]
    assert verdicts(catalog, image) == {"cat": ("present", "file" if of_file else "review")}
    assert [each.word for each in catalog.words.all()] == ["cat"]
    catalog.decisions.redo()
    assert verdicts(catalog, image) == {"pet": ("present", "merge" if of_file else "review")}


# --- Scans in between -----------------------------------------------------------------------------------------


def test_a_photo_scanned_since_a_merge_follows_its_undo_and_redo(catalog):
    first = read(catalog, "a.jpg", "kitty")
    merge_words(catalog, ["kitty"], "cat")
    second = read(catalog, "b.jpg", "kitty")
    assert {word for _, word, *_ in catalog.decisions.all_tags()} == {"cat"}
    undone = catalog.decisions.undo()
    assert (second, "cat", "present") in undone.decisions
    for _ in range(2):
        for image in (first, second):
            assert verdicts(catalog, image) == {"kitty": ("present", "file")}
        assert written(catalog) == {}
        catalog.decisions.redo()
        for image in (first, second):
            assert verdicts(catalog, image) == {"cat": ("present", "merge")}
        assert written(catalog) == {"a.jpg": ["cat"], "b.jpg": ["cat"]}
        catalog.decisions.undo()


def test_a_photo_keeps_what_its_file_or_a_person_says_besides(catalog):
    read(catalog, "a.jpg", "kitty")
    step = merge_words(catalog, ["kitty"], "cat").step
    both, person = read(catalog, "b.jpg", "kitty", "cat"), read(catalog, "c.jpg", "kitty")
    catalog.decisions.decide([Decision(person, "cat", "present")], "review")
    catalog.decisions.undo(step)
    assert verdicts(catalog, both) == {"cat": ("present", "file"), "kitty": ("present", "file")}
    assert verdicts(catalog, person) == {"cat": ("present", "review"), "kitty": ("present", "file")}
    assert catalog.words.in_use("cat") is not None  # somebody has given it to a photo


def test_a_name_given_up_twice_leads_back_step_by_step(catalog):
    read(catalog, "a.jpg", "kitty")
    rename_word(catalog, "kitty", "cat")
    rename_word(catalog, "cat", "puss")
    image = read(catalog, "b.jpg", "kitty")
    assert verdicts(catalog, image) == {"puss": ("present", "merge")}
    for expected in ({"cat": ("present", "merge")}, {"kitty": ("present", "file")}):
        catalog.decisions.undo()
        assert verdicts(catalog, image) == expected


def test_a_keyword_that_is_back_under_its_former_name_stays_when_the_merge_is_undone(catalog):
    image = read(catalog, "a.jpg", "kitty")
    say(catalog, image)
    step = merge_words(catalog, ["kitty"], "cat").step
    say(catalog, image, "kitty")
    assert verdicts(catalog, image) == {"cat": ("present", "merge")}
    catalog.decisions.undo(step)
    assert verdicts(catalog, image) == {"kitty": ("present", "file")}


def test_a_keyword_that_is_back_is_not_taken_away_by_doing_again_an_earlier_scan(catalog):
    image = read(catalog, "a.jpg", "kitty")
    gone = catalog.decisions.step("scan")
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)], gone)
    say(catalog, image, "kitty")
    catalog.decisions.undo(gone.made)
    assert catalog.decisions.redo().decided_anew == 1
    assert verdicts(catalog, image) == {"kitty": ("present", "file")}


# --- Deleted words --------------------------------------------------------------------------------------------


def test_a_deleted_word_is_not_written_under_its_former_name(catalog):
    read(catalog, "a.jpg", "red")
    rename_word(catalog, "red", "crimson")
    delete_word(catalog, "crimson")
    image = read(catalog, "b.jpg", "red")
    assert (written(catalog), catalog.words.all()) == ({}, [])
    catalog.decisions.undo()
    assert written(catalog) == {"a.jpg": ["crimson"], "b.jpg": ["crimson"]}
    catalog.decisions.redo()
    assert written(catalog) == {}
    for words in ((), ("red",)):  # gone from the file, and back
        catalog.file_words.update("b.jpg", image, [WordSource(PHOTO, frozenset(words))])
    assert written(catalog) == {}


def test_a_deletion_done_again_leaves_a_word_that_somebody_gave_since(catalog):
    read(catalog, "a.jpg", "red")
    step = delete_word(catalog, "red").step
    catalog.decisions.undo()
    catalog.decisions.decide([Decision(read(catalog, "b.jpg"), "red", "present")], "review")
    catalog.decisions.redo(step)
    assert [(word.word, word.present, word.rejected) for word in catalog.words.all()] == [("red", 1, 1)]


@pytest.mark.parametrize("by", ["deletion", "answer"])
def test_what_was_undone_of_a_former_name_is_done_again_at_once(catalog, by):
    image = read(catalog, "a.jpg", "rose", "flora")
    merge_words(catalog, ["rose"], "flora")
    say(catalog, image, "rose")  # another program takes the new name out
    if by == "deletion":
        delete_word(catalog, "flora")
    else:
        catalog.decisions.decide([Decision(image, "flora", "rejected")], "review")
    done = verdicts(catalog, image)
    assert done["flora"][0] == "rejected"
    for _ in range(2):
        catalog.decisions.undo()
        assert verdicts(catalog, image)["flora"][0] == "present"
        assert len(catalog.decisions.redo().decisions) == 1
        assert verdicts(catalog, image) == done


def test_undoing_a_merge_gives_no_tag_that_was_not_there(catalog):
    image = read(catalog, "a.jpg", "tiger", "animal")
    rename_word(catalog, "tiger", "bengal")
    set_parent(catalog, "bengal", "tiger")
    before = verdicts(catalog, image)
    merge_words(catalog, ["tiger"], "animal")
    catalog.decisions.undo()
    assert verdicts(catalog, image) == before


# --- Conflicts ------------------------------------------------------------------------------------------------


def conflicts(catalog):
    return [(each.word, each.kind) for each in catalog.decisions.conflicts.open()]


def say(catalog, image, *words):
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset(words))])


@pytest.fixture
def contradicted(catalog):
    """A photo out of which another program took a word that somebody had accepted here."""
    image = read(catalog, "a.jpg", "cat", "lion")
    catalog.decisions.decide([Decision(image, "cat", "present")], "review")
    say(catalog, image, "lion")
    return image


def test_a_conflict_goes_with_the_name_of_its_word(catalog, contradicted):
    rename_word(catalog, "cat", "puss")
    for _ in range(2):
        assert conflicts(catalog) == [("puss", "removed")]
        assert written(catalog) == {}  # it waits for somebody to say which is right
        catalog.decisions.undo()
        assert conflicts(catalog) == [("cat", "removed")]
        catalog.decisions.redo()
    say(catalog, contradicted, "lion", "cat")  # under its former name
    assert conflicts(catalog) == []
    catalog.decisions.undo()
    assert verdicts(catalog, contradicted)["cat"] == ("present", "review")
    assert conflicts(catalog) == []


def test_a_word_that_the_file_says_by_another_name_is_no_conflict(catalog, contradicted):
    merge_words(catalog, ["cat"], "lion")
    assert conflicts(catalog) == []
    assert verdicts(catalog, contradicted)["lion"][0] == "present"
    catalog.decisions.undo()
    assert conflicts(catalog) == [("cat", "removed")]


def test_a_rejection_that_a_file_contradicts_is_still_to_be_settled_after_a_merge(catalog):
    image = read(catalog, "a.jpg")
    catalog.decisions.decide(
        [Decision(image, "cat", "rejected"), Decision(image, "puss", "present")], "review"
    )
    say(catalog, image, "cat")
    merge_words(catalog, ["cat"], "kitty")
    assert conflicts(catalog) == [("kitty", "added")]
    merge_words(catalog, ["kitty"], "puss")  # which somebody has accepted, as the file says now
    assert conflicts(catalog) == []
    catalog.decisions.undo()
    assert conflicts(catalog) == [("kitty", "added")]


def test_a_conflict_about_a_former_name_is_open_again_after_undo(catalog):
    image = read(catalog, "a.jpg")
    catalog.decisions.decide([Decision(image, "rose", "rejected")], "review")
    rename_word(catalog, "rose", "flora")
    say(catalog, image, "rose")
    catalog.decisions.resolve(catalog.decisions.conflicts.open(), keep=True)
    assert conflicts(catalog) == []
    assert catalog.decisions.undo().reopened == 1
    assert conflicts(catalog) == [("flora", "added")]
    assert verdicts(catalog, image) == {"flora": ("rejected", "review")}  # the step before is as it was
