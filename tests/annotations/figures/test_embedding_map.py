"""The map of a collection: exported values, words that cover nothing, small pictures."""

import csv
import json
from itertools import combinations

import numpy as np
import pytest
from corpora import make_tiny_corpus

from topicture.annotations.figures.embedding_map import EmbeddingMap, draw_map, embedding_map
from topicture.annotations.figures.style import save_figure
from topicture.errors import NotFitted, TopictureError
from topicture.models.spaces.iwe import IWE


def make_map(rng, n_words=60, n_images=40, spread=1.0, n_dims=2):
    return EmbeddingMap(
        words=tuple(f"word{i}" for i in range(n_words)),
        word_counts=np.arange(n_words, 0, -1.0),
        word_places=spread * rng.normal(size=(n_words, n_dims)),
        image_ids=tuple(f"image{i}" for i in range(n_images)),
        image_places=rng.normal(size=(n_images, n_dims)),
    )


def labels_of(figure):
    return [text for text in figure.axes[0].texts if text.get_text()]


@pytest.fixture
def fitted(rng):
    corpus = make_tiny_corpus(rng)
    return IWE("empirical", n_init=1).fit(corpus), corpus


def test_the_map_of_a_model_has_its_places(fitted):
    model, corpus = fitted
    places = embedding_map(model)
    assert places.words == corpus.vocabulary.words
    assert places.image_ids == tuple(corpus.image_ids[corpus.tagged].tolist())
    np.testing.assert_array_equal(places.word_places, model.word_coordinates_)
    np.testing.assert_array_equal(places.word_counts, corpus.captions.toarray().sum(axis=0))
    others = embedding_map(model, corpus)
    assert len(others.image_ids) == 12
    np.testing.assert_array_equal(others.image_places, model.transform(corpus))


def test_a_model_must_be_fitted():
    with pytest.raises(NotFitted):
        embedding_map(IWE("empirical"))


def test_csv_and_json_hold_the_exact_places(rng, tmp_path):
    places = make_map(rng, n_words=4, n_images=3)
    places.to_csv(tmp_path / "map.csv")
    places.to_json(tmp_path / "map.json")
    rows = list(csv.DictReader((tmp_path / "map.csv").read_text().splitlines()))
    assert [row["kind"] for row in rows] == ["word"] * 4 + ["image"] * 3
    assert [row["name"] for row in rows[:4]] == list(places.words)
    read = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_array_equal(read, np.concatenate([places.word_places, places.image_places]))
    content = json.loads((tmp_path / "map.json").read_text())
    assert [word["count"] for word in content["words"]] == [4, 3, 2, 1]
    np.testing.assert_array_equal([image["place"] for image in content["images"]], places.image_places)


def test_a_name_is_no_formula(tmp_path):
    one = np.zeros((1, 3))
    EmbeddingMap(("=1+1",), np.ones(1), one, ("@image",), one).to_csv(tmp_path / "map.csv")
    rows = list(csv.DictReader((tmp_path / "map.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == ["'=1+1", "'@image"]
    assert list(rows[0]) == ["kind", "name", "count", "x1", "x2", "x3"]


@pytest.mark.parametrize("spread", [1.0, 0.05, 0.0], ids=["spread", "crowded", "one spot"])
def test_words_cover_no_other_word(rng, spread):
    figure = draw_map(make_map(rng, spread=spread), n_words=40, size=(6, 5))
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in labels_of(figure)]
    assert len(boxes) > 25
    frame = figure.axes[0].get_window_extent()
    for a, b in combinations(boxes, 2):
        assert min(a.x1, b.x1) <= max(a.x0, b.x0) or min(a.y1, b.y1) <= max(a.y0, b.y0)
    for box in boxes:
        assert box.x0 >= frame.x0 - 1
        assert box.x1 <= frame.x1 + 1


def test_commoner_words_are_larger_and_unseen_ones_are_left_out(rng):
    places = make_map(rng, n_words=10)
    counts = places.word_counts.copy()
    counts[4] = 0
    places = EmbeddingMap(places.words, counts, places.word_places, places.image_ids, places.image_places)
    sizes = {text.get_text(): text.get_fontsize() for text in labels_of(draw_map(places))}
    assert "word4" not in sizes
    assert sizes["word0"] > sizes["word3"] > sizes["word8"]


def test_small_pictures_cover_no_other(rng):
    places = make_map(rng)
    thumbnails = {image: rng.integers(0, 255, (30, 40, 3), dtype=np.uint8) for image in places.image_ids}
    figure = draw_map(places, thumbnails=thumbnails)
    figure.draw_without_rendering()
    boxes = [artist.get_window_extent() for artist in figure.axes[0].artists]
    assert 5 < len(boxes) < 40
    for a, b in combinations(boxes, 2):
        assert min(a.x1, b.x1) <= max(a.x0, b.x0) + 1 or min(a.y1, b.y1) <= max(a.y0, b.y0) + 1


def test_a_small_picture_of_an_unknown_image_is_refused(rng):
    with pytest.raises(TopictureError, match="not on the map"):
        draw_map(make_map(rng), thumbnails={"elsewhere": np.zeros((2, 2, 3), np.uint8)})


def test_the_same_map_is_the_same_file(rng, tmp_path):
    places = make_map(rng, n_words=12)
    first, second = (save_figure(draw_map(places), tmp_path / name) for name in ("a.png", "b.png"))
    assert first.read_bytes() == second.read_bytes()


def test_only_two_dimensions_can_be_drawn(rng):
    with pytest.raises(TopictureError, match="n_dims=2"):
        draw_map(make_map(rng, n_dims=3))
