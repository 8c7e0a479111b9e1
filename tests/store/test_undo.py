"""Undo: one step at a time, of what still stands; nothing else is touched, and the log keeps everything."""

import pytest
from hypothesis import given, settings
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


def verdicts(catalog, image):
    return {tag.word: (tag.verdict, tag.source) for tag in catalog.decisions.tags_of(image)}


def test_what_was_decided_anew_since_is_left_alone(catalog):
    image = add(catalog)
    catalog.decisions.decide(
        [Decision(image, "tiger", "present"), Decision(image, "grass", "present")], "review"
    )
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "file")  # no step that can be undone
    undone = catalog.decisions.undo()
    assert [decision.word for decision in undone.decisions] == ["grass"]
    assert undone.decided_anew == 1
    assert verdicts(catalog, image) == {"tiger": ("rejected", "file")}


def test_a_pair_that_a_step_named_twice_is_taken_back_once(catalog):
    image = add(catalog)
    step = catalog.decisions.step("scan")
    for verdict in ("present", "rejected"):
        catalog.decisions.decide([Decision(image, "tiger", verdict)], "file", step)
    undone = catalog.decisions.undo()
    assert [(decision.word, decision.verdict) for decision in undone.decisions] == [("tiger", "rejected")]
    assert undone.decided_anew == 0


def test_a_step_of_which_nothing_stands_is_passed_over(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "grass", "present")], "review")
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "file")
    assert [decision.word for decision in catalog.decisions.undo().decisions] == ["grass"]
    assert catalog.decisions.undo() is None


def test_undo_twice_undoes_two_steps(catalog):
    image = add(catalog)
    for verdict in ("present", "rejected", "present"):
        catalog.decisions.decide([Decision(image, "tiger", verdict)], "review")
    assert [catalog.decisions.undo() is not None for _ in range(4)] == [True, True, True, False]
    assert verdicts(catalog, image) == {}


def test_what_is_brought_back_is_as_it_was(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present", 7, 0.75)], "bulk")
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    catalog.decisions.undo()
    assert verdicts(catalog, image) == {"tiger": ("present", "bulk")}
    (due,) = catalog.sidecar_record.due()
    assert due.add == (("tiger", True, 0.75),)


def test_a_decision_that_changes_nothing_is_no_step(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    assert catalog.decisions.decide([Decision(image, "tiger", "present")], "review") == 0
    catalog.decisions.undo()
    assert verdicts(catalog, image) == {}


def test_deleting_a_word_that_no_photo_has_is_a_step_of_its_own(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    assert catalog.decisions.delete_word("tiger") == 0
    undone = catalog.decisions.undo()
    assert (undone.source, undone.decisions, undone.words) == ("delete", (), ("tiger",))
    assert catalog.decisions.deleted_words() == set()
    assert verdicts(catalog, image) == {"tiger": ("rejected", "review")}
    assert catalog.decisions.undo().source == "review"


def test_deleting_a_word_twice_is_one_step(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    catalog.decisions.delete_word("tiger")
    catalog.decisions.delete_word("tiger")
    assert catalog.decisions.undo().words == ("tiger",)
    assert verdicts(catalog, image) == {"tiger": ("present", "review")}


def test_using_a_deleted_word_again_is_undone_with_the_answer(catalog):
    image = add(catalog)
    catalog.decisions.delete_word("tiger")
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    assert catalog.decisions.deleted_words() == set()
    catalog.decisions.undo()
    assert catalog.decisions.deleted_words() == {"tiger"}
    catalog.decisions.undo()
    assert catalog.decisions.deleted_words() == set()


def test_a_file_does_not_bring_a_deleted_word_back_into_use(catalog):
    image = add(catalog)
    catalog.decisions.delete_word("tiger")
    catalog.decisions.decide([Decision(image, "tiger", "present")], "file")
    assert catalog.decisions.deleted_words() == {"tiger"}


def test_a_given_step_is_undone_and_no_other(catalog):
    image = add(catalog)
    step = catalog.decisions.step("review")
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review", step)
    catalog.decisions.decide([Decision(image, "grass", "present")], "review")
    assert catalog.decisions.undo(step.made).decisions[0].word == "tiger"
    assert catalog.decisions.undo(step.made) is None
    assert verdicts(catalog, image) == {"grass": ("present", "review")}


def test_the_last_of_two_verdicts_on_one_word_counts(catalog):
    image = add(catalog)
    catalog.decisions.decide(
        [Decision(image, "tiger", "present"), Decision(image, "tiger", "rejected")], "import"
    )
    assert verdicts(catalog, image) == {"tiger": ("rejected", "import")}
    catalog.decisions.undo()
    assert verdicts(catalog, image) == {}


STEPS = st.lists(
    st.one_of(
        st.just("undo"),
        st.just("delete"),
        st.tuples(
            st.sampled_from(["present", "rejected", "cleared"]),
            st.sampled_from(["review", "bulk", "import", "scan"]),
            st.sets(st.integers(0, 2), min_size=1),
        ),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_undo_is_going_back_in_time(tmp_path_factory, steps):
    """Against a stack of states: each undo leads to the state before the last step that changed something."""
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images = [add(catalog, name) for name in "abc"]

        def now():
            return list(catalog.decisions.all_tags()), catalog.decisions.deleted_words()

        past = []
        for step in steps:
            before = now()
            if step == "undo":
                undone = catalog.decisions.undo()
                assert (undone is None) == (not past)
                assert now() == (past.pop() if past else before)
                continue
            if step == "delete":
                catalog.decisions.delete_word("tiger")
            else:
                verdict, source, chosen = step
                made = catalog.decisions.step(source)
                rows = [Decision(images[i], "tiger", verdict) for i in chosen]
                catalog.decisions.decide(rows, "file" if source == "scan" else source, made)
            if now() != before:
                past.append(before)
        assert problems(catalog) == []
