"""What people's answers have shown of the probabilities that stood beside suggestions."""

import json

import pytest
from photo_folder import copy_library, learn, make_library, put

from topicture.app.promises import FEWEST_TOLD, promises_line, promises_told
from topicture.app.verbs.library import Library
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.decisions.promises import Promises, answered_promises


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    library.annotate(threshold=0.05, workers=0)
    return library


@pytest.fixture
def library(learned, tmp_path):
    copy_library(learned.folder.parent, tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def answered(library):
    with Catalog.open(library.folder) as catalog:
        return answered_promises(catalog.database)


def told(library):
    with Catalog.open(library.folder) as catalog:
        return promises_told(catalog)


def answer_all(library, questions):
    """Yes to every third."""
    for i, question in enumerate(questions):
        library.answer(question.image, question.word, "rejected" if i % 3 else "present")


def test_what_was_promised_is_what_stood_beside_the_suggestions(library):
    assert answered(library) is None
    questions = library.queue("random", limit=FEWEST_TOLD)
    answer_all(library, questions[:-1])
    assert answered(library).answers == FEWEST_TOLD - 1
    assert told(library) is None  # too few to say anything
    answer_all(library, questions)  # the same once more changes nothing
    found = told(library)
    assert found.answers == FEWEST_TOLD
    assert found.promised == pytest.approx(sum(q.probability for q in questions) / FEWEST_TOLD)
    assert found.came_true == pytest.approx(7 / FEWEST_TOLD)
    library.learn("lsa", regions=False, workers=0)  # what was promised then stays
    assert told(library) == found


def test_an_answer_that_was_taken_back_does_not_count(library):
    first, second = library.queue("certain", limit=2)
    library.answer(first.image, first.word, "rejected")
    library.answer(second.image, second.word, "rejected")
    library.undo()
    library.answer(first.image, first.word, "present")
    assert answered(library) == Promises(1, pytest.approx(first.probability), 1.0)
    library.delete_tag(first.word)
    assert answered(library) is None


def test_bulk_acceptances_and_what_was_said_of_them_are_no_answers(library):
    one, two, three = library.queue("certain", limit=3)
    with Catalog.open(library.folder, write=True) as catalog:
        bulk = [Decision(q.image, q.word, "present", 1, q.probability) for q in (one, two)]
        catalog.decisions.decide(bulk, "bulk")
    library.answer(one.image, one.word, "rejected")
    library.answer(three.image, three.word, "present")
    assert answered(library) == Promises(1, pytest.approx(three.probability), 1.0)


def test_a_bulk_acceptance_that_was_taken_back_is_forgotten(library):
    one = library.queue("certain", limit=1)[0]
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.decisions.decide([Decision(one.image, one.word, "present", 1, one.probability)], "bulk")
    library.undo()
    library.answer(one.image, one.word, "present")
    assert answered(library).answers == 1


def test_only_suggestions_about_photos_that_their_owner_has_not_tagged(library):
    library.annotate(everything=True, threshold=0.05, workers=0)
    asked = library.queue("certain", limit=1000)
    of_tagged = [q for q in asked if q.left_out][:5]
    of_untagged = [q for q in asked if not q.left_out][:5]
    assert (len(of_tagged), len(of_untagged)) == (5, 5)
    answer_all(library, of_tagged + of_untagged)
    library.decide(of_untagged[0].image, ["unheard-of"], "present")  # nobody had suggested that
    assert answered(library).answers == 5


def test_photos_that_are_gone_do_not_count(library):
    question = library.queue("certain", limit=1)[0]
    library.answer(question.image, question.word, "present")
    library.path(question.image).unlink()
    put(library.folder.parent / "new.txt", b"")
    library.scan()
    assert answered(library) is None


def test_a_line_claims_no_more_than_was_answered():
    line = promises_line(Promises(200, 0.27, 0.405))
    assert line == "Of 200 answers about suggestions, 27% were promised and 40% came true."


def test_commands_tell_it(library, topicture, monkeypatch):
    monkeypatch.chdir(library.folder.parent)
    assert json.loads(topicture("evaluate", "--json")[1])["promises"] is None
    assert "about suggestions" not in topicture("evaluate")[1]
    answer_all(library, library.queue("random", limit=FEWEST_TOLD))
    found = told(library)
    line = promises_line(found)
    assert json.loads(topicture("evaluate", "--json")[1])["promises"] == found._asdict()
    assert line in topicture("evaluate")[1].splitlines()
    assert line in topicture("explain", "--workers", 0)[1].splitlines()
    arguments = ("learn", "--model", "lsa", "--no-regions", "--workers", 0)
    assert line in topicture(*arguments)[1].splitlines()
    assert json.loads(topicture(*arguments, "--json")[1])["promises"] == found._asdict()
