"""Undo and redo of renamed and merged words: whole or not at all, also where a scan came in between."""

import pytest

from topicture.app.verbs.words.editing import rename_word
from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.errors import TopictureError
from topicture.store import Catalog
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
