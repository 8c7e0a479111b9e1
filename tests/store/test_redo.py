"""Redo: what was undone comes back as it was, until somebody decides otherwise."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.safety.checks import problems


@pytest.fixture
def catalog(tmp_path):
    (tmp_path / "photos").mkdir()
    with Catalog.create(tmp_path / "photos") as catalog:
        yield catalog


def add(catalog, name="a"):
    with catalog.database.transaction():
        return catalog.files.put(f"{name}.jpg", name.encode() * 32, 10, 20, "")


def state(catalog):
    """All verdicts with what the model had said, and all about words; not when words were deleted."""
    tags = catalog.database.execute(
        "SELECT t.image, t.word, t.verdict, t.source, d.model, d.probability FROM tags AS t "
        "JOIN decisions AS d ON d.id = t.decision ORDER BY t.image, t.word"
    ).fetchall()
    words = "SELECT word, deleted IS NULL, policy, precision, parent, merged FROM words ORDER BY word"
    return tags, catalog.database.execute(words).fetchall()


def test_two_steps_undone_are_done_again_one_by_one(catalog):
    image = add(catalog)
    states = [state(catalog)]
    for word in ("tiger", "grass"):
        catalog.decisions.decide([Decision(image, word, "present", 3, 0.75)], "bulk")
        states.append(state(catalog))
    for _ in range(2):
        catalog.decisions.undo()
    for expected in states[1:]:
        redone = catalog.decisions.redo()
        assert (redone.source, len(redone.decisions)) == ("bulk", 1)
        assert [row[:3] for row in state(catalog)[0]] == [row[:3] for row in expected[0]]
    assert state(catalog)[0] == states[2][0]
    assert catalog.decisions.redo() is None
    assert problems(catalog) == []


def test_what_was_done_again_can_be_undone_and_done_again(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    before = state(catalog)
    for _ in range(3):
        assert catalog.decisions.undo() is not None
        assert state(catalog)[0] == []
        assert catalog.decisions.redo() is not None
        assert state(catalog) == before


def test_a_new_decision_ends_it_unless_the_step_is_named(catalog):
    image = add(catalog)
    catalog.decisions.decide(
        [Decision(image, "tiger", "present"), Decision(image, "grass", "present")], "review"
    )
    (step,) = catalog.database.execute("SELECT max(id) FROM batches").fetchone()
    catalog.decisions.undo()
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    assert catalog.decisions.redo() is None
    redone = catalog.decisions.redo(step)
    assert [each.word for each in redone.decisions] == ["grass"]
    assert redone.decided_anew == 1
    assert {tag.word: tag.verdict for tag in catalog.decisions.tags_of(image)} == {
        "tiger": "rejected",
        "grass": "present",
    }
    assert catalog.decisions.redo(step + 1) is None  # that one was never undone


def test_an_answer_to_a_conflict_is_given_again(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    catalog.decisions.conflicts.note(image, catalog.decisions.word_id("tiger"), "removed", "a.jpg")
    catalog.decisions.resolve(catalog.decisions.conflicts.open(), keep=True)
    assert catalog.decisions.undo().reopened == 1
    assert catalog.decisions.conflicts.count() == 1
    assert catalog.decisions.redo().settled == 1
    assert catalog.decisions.conflicts.count() == 0


DEEDS = st.sampled_from(["yes", "no", "delete", "rename", "merge", "parent", "policy"])


@settings(max_examples=25, deadline=None)
@example(deeds=["yes", "yes", "yes", "delete"], back=4, rounds=2)
@given(deeds=st.lists(DEEDS, min_size=1, max_size=6), back=st.integers(1, 6), rounds=st.integers(1, 2))
def test_undo_and_redo_come_to_nothing(tmp_path_factory, deeds, back, rounds):
    folder = tmp_path_factory.mktemp("redo")
    with Catalog.create(folder) as catalog:
        images = [add(catalog, name) for name in "ab"]
        for number, deed in enumerate(deeds):
            do(catalog, images[number % 2], deed, number)
        before = state(catalog)
        for _ in range(rounds):
            undone = sum(catalog.decisions.undo() is not None for _ in range(back))
            redone = sum(catalog.decisions.redo() is not None for _ in range(undone))
            assert redone == undone
        assert state(catalog) == before
        assert problems(catalog) == []


def do(catalog, image, deed, number):
    first, second = f"word-{number % 3}", f"word-{(number + 1) % 3}"
    if deed in ("yes", "no"):
        verdict = "present" if deed == "yes" else "rejected"
        catalog.decisions.decide([Decision(image, first, verdict)], "review")
    elif deed == "delete":
        catalog.decisions.delete_word(first)
    elif deed in ("rename", "merge"):
        if catalog.words.in_use(first) is not None:
            catalog.words.merge([first], f"new-{number}" if deed == "rename" else second, deed)
    elif deed == "parent":
        catalog.words.set_parent(first, "above")
    else:
        catalog.words.set_policy(first, "accept", 0.9)


# --- Words ----------------------------------------------------------------------------------------------------


def fields(catalog, word):
    query = "SELECT deleted IS NULL, policy, precision, parent IS NULL FROM words WHERE word = ?"
    return catalog.database.execute(query, (word,)).fetchone()


def test_a_policy_that_was_set_since_stands_although_it_is_the_one_before(catalog):
    first = catalog.words.set_policy("tiger", "accept", 0.9)
    catalog.words.set_policy("tiger", "suggest", None)
    catalog.decisions.undo(first)
    assert catalog.decisions.redo(first).step is None
    assert fields(catalog, "tiger")[1:3] == ("suggest", None)


def test_a_place_that_was_left_since_is_not_taken_again(catalog):
    first = catalog.words.set_parent("tiger", "animal")
    catalog.words.set_parent("tiger", None)
    catalog.decisions.undo(first)
    assert "tiger" not in catalog.decisions.redo(first).words
    assert fields(catalog, "tiger")[3]


@pytest.mark.parametrize("use", ["place", "merge", "answers"])
def test_a_deletion_is_not_done_again_of_a_word_that_was_used_since(catalog, use):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "kitty", "present")], "review")
    step = catalog.decisions.step("delete")
    catalog.decisions.word_id("cat")
    catalog.decisions.delete_word("cat", step)
    if use == "place":
        catalog.words.set_parent("kitty", "cat")
    elif use == "merge":
        catalog.words.merge(["kitty"], "cat")
        catalog.decisions.decide([Decision(image, "cat", "rejected")], "review")
    else:
        for verdict in ("present", "rejected"):
            catalog.decisions.decide([Decision(image, "cat", verdict)], "review")
    catalog.decisions.undo(step.made)
    before = state(catalog)
    assert catalog.decisions.redo(step.made).words == ()
    assert state(catalog) == before
    assert catalog.words.in_use("cat") is not None


def test_a_place_that_is_taken_again_brings_back_the_word_above(catalog):
    image = add(catalog)
    catalog.decisions.word_id("animal")
    catalog.decisions.delete_word("animal")
    given = catalog.decisions.step("review")
    catalog.decisions.decide([Decision(image, "animal", "present")], "review", given)
    catalog.words.set_parent("tiger", "animal")
    before = state(catalog)[1]
    catalog.decisions.undo(given.made)
    catalog.decisions.undo()
    assert catalog.words.in_use("animal") is None
    assert catalog.decisions.redo().words == ("animal", "tiger")
    assert state(catalog)[1] == before


def test_a_name_taken_into_use_again_is_done_once(catalog):
    catalog.words.merge(["kitty"], "cat")
    step = catalog.words.set_parent("cat", "kitty")  # which means itself from here on
    catalog.decisions.undo(step)
    again = catalog.decisions.redo(step).step
    redone = catalog.decisions.redo(step)
    assert (redone.step, redone.already) == (None, again)


def test_verdicts_that_went_along_with_an_undo_come_back_with_the_redo(catalog):
    """Under the name of another word for a while: there it was nothing new, here it is a person's answer."""
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "cat", "present")], "review")
    catalog.words.merge(["puss"], "cat")
    renamed = catalog.words.merge(["kitty"], "puss", "rename").step
    catalog.decisions.decide([Decision(image, "puss", "present", 3, 0.75)], "review")
    before = state(catalog)
    catalog.decisions.undo(renamed)
    assert [tag.word for tag in catalog.decisions.tags_of(image)] == ["cat"]
    undone = state(catalog)
    assert catalog.decisions.redo(renamed).step is not None
    assert state(catalog) == before
    assert catalog.decisions.undo().decided_anew == 0
    assert state(catalog) == undone
    catalog.decisions.redo()
    assert state(catalog) == before
    assert problems(catalog) == []
