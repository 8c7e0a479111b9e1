"""Verbs about words: counts, edits with reasons to refuse, policies, proposals of merges, confusions."""

from itertools import chain

import pytest
from photo_folder import COLOURS, N_TAGGED, N, copy_library, learn, make_library, words_of

from topicture.app.verbs.library import Library
from topicture.app.verbs.reviewing import accept_above
from topicture.app.verbs.words.confusions import confusions
from topicture.app.verbs.words.editing import (
    delete_word,
    merge_words,
    rename_word,
    set_parent,
    set_policy,
)
from topicture.app.verbs.words.listing import list_words
from topicture.app.verbs.words.policies import apply_policies
from topicture.app.verbs.words.proposals import dismiss_proposal, propose_merges
from topicture.errors import BadWord, DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    return library


@pytest.fixture
def library(learned, tmp_path):
    return Library.find(copy_library(learned.folder.parent, tmp_path / "photos"))


@pytest.fixture
def catalog(library):
    with library.writing("test") as catalog:
        yield catalog


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "photos").mkdir()
    with Catalog.create(tmp_path / "photos") as catalog:
        yield catalog


def add(catalog, numbers, *words):
    """Photos that have some words."""
    with catalog.database.transaction():
        images = [catalog.files.put(f"{n}.jpg", n.to_bytes(32, "little"), 1, 1, "") for n in numbers]
        catalog.decisions.decide([Decision(i, w, "present") for i in images for w in words], "import")
    return images


def summary(catalog, word):
    (found,) = [each for each in list_words(catalog) if each.word == word]
    return found


# --- Counts ---------------------------------------------------------------------------------------------------


def test_counts_tell_people_from_machines(catalog):
    before = summary(catalog, "rose")
    assert before.photos == before.by_people == sum("rose" in words_of(n) for n in range(N_TAGGED))
    assert before.suggestions > 0
    assert 0 <= before.precision <= 1
    open_ = catalog.suggestions.open(1, word="rose")
    catalog.decisions.decide([Decision(open_[0].image, "rose", "present")], "bulk")
    catalog.decisions.decide([Decision(open_[1].image, "rose", "rejected")], "review")
    after = summary(catalog, "rose")
    assert (after.photos, after.by_people, after.by_machine) == (before.photos + 1, before.by_people, 1)
    assert (after.rejected, after.suggestions) == (1, before.suggestions - 2)


def test_words_are_looked_for_whatever_their_case(catalog):
    assert [each.word for each in list_words(catalog, "ROS")] == ["rose"]


def test_a_renamed_word_keeps_the_precision_it_had(catalog):
    before = summary(catalog, "rose")
    rename_word(catalog, "rose", "roses")
    assert summary(catalog, "roses").precision == before.precision
    assert summary(catalog, "roses").suggestions == before.suggestions


# --- Edits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (lambda c: rename_word(c, "unicorn", "horse"), DataNotFound, "no tag 'unicorn' is in use"),
        (lambda c: rename_word(c, "rose", "sea"), TopictureError, "merge 'rose' into it"),
        (lambda c: rename_word(c, "rose", "a\nb"), BadWord, "control character"),
        (lambda c: merge_words(c, ["rose"], "rose"), TopictureError, "at least one tag"),
        (lambda c: merge_words(c, [], "rose"), TopictureError, "at least one tag"),
        (lambda c: delete_word(c, "unicorn"), DataNotFound, "unicorn"),
        (lambda c: set_parent(c, "rose", "rose"), TopictureError, "can't be above"),
        (lambda c: set_policy(c, "rose", "maybe"), TopictureError, "suggest, accept, never"),
        (lambda c: set_policy(c, "rose", "accept"), TopictureError, "needs a precision"),
        (lambda c: set_policy(c, "rose", "accept", 0.2), TopictureError, "needs a precision"),
        (lambda c: set_policy(c, "rose", "accept", float("nan")), TopictureError, "needs a precision"),
    ],
)
def test_what_can_not_be_done_is_refused_and_changes_nothing(catalog, edit, error, reason):
    before = catalog.words.all(), list(catalog.decisions.all_tags())
    with pytest.raises(error, match=reason):
        edit(catalog)
    assert (catalog.words.all(), list(catalog.decisions.all_tags())) == before
    assert catalog.decisions.undo() is None


def test_a_word_that_was_renamed_says_what_it_is_called_now(catalog):
    rename_word(catalog, "rose", "roses")
    with pytest.raises(DataNotFound, match="called 'roses' now"):
        rename_word(catalog, "rose", "flower")


def test_a_name_that_the_model_means_another_word_by_is_not_taken(library):
    """Two tags can't change names under a model: what it says of one would be shown as the other."""
    with library.writing("test") as catalog:
        rename_word(catalog, "sea", "water")
        for take in (rename_word, lambda *names: merge_words(names[0], [names[1]], names[2])):
            with pytest.raises(TopictureError, match="'sea' is a former name of 'water'"):
                take(catalog, "sand", "sea")
        rename_word(catalog, "water", "sea")  # its own
        rename_word(catalog, "sea", "water")
    learn(library)
    with library.writing("test") as catalog:
        assert rename_word(catalog, "sand", "sea").photos


def test_a_word_is_not_put_below_what_is_below_it(catalog):
    set_parent(catalog, "rose", "plants")
    set_parent(catalog, "plants", "nature")
    with pytest.raises(TopictureError, match="can't be above"):
        set_parent(catalog, "nature", "rose")
    assert summary(catalog, "plants").parent == "nature"  # it has a place, though no photo
    set_parent(catalog, "rose", None)
    assert summary(catalog, "rose").parent is None


def test_every_edit_names_its_step(catalog):
    edits = [
        rename_word(catalog, "rose", "roses"),
        merge_words(catalog, ["roses", "grass"], "plant"),
        set_parent(catalog, "plant", "nature"),
        set_policy(catalog, "plant", "never"),
        delete_word(catalog, "sea"),
    ]
    sources = [catalog.decisions.undo(edit.step).source for edit in reversed(edits)]
    assert sources == ["delete", "policy", "parent", "merge", "rename"]
    assert {each.word for each in list_words(catalog)} == {"rose", "grass", "sea", "sand"}
    assert rename_word(catalog, "rose", "rose").step is None


def test_sidecars_follow_a_rename_and_its_undo(library):
    image = library.image("photo-060.jpg")
    library.decide(image, ["rose"], "present")
    library.write(regions=False)
    sidecar = library.folder.parent / "photo-060.jpg.xmp"
    before = sidecar.read_text()
    with library.writing("test") as catalog:
        rename_word(catalog, "rose", "Rosa")
    report = library.write(regions=False)
    assert report.pending == ()
    assert ">Rosa<" in sidecar.read_text()
    assert ">rose<" not in sidecar.read_text()
    assert ">rose<" in before
    library.undo()
    library.write(regions=False)
    assert ">rose<" in sidecar.read_text()
    assert ">Rosa<" not in sidecar.read_text()
    assert library.scan().decisions == 0
    assert library.check() == []


def test_learning_and_suggesting_go_on_under_the_new_name(library):
    with library.writing("test") as catalog:
        former = {(s.image, s.probability) for s in catalog.suggestions.open(1, word="rose")}
        rename_word(catalog, "rose", "roses")
        set_policy(catalog, "sand", "never")
    library.annotate(workers=0)
    with library.reading() as catalog:
        assert {(s.image, s.probability) for s in catalog.suggestions.open(1, word="roses")} == former
        assert catalog.suggestions.open(1, word="sand") == catalog.suggestions.open(1, word="rose") == []
    learn(library)
    with library.reading() as catalog:
        assert {s.word for s in catalog.suggestions.open(2)} == {"roses", "grass", "sea"}


def test_a_renamed_word_is_found_under_both_names_at_once(library):
    before = [(hit.image, hit.probability, hit.said != ()) for hit in library.search("rose", limit=N)]
    assert len({said for *_, said in before}) == 2  # some by what people said, some by what the model thinks
    with library.writing("test") as catalog:
        rename_word(catalog, "rose", "blossom")
    for name in ("blossom", "rose"):
        assert [(h.image, h.probability, h.said != ()) for h in library.search(name, limit=N)] == before


# --- Policies -------------------------------------------------------------------------------------------------


def test_a_policy_accepts_by_itself_as_one_step(catalog):
    before = list(catalog.decisions.all_tags())
    assert apply_policies(catalog).accepted == 0
    step = set_policy(catalog, "sea", "accept", 0.8).step
    report = apply_policies(catalog)
    assert report.accepted == report.photos > 0
    ((word, least, n),) = report.tags
    assert (word, n) == ("sea", report.accepted)
    new = [tag for tag in catalog.decisions.all_tags() if tag not in before]
    assert {(word, verdict, source) for _, word, verdict, source in new} == {("sea", "present", "bulk")}
    assert all(s.probability < least for s in catalog.suggestions.open(1, word="sea"))
    assert apply_policies(catalog).step is None  # nothing is left to accept
    assert catalog.decisions.undo(report.step).source == "bulk"
    assert list(catalog.decisions.all_tags()) == before
    catalog.decisions.undo(step)
    assert apply_policies(catalog).accepted == 0


def test_a_policy_does_as_accepting_by_hand(library):
    with library.writing("test") as catalog:
        set_policy(catalog, "sea", "accept", 0.9)
        expected = library.accept_above(0.9, tag="sea", dry_run=True)
        assert apply_policies(catalog).tags == expected.tags


def test_a_tag_alone_is_accepted_from_where_it_is_among_all(catalog):
    """Also after others were accepted, whose evidence is weighed with its own."""
    model = catalog.suggestions.newest().id
    for word in ("rose", "grass"):
        surest = next(catalog.suggestions.surest(model, word=word))
        catalog.decisions.decide([Decision(surest.image, word, "present", model, surest.probability)], "bulk")
    for precision in (0.6, 0.8, 0.9):
        together = accept_above(catalog, precision, dry_run=True).tags
        alone = [accept_above(catalog, precision, tag=word, dry_run=True).tags for word in COLOURS]
        assert sorted(chain(*alone)) == sorted(together)
        for word in COLOURS:
            set_policy(catalog, word, "accept", precision)
        report = apply_policies(catalog)
        assert sorted(report.tags) == sorted(together) != []
        catalog.decisions.undo(report.step)


def test_a_policy_outlives_a_rename(catalog):
    set_policy(catalog, "sea", "accept", 0.8)
    rename_word(catalog, "sea", "ocean")
    assert [tag for tag, *_ in apply_policies(catalog).tags] == ["ocean"]


# --- Proposals ------------------------------------------------------------------------------------------------


def pairs(catalog):
    return {(each.kind, *each.words) for each in propose_merges(catalog)}


def test_plurals_spellings_and_words_on_the_same_photos_are_proposed(empty):
    add(empty, range(40), "tiger")
    add(empty, range(40, 46), "tigers")
    add(empty, range(46, 48), "tgier", "Été")
    add(empty, range(50, 53), "berries", "ete")
    add(empty, range(54, 57), "berry", "bus")
    add(empty, range(60, 63), "glass", "glas", "buss")  # no plural, no rare misspelling
    add(empty, range(70, 76), "city", "town")
    add(empty, [76], "city")
    add(empty, range(80, 88), "sand", "sun")
    add(empty, range(88, 92), "sun")  # two thirds are not enough
    assert pairs(empty) == {
        ("plural", "tigers", "tiger"),
        ("plural", "berries", "berry"),
        ("spelling", "tgier", "tiger"),
        ("spelling", "Été", "ete"),
        ("photos", "town", "city"),
    }
    proposal = next(each for each in propose_merges(empty) if each.into == "tiger")
    assert proposal.photos["tiger"] == 40
    assert all(proposal.examples.values())


def test_what_was_dismissed_is_not_proposed_again_until_it_is_asked_for(empty):
    add(empty, range(3), "cat")
    add(empty, range(3, 6), "cats")
    dismiss_proposal(empty, "cats", "cat")
    assert pairs(empty) == set()
    dismiss_proposal(empty, "cat", "cats", dismissed=False)
    assert pairs(empty) == {("plural", "cats", "cat")}


def test_words_that_one_put_below_the_other_are_two(empty):
    add(empty, range(5), "town", "church")
    assert pairs(empty) == {("photos", "town", "church")}
    set_parent(empty, "church", "town")
    assert pairs(empty) == set()


def test_what_is_proposed_can_be_merged(empty):
    add(empty, range(3), "cat")
    add(empty, range(3, 6), "cats")
    (proposal,) = propose_merges(empty)
    assert merge_words(empty, proposal.words, proposal.into).photos == 3
    assert propose_merges(empty) == []


# --- Confusions -----------------------------------------------------------------------------------------------


def test_confusions_count_answers_for_hidden_tags(catalog):
    found = confusions(catalog, "rose")
    truth = sum("rose" in words_of(n) for n in range(N_TAGGED))
    assert found.judged == N_TAGGED < N
    assert found.right + found.missed == truth
    assert found.wrong <= N_TAGGED - truth
    for other in (*found.instead, *found.taken_for):
        assert other.word != "rose"
        assert other.share > other.usual


def test_a_word_that_was_not_learned_has_no_confusions(catalog):
    add(catalog, [999], "unicorn")
    assert confusions(catalog, "unicorn").judged is None
