"""Answers that others find are those that are found here, however often they are asked."""

import numpy as np
import pytest
from photo_folder import jpeg, learn, make_library, put

from topicture.app.learning.annotated import answers_elsewhere
from topicture.app.learning.annotated.answers_elsewhere import presence_blocks
from topicture.app.learning.learning import look_at
from topicture.app.learning.model_folder import load_learned
from topicture.app.progress import silent
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
