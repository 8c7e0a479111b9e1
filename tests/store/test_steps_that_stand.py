"""Steps undone and done again in any order: photos have what the steps that stand say, replayed one after the other."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.decisions.past_steps import PastSteps
from topicture.store.safety.checks import problems


@pytest.fixture
def catalog(tmp_path):
    (tmp_path / "photos").mkdir()
    with Catalog.create(tmp_path / "photos") as catalog:
        yield catalog


def add(catalog, name="a"):
    with catalog.database.transaction():
        return catalog.files.put(f"{name}.jpg", name.encode() * 32, 10, 20, "")


def decide(catalog, images, verdict, source):
    """The number of the step, None where it changed nothing."""
    step = catalog.decisions.step("scan" if source == "file" else source)
    catalog.decisions.decide([Decision(image, "tiger", verdict) for image in images], source, step)
    return step.made


def verdicts(catalog):
    return {image: (verdict, source) for image, _, verdict, source in catalog.decisions.all_tags()}


def replayed(catalog):
    """What the steps that were not undone say, the last of each photo."""
    rows = catalog.database.execute(
        "SELECT image, verdict, source FROM decisions WHERE undoes IS NULL "
        "AND batch NOT IN (SELECT undoes FROM batches WHERE undoes IS NOT NULL) ORDER BY id"
    )
    said = {image: (verdict, source) for image, verdict, source in rows}
    return {image: told for image, told in said.items() if told[0] != "cleared"}


def n_steps(catalog):
    return catalog.database.execute("SELECT count(*) FROM batches").fetchone()[0]


def test_undoing_a_confirmation_does_not_bring_back_a_bulk_acceptance_that_was_undone(catalog):
    image = add(catalog)
    bulk = decide(catalog, [image], "present", "bulk")
    decide(catalog, [image], "present", "review")
    assert catalog.decisions.undo(bulk).decided_anew == 1
    catalog.decisions.undo()
    assert verdicts(catalog) == {}
    assert catalog.sidecar_record.due() == []
    assert catalog.decisions.undo() is None
    assert catalog.decisions.redo().source == "review"
    assert verdicts(catalog) == {image: ("present", "review")}


def test_what_stood_before_both_comes_back(catalog):
    image = add(catalog)
    decide(catalog, [image], "rejected", "import")
    bulk = decide(catalog, [image], "present", "bulk")
    decide(catalog, [image], "present", "review")
    catalog.decisions.undo(bulk)
    catalog.decisions.undo()
    assert verdicts(catalog) == {image: ("rejected", "import")}
    assert catalog.decisions.undo() is not None
    assert verdicts(catalog) == {}


def test_nothing_done_again_is_no_step(catalog):
    image, other = add(catalog), add(catalog, "b")
    bulk = decide(catalog, [image], "present", "bulk")
    catalog.decisions.undo(bulk)
    again = catalog.decisions.redo(bulk).step
    before = n_steps(catalog)
    redone = catalog.decisions.redo(bulk)
    assert (redone.step, redone.decisions, redone.decided_anew, redone.already) == (None, (), 0, again)
    assert n_steps(catalog) == before
    decide(catalog, [other], "present", "review")
    catalog.decisions.undo()
    assert catalog.decisions.redo().source == "review"
    assert catalog.decisions.redo() is None


def test_a_redo_passes_over_a_step_of_which_nothing_can_be_done_again(catalog):
    image, other = add(catalog), add(catalog, "b")
    decide(catalog, [image], "present", "review")
    decide(catalog, [other], "present", "review")
    catalog.decisions.undo()
    catalog.decisions.undo()
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "file")  # no step that can be undone
    assert [each.image for each in catalog.decisions.redo().decisions] == [other]
    redone = catalog.decisions.redo()
    assert (redone.step, redone.decided_anew) == (None, 1)
    assert verdicts(catalog) == {image: ("rejected", "file"), other: ("present", "review")}


DEEDS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["present", "rejected", "cleared"]),
            st.sampled_from(["review", "bulk", "import", "file"]),
            st.sets(st.integers(0, 1), min_size=1),
        ),
        st.tuples(st.sampled_from(["undo", "redo"]), st.none() | st.integers(0, 5)),
    ),
    max_size=14,
)
BULK, CONFIRM = ("present", "bulk", {0}), ("present", "review", {0})


@settings(max_examples=60, deadline=None)
@example(deeds=[BULK, CONFIRM, ("undo", 0), ("undo", None), ("redo", None), ("redo", None)])
@example(deeds=[BULK, CONFIRM, ("undo", 0), ("undo", None), ("redo", 0), ("redo", 1), ("undo", None)])
@given(deeds=DEEDS)
def test_photos_have_what_the_steps_that_stand_say(tmp_path_factory, deeds):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images = [add(catalog, name) for name in "ab"]
        made = []
        for deed, *rest in deeds:
            before = verdicts(catalog)
            if deed in ("undo", "redo"):
                (which,) = rest
                step = made[which] if which is not None and which < len(made) else None
                done = getattr(catalog.decisions, deed)(step)
                if deed == "redo" and done is not None and done.step is not None:
                    made.append(done.step)
                if deed == "undo" and done is not None and done.decisions:
                    check_it_can_be_done_again(catalog, before)
            else:
                source, chosen = rest
                made.append(decide(catalog, [images[i] for i in chosen], deed, source))
            made = [step for step in made if step is not None]
            assert verdicts(catalog) == replayed(catalog)
        assert all(step.decisions for step in PastSteps(catalog.database).last(100))
        assert problems(catalog) == []


def check_it_can_be_done_again(catalog, before):
    """What was just undone comes back as it was, whatever was undone out of turn before; and goes again."""
    undone = verdicts(catalog)
    assert catalog.decisions.redo() is not None
    assert verdicts(catalog) == before
    assert catalog.decisions.undo() is not None
    assert verdicts(catalog) == undone
