"""An owner whose files have no keywords, and who tags some photos here: these are captions like those of files."""

import numpy as np
import pytest
from photo_folder import make_library, words_of

from topicture.app.learning.training_tags import gather
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

N, N_TYPED = 96, 60


def number(path):
    return int(str(path).rsplit("-", 1)[1].removesuffix(".jpg"))


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Nothing but a yes was ever said, as `topicture tag` and the page say it."""
    library = make_library(tmp_path_factory.mktemp("photos"), n=N, tagged=0)
    with Catalog.open(library.folder) as catalog:
        photos = {number(image.path): image.image for image in catalog.files.living()}
    for n in range(N_TYPED):
        for word in set(words_of(n)):
            library.answer(photos[n], word, "present")
    library.learn("knn", regions=False, workers=0)
    library.annotate(workers=0)
    return library


def test_they_are_learned_from_as_captions(typed):
    with Catalog.open(typed.folder) as catalog:
        tags = gather(catalog, 3)
    assert tags.captioned.sum() == N_TYPED
    assert np.array_equal(tags.given, tags.truth)
    assert tags.known[tags.captioned].all()
    assert not tags.known[~tags.captioned].any()
    assert tags.answers.nnz == 0


def test_what_they_lack_is_thought_not_to_be_there(typed):
    """Nothing that was said is a no: were only what was said known, everything would be suggested."""
    suggested = typed.queue("certain", limit=1000)
    assert {number(q.path) for q in suggested} <= set(range(N_TYPED, N))
    right = np.array([q.word in words_of(number(q.path)) for q in suggested])
    p = np.array([q.probability for q in suggested])
    assert right[p > 0.5].mean() > 0.8
    assert len(suggested) < 0.8 * (N - N_TYPED) * 4
    assert typed.evaluate()["measured"]
    assert typed.explain(workers=0)


def test_what_they_lack_may_have_been_left_out(typed):
    asked = typed.queue("missing", limit=50)
    assert asked
    assert {number(q.path) for q in asked} <= set(range(N_TYPED))


# --- Typed words beside captions of files -------------------------------------------------------------------------


@pytest.fixture
def captioned(tmp_path):
    """The first 48 photos have their words in their files."""
    return make_library(tmp_path / "photos", n=N)


def said(library, verdicts):
    """What is learned from after verdicts (number, word, verdict, what the model had told or None)."""
    with Catalog.open(library.folder, write=True) as catalog:
        photos = {number(image.path): image.image for image in catalog.files.living()}
        catalog.decisions.decide(
            [Decision(photos[n], word, verdict, 1, p) for n, word, verdict, p in verdicts], "review"
        )
        tags = gather(catalog, 3)
    numbers = [number(image.path) for image in tags.images]
    return {
        (numbers[row], tags.vocabulary[word]) for row, word in zip(*np.nonzero(tags.answered), strict=True)
    }


def test_words_that_were_typed_and_never_denied_are_no_sample_of_promises(captioned):
    """Chosen because they are true there: they would say that whatever is told of the word comes true."""
    typed = [(n, "rose", "present", None) for n in range(60, 70)]
    assert said(captioned, [*typed, (70, "sea", "present", 0.6)]) == {(70, "sea")}


def test_what_was_suggested_is_a_sample_and_so_is_a_word_that_was_taught_both_ways(captioned):
    verdicts = [(60, "rose", "present", 0.4), (61, "rose", "rejected", 0.7), (62, "rose", "present", None)]
    taught = [(63, "sea", "present", None), (64, "sea", "rejected", None)]
    assert said(captioned, verdicts + taught) == {(60, "rose"), (61, "rose"), (63, "sea"), (64, "sea")}
