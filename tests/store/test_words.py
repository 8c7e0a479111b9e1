"""Names, places and policies of words: nothing is lost, and undo is going back in time."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.safety.checks import problems
from topicture.store.safety.damage import damaged_rows

WORDS = ("cat", "cats", "dog", "rose")


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


def decide(catalog, image, word, verdict="present", source="review"):
    catalog.decisions.decide([Decision(image, word, verdict)], source)


def suggest(catalog, *rows):
    if not catalog.suggestions.models():
        catalog.suggestions.add_model("0001", "knn", 1, {})
    ids = [(image, catalog.decisions.word_id(word), p) for image, word, p in rows]
    catalog.suggestions.replace(1, ids)


def open_suggestions(catalog):
    return {(each.image, each.word): each.probability for each in catalog.suggestions.open(1)}


def test_false_tags_are_words_of_captions_that_a_person_took_back(catalog):
    image = add(catalog)
    for word in WORDS[:3]:
        decide(catalog, image, word, source="import")
    decide(catalog, image, "rose")
    assert catalog.decisions.n_taken_back() == 0
    decide(catalog, image, "cat", "rejected")
    decide(catalog, image, "rose", "rejected")  # was an answer, not a caption
    decide(catalog, image, "dog", "rejected", source="delete")
    assert catalog.decisions.n_taken_back() == 1
    catalog.decisions.decide([Decision(image, "cat", "present")], "review")
    assert catalog.decisions.n_taken_back() == 0


# --- Merging and renaming -------------------------------------------------------------------------------------


def test_a_renamed_word_keeps_its_photos_sources_and_probabilities(catalog):
    a, b, c = (add(catalog, name) for name in "abc")
    catalog.decisions.decide([Decision(a, "tigers", "present", 7, 0.75)], "bulk")
    decide(catalog, b, "tigers", source="import")
    decide(catalog, c, "tigers", "rejected")
    assert catalog.words.merge(["tigers"], "tiger", "rename").photos == 3
    assert verdicts(catalog, a) == {"tiger": ("present", "bulk")}
    assert verdicts(catalog, b) == {"tiger": ("present", "import")}
    assert verdicts(catalog, c) == {"tiger": ("rejected", "review")}
    assert catalog.sidecar_record.due()[0].add == (("tiger", True, 0.75),)
    assert [word.word for word in catalog.words.all()] == ["tiger"]
    assert catalog.words.all()[0].merged == ("tigers",)


def test_merging_into_a_word_in_use_keeps_the_stronger_verdict(catalog):
    a, b, c, d = (add(catalog, name) for name in "abcd")
    decide(catalog, a, "cat", "rejected")
    decide(catalog, a, "cats")
    decide(catalog, b, "cat", source="bulk")
    decide(catalog, b, "cats", "rejected")
    decide(catalog, c, "cat", source="import")
    decide(catalog, c, "cats", source="bulk")
    decide(catalog, d, "cats")
    catalog.decisions.delete_word("cats")
    decide(catalog, a, "cats")
    catalog.words.merge(["cats"], "cat")
    assert [verdicts(catalog, image) for image in (a, b, c, d)] == [
        {"cat": ("present", "review")},
        {"cat": ("rejected", "review")},
        {"cat": ("present", "import")},
        {},  # rejected by a deletion: nobody looked at this photo
    ]


def test_a_keyword_of_a_file_is_written_under_its_new_name(catalog):
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    catalog.words.merge(["tigers"], "tiger")
    assert verdicts(catalog, image) == {"tiger": ("present", "merge")}
    (due,) = catalog.sidecar_record.due()
    assert [word.word for word in due.add] == ["tiger"]
    assert due.remove == ()  # what another program wrote is not ours to take out


def test_files_that_say_the_former_name_mean_the_new_one(catalog):
    catalog.words.merge(["tigers"], "tiger")
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    assert verdicts(catalog, image) == {"tiger": ("present", "merge")}
    assert catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)]).withdrawn == ("tiger",)
    assert verdicts(catalog, image) == {}
    news = catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    assert news.returned == ("tiger",)
    assert verdicts(catalog, image) == {"tiger": ("present", "merge")}


def test_a_file_that_changes_from_one_name_to_the_other_changes_nothing(catalog):
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    catalog.words.merge(["tigers"], "tiger")
    news = catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tiger"}))])
    assert (news.withdrawn, news.removed) == ((), ())
    assert set(verdicts(catalog, image)) == {"tiger"}


def test_a_file_can_contradict_a_rejection_under_the_former_name(catalog):
    image = add(catalog)
    catalog.words.merge(["tigers"], "tiger")
    decide(catalog, image, "tiger", "rejected")
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO, frozenset({"tigers"}))])
    assert [(each.word, each.kind) for each in catalog.decisions.conflicts.open()] == [("tiger", "added")]
    catalog.file_words.update("a.jpg", image, [WordSource(PHOTO)])
    assert catalog.decisions.conflicts.open() == []


def test_a_person_who_types_the_former_name_means_the_new_one(catalog):
    image = add(catalog)
    catalog.words.merge(["tigers"], "tiger")
    decide(catalog, image, "tigers")
    assert verdicts(catalog, image) == {"tiger": ("present", "review")}


def test_renaming_back_and_forth_leads_to_one_word(catalog):
    image = add(catalog)
    decide(catalog, image, "cat")
    for old, new in (("cat", "cats"), ("cats", "kitten"), ("kitten", "cat")):
        catalog.words.merge([old], new, "rename")
        assert verdicts(catalog, image) == {new: ("present", "review")}
    assert catalog.decisions.merged_words() == {"cats": "cat", "kitten": "cat"}
    assert [word.word for word in catalog.words.all()] == ["cat"]


def test_what_was_written_under_the_former_name_is_taken_out_and_written_anew(catalog):
    image = add(catalog)
    decide(catalog, image, "tigers")
    (due,) = catalog.sidecar_record.due()
    catalog.sidecar_record.plan([due])
    catalog.sidecar_record.finish(due, "1 2 a.jpg.xmp")
    assert catalog.sidecar_record.due() == []
    catalog.words.merge(["tigers"], "tiger")
    (due,) = catalog.sidecar_record.due()
    assert ([word.word for word in due.add], due.remove) == (["tiger"], ("tigers",))
    catalog.decisions.undo()
    assert catalog.sidecar_record.due() == []


def test_a_merge_that_fails_in_the_middle_leaves_everything_as_it_was(catalog, monkeypatch):
    image = add(catalog)
    decide(catalog, image, "tigers")
    before = verdicts(catalog, image), catalog.words.all(), catalog.decisions.merged_words()
    log = catalog.database.execute("SELECT count(*) FROM decisions").fetchone()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("topicture.store.words.lend", fail)  # the last thing that it does
    with pytest.raises(OSError, match="full"):
        catalog.words.merge(["tigers"], "tiger")
    assert (verdicts(catalog, image), catalog.words.all(), catalog.decisions.merged_words()) == before
    assert catalog.database.execute("SELECT count(*) FROM decisions").fetchone() == log
    assert catalog.decisions.undo().source == "review"


# --- Suggestions ----------------------------------------------------------------------------------------------


def test_suggestions_follow_a_merge_and_its_undo(catalog):
    a, b = add(catalog, "a"), add(catalog, "b")
    suggest(catalog, (a, "cats", 0.9), (a, "cat", 0.4), (b, "cats", 0.8), (b, "kitten", 0.7))
    before = open_suggestions(catalog)
    catalog.words.merge(["cats"], "cat")
    assert open_suggestions(catalog) == {(a, "cat"): 0.4, (b, "cat"): 0.8, (b, "kitten"): 0.7}
    catalog.words.merge(["kitten"], "cat")
    assert open_suggestions(catalog) == {(a, "cat"): 0.4, (b, "cat"): 0.8}
    suggest(catalog, (b, "kitten", 0.7))  # by a model that knows the former words only
    assert open_suggestions(catalog) == {(b, "cat"): 0.7}
    suggest(catalog, *((image, word, p) for (image, word), p in before.items()))
    catalog.decisions.undo()
    catalog.decisions.undo()
    assert open_suggestions(catalog) == before
    assert catalog.database.execute("SELECT count(*) FROM lent").fetchone() == (0,)


def test_a_word_never_to_be_suggested_is_not(catalog):
    image = add(catalog)
    suggest(catalog, (image, "cat", 0.9))
    catalog.words.set_policy("cat", "never", None)
    assert open_suggestions(catalog) == {}
    assert catalog.decisions.unwanted_words() == {"cat"}
    catalog.decisions.undo()
    assert open_suggestions(catalog) == {(image, "cat"): 0.9}


# --- Places ---------------------------------------------------------------------------------------------------


def places(catalog):
    return {word.word: word.parent for word in catalog.words.all()}


def test_children_go_with_the_word_that_takes_over(catalog):
    for child, parent in (("tiger", "cat"), ("cat", "animals"), ("lion", "cats")):
        catalog.words.set_parent(child, parent)
    catalog.words.merge(["cats"], "cat")
    assert places(catalog) == {"animals": None, "cat": "animals", "tiger": "cat", "lion": "cat"}
    catalog.words.merge(["animals"], "tiger")  # a word above it: no ring comes of it
    assert places(catalog) == {"cat": None, "tiger": "cat", "lion": "cat"}
    while catalog.decisions.undo():
        pass
    assert set(places(catalog).values()) == {None}


# --- Undo is going back in time -------------------------------------------------------------------------------

PAIR = st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS))
STEPS = st.lists(
    st.one_of(
        st.just(("undo",)),
        st.tuples(st.just("delete"), st.sampled_from(WORDS)),
        st.tuples(st.just("merge"), PAIR),
        st.tuples(st.just("rename"), PAIR),
        st.tuples(st.just("parent"), PAIR),
        st.tuples(st.just("policy"), st.sampled_from(WORDS), st.sampled_from(("suggest", "accept", "never"))),
        st.tuples(
            st.just("decide"),
            st.integers(0, 2),
            st.sampled_from(WORDS),
            st.sampled_from(["present", "rejected", "cleared"]),
            st.sampled_from(["review", "bulk", "import"]),
        ),
    ),
    max_size=12,
)


def state(catalog):
    return (
        list(catalog.decisions.all_tags()),
        catalog.words.all(),
        catalog.decisions.merged_words(),
        open_suggestions(catalog),
    )


def present(catalog):
    """What each photo is said to have, in the names of today."""
    means = catalog.decisions.merged_words()
    return {
        (image, means.get(word, word))
        for image, word, verdict, _ in catalog.decisions.all_tags()
        if verdict == "present"
    }


def take(catalog, images, step):
    kind, *rest = step
    words = rest[0] if kind in ("merge", "rename", "parent") else rest[:1]
    if kind in ("merge", "rename", "parent", "policy") and catalog.words.in_use(words[0]) is None:
        return  # verbs refuse it
    if kind == "delete":
        catalog.decisions.delete_word(rest[0])
    elif kind in ("merge", "rename"):
        (old, new), former = rest[0], present(catalog)
        log = catalog.database.execute("SELECT count(*) FROM decisions").fetchone()
        bulk = {(i, w) for i, w, v, source in catalog.decisions.all_tags() if source == "bulk"}
        catalog.words.merge([old], new, kind)
        means = catalog.decisions.merged_words()
        kept = {(image, means.get(word, word)) for image, word in former - bulk}
        assert kept <= present(catalog)  # every photo keeps what people said of it
        assert catalog.database.execute("SELECT count(*) FROM decisions").fetchone() >= log
    elif kind == "parent":
        word, parent = rest[0]
        with suppress(TopictureError):  # a ring
            catalog.words.set_parent(word, parent)
    elif kind == "policy":
        catalog.words.set_policy(rest[0], rest[1], 0.9 if rest[1] == "accept" else None)
    elif kind == "decide":
        image, word, verdict, source = rest
        decide(catalog, images[image], word, verdict, source)


@settings(max_examples=40, deadline=None)
@given(STEPS)
@example(
    [("merge", ("dog", "cats")), ("merge", ("cat", "dog")), ("undo",)]
)  # a word that was merged is in use again
def test_undo_is_going_back_in_time(tmp_path_factory, steps):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images = [add(catalog, name) for name in "abc"]
        for word in WORDS:
            catalog.decisions.word_id(word)
        suggest(catalog, (images[0], "cat", 0.5), (images[1], "cats", 0.6), (images[1], "dog", 0.7))
        states = [state(catalog)]
        for step in steps:
            if step == ("undo",):
                undone = catalog.decisions.undo()
                assert (undone is None) == (len(states) == 1)
                if undone:
                    states.pop()
            else:
                take(catalog, images, step)
                if state(catalog) != states[-1]:
                    states.append(state(catalog))
            assert state(catalog) == states[-1]
        assert [line for line in problems(catalog) if "model" not in line] == []  # the model has no files
        assert damaged_rows(catalog.database) == []
