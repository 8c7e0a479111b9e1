"""Questions that are drawn at random, audits, and tags that stay the machine's until somebody confirms them."""

import numpy as np
import pytest
from photo_folder import N_TAGGED, copy_library, learn, make_library, words_of

from topicture.annotations.shift.completeness import SHARES, STRATA
from topicture.app.cli.deciding.accepting import audit_in_terminal
from topicture.app.cli.deciding.review_loop import ask_in_terminal
from topicture.app.console.tables import print_questions
from topicture.app.learning.training_tags import gather
from topicture.app.verbs.asking.auditing import audit_sample
from topicture.app.verbs.asking.drawing_lots import (
    Audit,
    audit_verdict,
    draw_missing,
    missing_words,
    note_drawn,
    questions_of_strata,
    strata_order,
)
from topicture.app.verbs.asking.left_out import absent_words
from topicture.app.verbs.asking.nothing_to_ask import why_nothing
from topicture.app.verbs.asking.reaching import falls_short, reaching
from topicture.app.verbs.library import Library
from topicture.app.verbs.reviewing import ORDERS
from topicture.app.verbs.words.editing import merge_words, rename_word, tag_in_use
from topicture.errors import DataNotFound
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.questions import Drawn


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    return library


@pytest.fixture
def library(learned, tmp_path):
    copy_library(learned.folder.parent, tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def number(path):
    return int(path.split("photo-")[1][:3])


def in_bulk(library, n=6):
    """Accept some open suggestions as a bulk acceptance does; (image, word) of them."""
    chosen = [(q.image, q.word) for q in library.queue("certain", limit=n)]
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.decisions.decide([Decision(image, word, "present") for image, word in chosen], "bulk")
    return chosen


# --- Machine tags -------------------------------------------------------------------------------------------------


def test_what_the_machine_accepted_teaches_nothing_until_somebody_confirms_it(library):
    with Catalog.open(library.folder) as catalog:
        before = gather(catalog, 3)
    chosen = in_bulk(library)
    with Catalog.open(library.folder) as catalog:
        after = gather(catalog, 3)
    np.testing.assert_array_equal(after.truth, before.truth)
    np.testing.assert_array_equal(after.known, before.known)
    assert after.captions == before.captions
    library.decide(chosen[0][0], [chosen[0][1]], "present")
    with Catalog.open(library.folder) as catalog:
        confirmed = gather(catalog, 3)
    assert confirmed.truth.sum() == before.truth.sum() + 1


def test_learning_again_after_a_bulk_acceptance_gives_the_same_model(library):
    was = {(q.image, q.word): q.probability for q in library.queue(limit=1000)}
    chosen = in_bulk(library)
    learn(library)
    now = {(q.image, q.word): q.probability for q in library.queue(limit=1000)}
    assert now == pytest.approx({pair: p for pair, p in was.items() if pair not in chosen})


def test_lists_and_search_say_which_tags_are_the_machines(library):
    image, word = in_bulk(library, 1)[0]
    assert library.machine_words() == {word: 1}
    hit = next(hit for hit in library.search(word, limit=100) if hit.image == image)
    assert hit.by_machine == (word,)
    library.decide(image, [word], "present")
    assert library.machine_words() == {}
    hit = next(hit for hit in library.search(word, limit=100) if hit.image == image)
    assert hit.by_machine == ()


# --- Drawn questions ----------------------------------------------------------------------------------------------


def test_drawn_questions_are_about_words_that_tagged_photos_lack(library):
    with Catalog.open(library.folder) as catalog:
        drawn = draw_missing(catalog, 20, seed=1)
    assert len(drawn) == len({(q.image, q.word) for q in drawn}) == 20
    for question in drawn:
        assert number(question.path) < N_TAGGED
        assert question.word not in words_of(number(question.path))
        assert 0 < question.drawn <= 1


def test_every_stratum_has_its_share_however_few_are_asked(library):
    """Two at a time, as a short review asks: rounded each time, they would come from the likeliest strata alone."""
    with Catalog.open(library.folder) as catalog:
        found = np.zeros(1 + len(STRATA))
        times = 80
        for seed in range(times):
            drawn = draw_missing(catalog, 2, seed=seed)
            assert len(drawn) == 2
            found += np.bincount(
                np.digitize([q.probability for q in drawn], STRATA), [1.0] * 2, 1 + len(STRATA)
            )
        sizes = np.zeros(1 + len(STRATA), int)
        for absent in absent_words(catalog):
            sizes += np.bincount(np.digitize(np.exp(absent.log_p), STRATA), minlength=1 + len(STRATA))
    expected = times * questions_of_strata(2, sizes)
    assert (expected[sizes > 0] > 0).all()
    assert (np.abs(found - expected) <= 4 * np.sqrt(expected) + 1e-9).all()


def test_shares_of_strata_that_are_used_up_go_to_the_others():
    sizes = np.array([1000, 10, 0, 50, 50, 20])
    found = questions_of_strata(300, sizes)
    assert found.sum() == pytest.approx(300)
    assert found.tolist() == pytest.approx([170, 10, 0, 50, 50, 20])
    assert questions_of_strata(16, np.full(6, 100)).tolist() == pytest.approx(SHARES)
    assert questions_of_strata(9, np.array([0, 0, 0, 0, 2, 1])).tolist() == [0, 0, 0, 0, 2, 1]


def test_one_question_in_ten_is_drawn_and_its_chance_is_kept(library):
    questions = library.queue("certain", limit=20)
    mixed = library.mixed(questions)
    drawn = [q for q in mixed if q.drawn is not None]
    assert (len(mixed), len(drawn)) == (20, 2)
    with Catalog.open(library.folder) as catalog:
        assert catalog.questions.pairs() == {(q.image, q.word): pytest.approx(q.drawn) for q in drawn}
    library.answer(drawn[0].image, drawn[0].word, "rejected")
    with Catalog.open(library.folder) as catalog:
        tags = gather(catalog, 3)
    assert tags.asked.sum() == 1
    assert not tags.given[tags.asked].any()
    assert (tags.lots.toarray()[tags.asked] > 0).all()


def test_a_question_stands_for_as_many_as_were_not_drawn_among_those_of_its_model(library):
    with Catalog.open(library.folder, write=True) as catalog:
        lots = draw_missing(catalog, 4, seed=3)
        chances = (0.5, 0.1, 0.02, 0.0)  # the last of a catalog that did not know it
        for q, chance, model in zip(lots, chances, (1, 1, 2, 2), strict=True):
            catalog.questions.note([Drawn(q.image, q.word, q.probability, chance)], model)
        weights = catalog.questions.weights()
    found = [weights[q.image, q.word] for q in lots]
    assert found[:2] == pytest.approx([2 / 6, 10 / 6])
    assert found[3] == 1.0


def test_questions_of_a_short_and_a_long_round_stand_for_as_many(library, monkeypatch):
    """The chance of one among ten questions is ten times that of one alone: both are one of so many pairs."""
    with Catalog.open(library.folder, write=True) as catalog:
        lots = draw_missing(catalog, 4, seed=3)
        for at, few in ((1.0, lots[:1]), (2.0, lots[1:])):
            monkeypatch.setattr("time.time", lambda at=at: at)
            catalog.questions.note([Drawn(q.image, q.word, q.probability, 0.01 * len(few)) for q in few], 1)
        weights = catalog.questions.weights()
    assert [weights[q.image, q.word] for q in lots] == pytest.approx([1.0] * 4)


def test_only_answers_about_captioned_photos_are_such(library):
    """Not what a table says later on of what was asked, nor what was asked while a photo still had a caption."""
    with Catalog.open(library.folder, write=True) as catalog:
        drawn = draw_missing(catalog, 4, seed=2)
        note_drawn(catalog, drawn)
        catalog.decisions.decide([Decision(q.image, q.word, "present") for q in drawn], "import")
        (bare,) = (q for q in library.queue("certain", limit=1))
        note_drawn(catalog, [bare])
        catalog.decisions.decide([Decision(bare.image, bare.word, "rejected")], "review")
        tags = gather(catalog, 3)
    assert tags.rejected.any()
    assert not tags.asked.any()


def test_the_chance_is_that_before_lots_decide_how_many_of_a_stratum_are_asked(library):
    with Catalog.open(library.folder) as catalog:
        presence = np.concatenate([np.exp(one.log_p) for one in absent_words(catalog)])
        sizes = np.bincount(np.digitize(presence, STRATA), minlength=6)
        expected = questions_of_strata(3, sizes)
        drawn = [q for seed in range(10) for q in draw_missing(catalog, 3, seed=seed)]
    for q in drawn:
        stratum = np.digitize(q.probability, STRATA)
        assert q.drawn == pytest.approx(expected[stratum] / sizes[stratum])
    assert (np.modf(expected)[0] > 0).any()


def test_answers_stay_those_to_drawn_questions_when_words_get_other_names(library):
    """Of a word that was merged into another its answers go there; the other one's own question goes first."""
    with Catalog.open(library.folder, write=True) as catalog:
        drawn = draw_missing(catalog, 20, seed=2)
        note_drawn(catalog, drawn)
        catalog.decisions.decide([Decision(q.image, q.word, "rejected") for q in drawn], "review")
        before = gather(catalog, 3)
        rename_word(catalog, "sand", "beach")
        tags = gather(catalog, 3)
    assert any(q.word == "sand" for q in drawn)
    old, new = before.vocabulary.index("sand"), tags.vocabulary.index("beach")
    np.testing.assert_array_equal(tags.asked[:, new], before.asked[:, old])
    np.testing.assert_array_equal(tags.lots[:, [new]].toarray(), before.lots[:, [old]].toarray())
    both = [Drawn(drawn[0].image, word, 0.1, chance) for word, chance in (("beach", 0.25), ("wet", 0.5))]
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.decisions.decide([Decision(drawn[0].image, "wet", "rejected")], "review")
        catalog.questions.note(both, 7)
        own = catalog.questions.pairs()[drawn[0].image, "beach"]
        merge_words(catalog, ["wet"], "beach")
        assert catalog.questions.pairs()[drawn[0].image, "beach"] == own
        assert (drawn[0].image, "wet") not in catalog.questions.weights()


def test_answers_about_left_out_words_tell_how_complete_tags_are(library):
    with Catalog.open(library.folder, write=True) as catalog:
        drawn = draw_missing(catalog, 40, seed=2)
        catalog.questions.note([Drawn(q.image, q.word, q.probability, q.drawn) for q in drawn], 1)
        catalog.decisions.decide([Decision(q.image, q.word, "rejected") for q in drawn], "review")
    report = library.learn("knn", regions=False, workers=0)
    assert report.completeness > 0.8  # nothing was left out
    told = library.evaluate()
    assert told["completeness"]["questions"] == 40
    assert all(0 < tag["completeness"] <= 1 for tag in told["tags"])


def test_missing_words_come_most_probable_first(library):
    with Catalog.open(library.folder) as catalog:
        asked = missing_words(catalog, limit=10)
        of_word = missing_words(catalog, tag="sea", limit=5)
    assert [q.probability for q in asked] == sorted((q.probability for q in asked), reverse=True)
    assert {q.word for q in of_word} == {"sea"}
    assert library.queue("missing", limit=10) == asked


def test_words_that_tagged_photos_lack_are_marked_in_every_order(library):
    assert all(q.left_out for q in library.queue("missing", limit=10))
    assert not any(q.left_out for q in library.queue("certain", limit=100))  # about untagged photos
    mixed = library.mixed(library.queue("random", limit=20))
    assert [q.left_out for q in mixed] == [q.drawn is not None for q in mixed]
    library.annotate(everything=True, threshold=0.05, workers=0)
    for order in ("uncertain", "certain", "teaching", "random"):
        asked = library.queue(order, limit=1000)
        assert {q.left_out for q in asked} == {True, False}
        assert all(q.left_out == (number(q.path) < N_TAGGED) for q in asked)


@pytest.mark.parametrize("order", ["missing", "random"])
def test_the_terminal_asks_whether_it_was_left_out(library, order, capsys):
    questions = library.mixed(library.queue(order, limit=20))
    said = []
    ask_in_terminal(library, questions, read_key=lambda: "s", say=said.append)
    print_questions(questions)
    listed = capsys.readouterr().out.splitlines()
    for place, (q, line, row) in enumerate(zip(questions, said[1:], listed, strict=True), start=1):
        asked = f"did you leave out {q.word}?" if q.left_out else f"{q.word}?"
        assert line == f"[{place}/20] {q.path}: {asked} ({q.probability:.0%})"
        assert row.endswith("  (left out?)") == q.left_out
    assert any(q.left_out for q in questions)


def test_a_random_order_gives_every_tenth_its_turn():
    p = np.concatenate([np.full(500, 0.31), np.full(10, 0.95)])
    first = np.argsort(strata_order(p.tolist()))[:20]
    assert (p[first] == 0.95).sum() == 10


# --- Audits -------------------------------------------------------------------------------------------------------


def test_an_audit_decides(library):
    with Catalog.open(library.folder) as catalog:
        sample = audit_sample(catalog, 0.6, seed=0)
    assert sample
    assert all(q.drawn is not None for q in sample)
    audited = audit_in_terminal(library, 0.6, read_key=lambda: "n", say=lambda line: None)
    assert (audited.asked, audited.right, audited.passed) == (len(sample), 0, False)
    assert audited.verdict.startswith(f"0 of {len(sample)} were right")
    with Catalog.open(library.folder) as catalog:  # the answers stand
        assert catalog.decisions.counts_by_source()["rejected", "review"] == len(sample)


def test_an_audit_that_goes_well_lets_the_rest_pass(library, monkeypatch):
    monkeypatch.setattr("topicture.app.verbs.asking.auditing.AUDITED", 2)  # of more
    audited = audit_in_terminal(library, 0.6, read_key=lambda: "y", say=lambda line: None)
    assert audited.passed
    assert audited.verdict == "2 of 2 were right: the rest is accepted."
    assert audit_verdict(Audit(30, 27), 0.9) > 0.25 > audit_verdict(Audit(30, 24), 0.9)
    assert audit_verdict(Audit(0, 0), 0.9) == 0


@pytest.mark.parametrize("keys", ["q", "yq", "sq", "y\x1b"])
def test_who_stops_an_audit_accepts_no_more(library, monkeypatch, keys):
    monkeypatch.setattr("topicture.app.verbs.asking.auditing.AUDITED", 2)
    pressed = iter(keys)
    audited = audit_in_terminal(library, 0.6, read_key=lambda: next(pressed), say=lambda line: None)
    assert (audited.asked, audited.stopped, audited.passed) == (keys.count("y"), True, False)
    assert audited.verdict == "Stopped: the rest is not accepted."


@pytest.mark.parametrize("key", ["y", "n"])
def test_where_all_were_asked_about_there_is_no_rest(library, monkeypatch, key):
    monkeypatch.setattr("topicture.app.verbs.asking.auditing.AUDITED", 1000)
    audited = audit_in_terminal(library, 0.6, read_key=lambda: key, say=lambda line: None)
    right = audited.asked if key == "y" else 0
    assert (
        audited.verdict == f"{right} of {audited.asked} were right; these were all, and your answers stand."
    )
    assert not audited.passed
    assert library.accept_above(0.6, dry_run=True).accepted == 0


def test_an_audit_in_which_all_was_skipped_tells_nothing(library):
    audited = audit_in_terminal(library, 0.6, read_key=lambda: "s", say=lambda line: None)
    assert (audited.passed, audited.verdict) == (False, "No question was answered: nothing is accepted.")


# --- What does not reach a precision ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judged", "share", "precision", "short"),
    [
        (66, 0.48, 0.9, True),
        (66, 0.88, 0.9, False),  # may well be 90% in truth
        (19, 0.0, 0.9, False),
        (20, 0.0, 0.9, True),
        (0, 0.0, 0.9, False),
        (20, 0.6, 0.7, False),
        (200, 0.6, 0.7, True),
    ],
)
def test_a_tag_is_known_to_fall_short_by_enough_evidence_alone(judged, share, precision, short):
    assert falls_short(judged, share, precision) == short


def test_tags_that_do_not_reach_a_precision_are_told_from_those_with_too_little_evidence(
    library, monkeypatch
):
    monkeypatch.setattr(
        "topicture.app.verbs.asking.reaching.load_report",
        lambda folder: {
            "tags": [
                {"word": "rose", "suggested": 66, "precision": 0.48},
                {"word": "sea", "suggested": 6, "precision": 0.48},
                {"word": "grass", "suggested": None, "precision": None},
                {"word": "sand"},
            ]
        },
    )
    monkeypatch.setattr(
        "topicture.app.verbs.asking.reaching.least_probabilities", lambda catalog, precision: {}
    )
    with Catalog.open(library.folder) as catalog:
        found = reaching(catalog, 0.9)
        assert reaching(catalog, 0.9, tag="sea").not_reached == frozenset()
    assert found.chosen == []
    assert found.not_reached == {"rose"}
    assert found.too_little == {"sea", "grass", "sand"}
    report = library.accept_above(0.9, dry_run=True)
    assert (report.not_reached, report.too_little) == (1, 3)
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.words.merge(["rose"], "roses", "rename")
    with Catalog.open(library.folder) as catalog:
        assert reaching(catalog, 0.9).not_reached == {"roses"}


# --- Photo by photo, and nothing to ask ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_questions_about_a_photo_come_together_in_every_order(library, order):
    whole = library.queue(order, by_image=True, limit=1000)
    images = [q.image for q in whole]
    blocks = [a for a, b in zip(images, [None, *images], strict=False) if a != b]
    assert len(blocks) == len(set(images)) < len(images)
    assert sorted(whole, key=repr) == sorted(library.queue(order, limit=1000), key=repr)
    first = library.queue(order, limit=1)[0]
    part = library.queue(order, by_image=True, limit=3)
    assert part == whole[:3]
    assert part[0].image == first.image


def test_why_there_is_nothing_to_review(library):
    with Catalog.open(library.folder, write=True) as catalog:
        assert why_nothing(catalog, "missing", "rose").startswith(
            "Nothing to review about rose: no tag was probably left out. 'topicture review' asks"
        )
        catalog.words.set_policy("sea", "never", None)
        assert "its policy is never to suggest it" in why_nothing(catalog, "uncertain", "sea")
        model = catalog.suggestions.newest().id
        catalog.suggestions.replace(model, [])
        told = why_nothing(catalog, "uncertain")
        assert "no suggestion is without an answer" in told
        assert told.endswith("'topicture review --order missing' asks whether you left tags out.")


def test_all_photos_tagged_leaves_nothing_to_suggest(tmp_path):
    library = make_library(tmp_path / "photos", n=24, tagged=24)
    learn(library)
    assert library.queue() == []
    told = library.why_nothing("uncertain")
    assert "all photos are tagged already" in told
    assert "--order missing" in told


def test_before_annotate_it_is_annotate_that_is_missing(tmp_path):
    library = make_library(tmp_path / "photos", n=24, tagged=16)
    library.learn("lsa", regions=False, workers=0)
    assert library.why_nothing("certain") == "Nothing to review; run 'topicture annotate' for suggestions."


def test_a_tag_that_is_not_in_use_is_told_from_one_without_questions(library):
    with Catalog.open(library.folder, write=True) as catalog:
        assert tag_in_use(catalog, " rose ") == "rose"
        catalog.words.merge(["rose"], "roses", "rename")
        with pytest.raises(DataNotFound, match="it is called 'roses' now"):
            tag_in_use(catalog, "rose")
        with pytest.raises(DataNotFound, match="'topicture tags' lists them"):
            tag_in_use(catalog, "rsoe")
