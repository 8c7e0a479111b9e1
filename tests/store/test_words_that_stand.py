"""Steps about words, undone and done again in any order: what stands is what comes of the steps that stand."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.safety.checks import problems

WORDS = ("cat", "dog")
PLACES = ("animals", "pets")
POLICIES = (("suggest", None), ("accept", 0.9), ("accept", 0.75), ("never", None))
UNDONE = "batch IN (SELECT undoes FROM batches WHERE undoes IS NOT NULL)"


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        yield catalog
        assert problems(catalog) == []


def add(catalog, name="a"):
    with catalog.database.transaction():
        return catalog.files.put(f"{name}.jpg", name.encode() * 32, 10, 20, "")


def decide(catalog, image, word, verdict="present", source="review"):
    step = catalog.decisions.step(source)
    catalog.decisions.decide([Decision(image, word, verdict)], source, step)
    return step.made


def delete(catalog, word):
    step = catalog.decisions.step("delete")
    catalog.decisions.delete_word(word, step)
    return step.made


def policy(catalog, word):
    query = "SELECT policy, precision FROM words WHERE word = ?"
    return catalog.database.execute(query, (word,)).fetchone()


def verdicts(catalog, image):
    return {tag.word: (tag.verdict, tag.source) for tag in catalog.decisions.tags_of(image)}


# --- Policies -------------------------------------------------------------------------------------------------


def test_undo_brings_back_no_policy_of_a_step_that_was_undone(catalog):
    add(catalog)
    first = catalog.words.set_policy("cat", "accept", 0.9)
    catalog.words.set_policy("cat", "never", None)
    catalog.decisions.undo(first)
    assert policy(catalog, "cat") == ("never", None)
    catalog.decisions.undo()
    assert policy(catalog, "cat") == ("suggest", None)
    catalog.decisions.redo()
    assert policy(catalog, "cat") == ("never", None)
    catalog.decisions.undo()
    assert policy(catalog, "cat") == ("suggest", None)


def test_a_policy_that_was_set_again_since_stands_when_the_first_step_is_undone(catalog):
    first = catalog.words.set_policy("cat", "never", None)
    catalog.words.set_policy("cat", "suggest", None)
    catalog.words.set_policy("cat", "never", None)
    assert catalog.decisions.undo(first).words == ()
    assert policy(catalog, "cat") == ("never", None)


def test_a_precision_does_not_outlive_its_policy(catalog):
    first = catalog.words.set_policy("cat", "accept", 0.9)
    second = catalog.words.set_policy("cat", "accept", 0.75)
    catalog.decisions.undo(first)
    assert policy(catalog, "cat") == ("accept", 0.75)
    catalog.decisions.undo(second)
    assert policy(catalog, "cat") == ("suggest", None)
    catalog.words.set_policy("cat", "never", None)
    assert catalog.decisions.redo(first).step is None
    assert policy(catalog, "cat") == ("never", None)


# --- Deletions ------------------------------------------------------------------------------------------------


def test_a_deletion_that_was_undone_does_not_come_back(catalog):
    image = add(catalog)
    deleted = delete(catalog, "cat")
    decide(catalog, image, "cat")
    catalog.decisions.undo(deleted)
    undone = catalog.decisions.undo()
    assert [each.word for each in undone.decisions] == ["cat"]
    assert catalog.words.in_use("cat") is not None
    assert catalog.decisions.deleted_words() == set()


def test_a_second_deletion_stands_when_the_first_use_of_the_word_is_undone(catalog):
    image = add(catalog)
    delete(catalog, "cat")
    used = decide(catalog, image, "cat")
    delete(catalog, "cat")
    decide(catalog, image, "cat")
    catalog.decisions.undo(used)
    assert catalog.words.in_use("cat") is not None
    catalog.decisions.undo()
    assert catalog.decisions.deleted_words() == {"cat"}


def test_a_merge_done_again_is_no_later_use_of_a_word_deleted_since(catalog):
    image = add(catalog)
    merged = catalog.words.merge(["cat"], "dog").step
    delete(catalog, "dog")
    catalog.decisions.undo(merged)
    catalog.decisions.redo(merged)
    assert "dog" in catalog.decisions.deleted_words()
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"dog"}))])
    catalog.decisions.undo()
    assert "dog" in catalog.decisions.deleted_words()


def test_a_word_given_twice_is_deleted_again_once_both_are_undone(catalog):
    delete(catalog, "cat")
    first, _ = decide(catalog, add(catalog), "cat"), decide(catalog, add(catalog, "b"), "cat")
    catalog.decisions.undo(first)
    assert catalog.words.in_use("cat") is not None
    catalog.decisions.undo()
    assert catalog.decisions.deleted_words() == {"cat"}


def test_a_word_that_another_came_to_mean_stays_in_use_when_its_first_name_goes(catalog):
    image, other = add(catalog), add(catalog, "b")
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"dog"}))])
    decide(catalog, other, "cat")
    first = catalog.words.merge(["cat"], "animal", "rename").step
    catalog.words.merge(["dog"], "animal")
    catalog.decisions.undo(first)
    assert catalog.words.in_use("animal") is not None
    assert verdicts(catalog, image) == {"animal": ("present", "merge")}
    catalog.decisions.undo()
    assert catalog.words.in_use("animal") is None
    assert verdicts(catalog, image) == {"dog": ("present", "file")}


def test_a_renaming_is_not_undone_before_a_later_one_that_came_to_the_same(catalog):
    decide(catalog, add(catalog), "cat")
    first = catalog.words.merge(["cat"], "puss", "rename").step
    catalog.words.merge(["puss"], "cat", "rename")
    last = catalog.words.merge(["cat"], "puss", "rename").step
    with pytest.raises(
        TopictureError, match=f"step {first} can't be undone by itself: step {last} gave 'cat'"
    ):
        catalog.decisions.undo(first)


# --- What files say -------------------------------------------------------------------------------------------


def test_a_keyword_that_is_back_brings_back_no_verdict_of_an_undone_merge(catalog):
    """The merge made it one to be written under its new name; undone, it is what the file says itself."""
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    merged = catalog.words.merge(["tigers"], "tiger").step
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)])
    catalog.decisions.undo(merged)
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tiger"}))])
    assert verdicts(catalog, image)["tiger"] == ("present", "file")


def test_keywords_that_are_back_take_no_longer_however_much_was_undone(catalog):
    image = add(catalog)
    words = WordSource(PHOTO, frozenset(f"word {n}" for n in range(20)))
    work = []
    catalog.file_words.update("a.jpg", image, [words])
    for n_undone in (0, 500):
        for _ in range(n_undone):
            decide(catalog, image, "cat")
            catalog.decisions.undo()
        catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)])
        work.append(0)
        catalog.database.connection.set_progress_handler(lambda: work.append(work.pop() + 1), 100)
        assert len(catalog.file_words.update("a.jpg", image, [words]).returned) == 20
        catalog.database.connection.set_progress_handler(None, 0)
    assert work[1] < 2 * work[0]


# --- Done again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["decide", "rename", "policy"])
def test_redo_of_a_step_that_was_done_again_names_the_one_that_did(catalog, deed):
    image = add(catalog)
    first = decide(catalog, image, "cat")
    if deed == "rename":
        first = catalog.words.merge(["cat"], "puss", "rename").step
    elif deed == "policy":
        first = catalog.words.set_policy("cat", "never", None)
    catalog.decisions.undo(first)
    again = catalog.decisions.redo(first).step
    redone = catalog.decisions.redo(first)
    assert (redone.step, redone.already, redone.decided_anew) == (None, again, 0)
    catalog.decisions.undo(again)
    assert catalog.decisions.redo(first).already is None


# --- Any order ------------------------------------------------------------------------------------------------

BACK = st.tuples(st.sampled_from(["undo", "redo"]), st.none() | st.integers(0, 5))
POLICY = st.tuples(st.just("policy"), st.sampled_from(WORDS), st.sampled_from(POLICIES))
PARENT = st.tuples(st.just("parent"), st.sampled_from(WORDS), st.sampled_from(PLACES) | st.none())
DELETE = st.tuples(st.just("delete"), st.sampled_from(WORDS))
GIVE = st.tuples(st.just("give"), st.sampled_from(WORDS), st.integers(0, 1))
MERGE = st.tuples(st.sampled_from(["merge", "rename"]), st.permutations([*WORDS, "puss"]))


def do(catalog, images, made, deed):
    """Take a step, backwards or forwards; the number of it, None where there is none."""
    kind, *rest = deed
    if kind in ("undo", "redo"):
        (which,) = rest
        step = made[which] if which is not None and which < len(made) else None
        with suppress(TopictureError):  # names of words, out of turn
            done = getattr(catalog.decisions, kind)(step)
            return done.step if kind == "redo" and done is not None else None
    elif kind == "policy":
        return catalog.words.set_policy(rest[0], *rest[1])
    elif kind == "parent":
        return catalog.words.set_parent(*rest)
    elif kind == "delete":
        return delete(catalog, rest[0])
    elif kind == "give":
        return decide(catalog, images[rest[1]], rest[0])
    elif catalog.words.in_use(rest[0][0]) is not None:
        return catalog.words.merge(rest[0][:1], rest[0][1], kind).step
    return None


def fields(catalog):
    return {
        (word, field): None if value is None else str(value)
        for field in ("policy", "precision", "parent", "merged")
        for word, value in catalog.database.execute(f"SELECT id, {field} FROM words")
    }


def replayed(catalog):
    """The same by the log: what the last step that stands has said of each."""
    query = f"SELECT word, field, before, after, {UNDONE} FROM word_edits ORDER BY batch"
    said = {}
    for word, field, before, after, undone in catalog.database.execute(query):
        said.setdefault((word, field), before)
        if not undone:
            said[word, field] = after
    return said


@settings(max_examples=60, deadline=None)
@example(
    deeds=[
        ("policy", "cat", ("accept", 0.9)),
        ("policy", "cat", ("never", None)),
        ("undo", 0),
        ("undo", None),
    ]
)
@given(deeds=st.lists(st.one_of(POLICY, PARENT, DELETE, GIVE, MERGE, BACK, BACK), max_size=14))
def test_words_are_what_the_steps_that_stand_say(tmp_path_factory, deeds):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images, made = [add(catalog, name) for name in "ab"], []
        for word in (*WORDS, "puss"):
            catalog.decisions.word_id(word)
        for deed in deeds:
            step = do(catalog, images, made, deed)
            made += [step] * (step is not None)
            said, now = replayed(catalog), fields(catalog)
            assert {key: now[key] for key in said} == said
        assert problems(catalog) == []
        while catalog.decisions.undo() is not None:
            pass
        assert set(fields(catalog).values()) == {None, "suggest"}
        assert catalog.decisions.deleted_words() <= set(PLACES)  # which were not there before


@settings(max_examples=60, deadline=None)
@example(deeds=[("delete", "cat"), ("give", "cat", 0), ("undo", 0), ("undo", None)])
@example(deeds=[("delete", "cat"), ("give", "cat", 0), ("give", "cat", 1), ("undo", 1), ("undo", None)])
@given(deeds=st.lists(st.one_of(DELETE, GIVE, BACK, BACK), max_size=14))
def test_words_are_deleted_by_the_steps_that_stand(tmp_path_factory, deeds):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images, made = [add(catalog, name) for name in "ab"], []
        for word in WORDS:
            catalog.decisions.word_id(word)
        means = {}  # a step -> the word, and whether it deleted it
        for deed in deeds:
            step = do(catalog, images, made, deed)
            if step is not None:
                made.append(step)
                means[step] = (deed[1], deed[0] == "delete") if deed[0] in ("delete", "give") else None
                if means[step] is None:
                    query = "SELECT redoes FROM batches WHERE id = ?"
                    means[step] = means[catalog.database.execute(query, (step,)).fetchone()[0]]
            undone = {
                n for (n,) in catalog.database.execute("SELECT undoes FROM batches WHERE undoes IS NOT NULL")
            }
            last = dict(means[step] for step in sorted(means.keys() - undone))
            given_to = {word for _, word, verdict, _ in catalog.decisions.all_tags() if verdict == "present"}
            assert catalog.decisions.deleted_words() == {word for word in last if last[word]} - given_to
        assert problems(catalog) == []


@settings(max_examples=60, deadline=None)
@example(deeds=[("policy", "cat", ("never", None)), ("policy", "cat", ("suggest", None)), ("undo", 0)])
@example(deeds=[("delete", "cat"), ("parent", "dog", "cat"), ("undo", 0)])
@example(deeds=[("parent", "dog", "cat"), ("delete", "cat"), ("undo", 0), ("undo", None)])
@given(deeds=st.lists(st.one_of(POLICY, PARENT, DELETE, GIVE, MERGE, BACK, BACK), max_size=14))
def test_what_was_undone_out_of_turn_is_done_again_as_it_was(tmp_path_factory, deeds):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images, made = [add(catalog, name) for name in "ab"], []
        for word in (*WORDS, *PLACES, "puss"):
            catalog.decisions.word_id(word)
        for deed in deeds:
            before, last = everything(catalog), last_undone(catalog)
            step = do(catalog, images, made, deed)
            made += [step] * (step is not None)
            if (undone := last_undone(catalog)) != last:
                catalog.decisions.redo(undone)
                assert everything(catalog) == before


def everything(catalog):
    deleted = catalog.decisions.deleted_words()
    return fields(catalog), deleted, [verdicts(catalog, image) for image in (1, 2)]


def last_undone(catalog):
    row = catalog.database.execute(
        "SELECT undoes FROM batches WHERE source = 'undo' ORDER BY id DESC"
    ).fetchone()
    return None if row is None else row[0]
