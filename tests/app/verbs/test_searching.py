"""The tool ranks as the library does; what people said is the only difference."""

import numpy as np
import pytest
from photo_folder import make_library

from topicture.app.verbs.searching import search
from topicture.corpus import Vocabulary
from topicture.search import WordIndex
from topicture.store import Catalog

WORDS = Vocabulary(["Tiger", "grass", "tiger", "water"])
N = 12


@pytest.fixture
def catalog(tmp_path, rng):
    """Photos that nobody has tagged, and an index of what a model thinks of them; a tiger is written in two ways."""
    library = make_library(tmp_path / "photos", n=N, tagged=0)
    with Catalog.open(library.folder, write=True) as catalog:
        images = np.arange(1, N + 1)
        presence = rng.uniform(0.2, 0.6, (N, 4))
        presence[0] = [0.5, 0.5, 0.5, 0.5]  # either spelling is likely, but they may be wrong together
        presence[1] = [0.0, 0.5, 0.8, 0.5]
        with catalog.new_folder("index") as (name, folder):
            WordIndex.build(folder, WORDS, [str(n) for n in images], [presence])
            np.save(folder / "images.npy", images)
        catalog.set("index", name)
        yield catalog


@pytest.mark.parametrize("text", ["tiger", "grass -water", "TIGER grass -water", "-tiger"])
def test_tool_and_library_give_the_same_ranking(catalog, text):
    of_tool = search(catalog, text, N)
    of_library = WordIndex.open(catalog.index_folder()).search(text, N)
    assert [hit.image for hit in of_tool] == [int(hit.image_id) for hit in of_library]
    assert [hit.probability for hit in of_tool] == [np.exp(hit.score) for hit in of_library]
    assert [hit.words for hit in of_tool] == [hit.probabilities for hit in of_library]
    assert len(of_tool) == N
