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
