"""Answers that others find are those that are found here, however often they are asked."""

import shutil

import numpy as np
import pytest
from photo_folder import jpeg, learn, make_library, put

from topicture.app.learning.annotated import answers_elsewhere
from topicture.app.learning.annotated.answers_elsewhere import presence_blocks
from topicture.app.learning.learning import look_at
from topicture.app.learning.model_folder import load_learned
from topicture.app.progress import silent
from topicture.app.verbs.library import Library
from topicture.elsewhere import Engine, working_on
from topicture.store import Catalog


class OneByOne(Engine):
    """An engine whose one worker is this process."""

    def __init__(self, folder):
        self.folder = folder

    def shards(self, batches, posteriors):
        return None

    def measure(self, job, tasks, timeout, memory):
        raise AssertionError("the photos are measured here")

    def in_order(self, function, calls):
        return (function(*call) for call in calls)


@pytest.fixture
def photos(tmp_path):
    """What is asked about: the model, where it lies, and two sets of photos."""
    library = make_library(tmp_path / "photos", n=32, tagged=24)
    learn(library)
    for number in range(32, 40):
        put(library.folder.parent / f"new-{number}.jpg", jpeg(number))
    library.scan()
    with Catalog.open(library.folder) as catalog:
        folder = catalog.model_folder(catalog.suggestions.newest())
        learned, images = load_learned(folder, regions=False), catalog.files.living()
        corpora = [
            look_at(catalog, some, learned.features, 0, silent, vocabulary=learned.vocabulary).corpus
            for some in (images[:30], images[5:])
        ]
    return learned, folder, corpora


def test_each_time_the_photos_are_those_that_are_asked_about(photos, tmp_path, monkeypatch):
    learned, folder, corpora = photos
    monkeypatch.setattr(answers_elsewhere, "BLOCK_IMAGES", 16)
    (tmp_path / "shared").mkdir()
    for corpus in corpora:
        places = [""] * len(corpus)
        with working_on(OneByOne(tmp_path / "shared")):
            found = np.concatenate([p for _, p in presence_blocks(learned, folder, corpus, places)])
        assert np.array_equal(found, learned.presence(corpus, places))
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_model_in_the_place_of_another_is_read_anew(photos, tmp_path):
    """As in a catalog that was removed and begun again: its models have the names of the former ones."""
    learned, folder, (corpus, _) = photos
    places = [""] * len(corpus)
    (tmp_path / "shared").mkdir()
    engine = OneByOne(tmp_path / "shared")
    with working_on(engine):
        assert list(presence_blocks(learned, folder, corpus, places))
    learn(Library.find(None, folder.parent.parent), "knn")
    shutil.rmtree(folder)
    (folder.parent / "0002").rename(folder)
    other = load_learned(folder, regions=False)
    with working_on(engine):
        found = np.concatenate([p for _, p in presence_blocks(other, folder, corpus, places)])
    assert np.array_equal(found, other.presence(corpus, places))
