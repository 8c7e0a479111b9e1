"""Reviewing goes on while it learns: the lock is held to read and to store, and what was decided meanwhile counts."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from photo_folder import RECIPE, make_photos

from topicture.app.verbs.library import Library
from topicture.store import CatalogBusy
from topicture.store.safety.lock import PATIENCE


@pytest.fixture
def library(photos):
    return Library(photos / ".topicture")


def open_pairs(library):
    return [(question.image, question.word) for question in library.queue(limit=1000)]


def test_a_decision_can_be_made_in_the_midst_of_learning(library):
    image, word = open_pairs(library)[0]
    steps = []

    def decide_at_once(stage, done, total):
        if not steps:
            steps.append(library.answer(image, word, "present"))  # would be refused while the lock is held

    before = len(library.models())
    library.learn("lsa", regions=False, workers=0, report=decide_at_once)
    assert steps[0] is not None
    assert len(library.models()) == before + 1
    assert (image, word) not in open_pairs(library)


@pytest.mark.parametrize("verdict", ["present", "rejected"])
def test_what_is_decided_while_suggestions_are_made_is_not_suggested(library, verdict):
    image, word = open_pairs(library)[0]
    decided = []

    def decide_late(stage, done, total):
        if stage == "Annotating" and not decided:
            decided.append(library.answer(image, word, verdict))

    library.annotate(workers=0, again=True, report=decide_late)
    assert decided
    with library.reading() as catalog:
        model = catalog.suggestions.newest().id
        assert catalog.suggestions.probability(model, image, word) is None
        assert catalog.suggestions.probability(model, *open_pairs(library)[0]) is not None


@pytest.mark.slow  # learns
def test_two_who_learn_at_once_both_get_their_model(library):
    before = len(library.models())
    other = threading.Thread(target=lambda: library.learn("knn", regions=False, workers=0))
    library.learn("lsa", regions=False, workers=0, report=lambda *_: None if other.ident else other.start())
    other.join(120)
    models = library.models()
    assert len(models) == before + 2
    assert {model.name for model in models[:2]} == {"lsa", "knn"}
    assert library.check() == []


def test_the_lock_is_waited_for_at_the_end_however_long_that_takes(library):
    writes = threading.Event()

    def write_for_a_while():
        with library.writing("scan"):
            writes.set()
            time.sleep(PATIENCE + 0.3)

    with library.writing("learn") as catalog:
        other = threading.Thread(target=write_for_a_while)
        with catalog.others_may_write("learn"):
            other.start()
            assert writes.wait(5)
        other.join(10)
        with pytest.raises(CatalogBusy, match="'topicture learn'"):
            library.writing("review")
    library.writing("review").close()


def test_work_that_fails_leaves_the_lock_free(library):
    with library.writing("learn") as catalog:
        with pytest.raises(ZeroDivisionError), catalog.others_may_write("learn"):
            raise ZeroDivisionError
        library.writing("review").close()


@pytest.mark.slow  # learns
def test_a_kill_in_the_midst_of_learning_leaves_the_catalog_whole(tmp_path):
    library = Library.create(make_photos(tmp_path / "photos"), recipe=RECIPE)
    library.scan()
    code = (
        "import sys, time; from topicture.app.verbs.library import Library\n"
        "def report(stage, done, total):\n"
        "    print(stage, flush=True); time.sleep(60)\n"
        "Library(sys.argv[1]).learn('lsa', regions=False, workers=0, report=report)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(library.folder)], stdout=subprocess.PIPE, env=os.environ
    ) as child:
        assert child.stdout.readline()
        started = time.monotonic()
        with library.reading() as catalog:
            image = catalog.files.living()[0].image
        assert library.answer(image, "holiday", "present") is not None  # nobody holds the lock
        assert time.monotonic() - started < 2
        child.send_signal(signal.SIGKILL)
    assert library.check() == []
    assert library.models() == []
    assert [tag.word for tag in library.tags(library.path(image)) if tag.word == "holiday"] == ["holiday"]
    library.learn("lsa", regions=False, workers=0)
    assert len(library.models()) == 1
