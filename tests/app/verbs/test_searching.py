"""The tool ranks as the library does; what people said is the only difference."""

import numpy as np
import pytest
from photo_folder import make_library

from topicture.app.verbs.searching import search
from topicture.corpus import Vocabulary
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.regions import Box

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


def place(catalog, boxes):
    """Give images boxes: image -> word -> certainty."""
    with catalog.database.transaction():
        model = catalog.suggestions.add_model("0001", "lsa", 1, {})
        for word in WORDS:
            catalog.decisions.word_id(word)
    found = {
        image: [Box(word, 0, 0, 0.5, 0.5, certainty) for word, certainty in words.items()]
        for image, words in boxes.items()
    }
    catalog.regions.replace(model, found)


def test_photos_where_all_words_have_a_region_come_first(catalog):
    """Both have a region on photo 5, one on photo 6; the probabilities themselves stay as they are."""
    before = {hit.image: hit.probability for hit in search(catalog, "grass water", N)}
    place(catalog, {5: {"grass": 0.9, "water": 0.8}, 6: {"grass": 0.9}})
    after = search(catalog, "grass on water", N)
    assert {hit.image: hit.probability for hit in after} == before
    ranks = {hit.image: n for n, hit in enumerate(after)}
    expected = sorted(before, key=lambda image: -before[image] * (1.8 if image == 5 else 1))
    assert sorted(ranks, key=ranks.__getitem__) == expected
    assert {hit.image: hit.regions for hit in after if hit.regions} == {5: ("grass", "water"), 6: ("grass",)}


def test_one_word_alone_prefers_nothing(catalog):
    before = search(catalog, "grass", N)
    place(catalog, {5: {"grass": 0.9}})
    assert [hit.image for hit in search(catalog, "grass", N)] == [hit.image for hit in before]
