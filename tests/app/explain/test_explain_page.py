"""Pictures and sentences of the page."""

import base64
import dataclasses
import io

import numpy as np
import pytest
from photo_folder import learn, make_library
from PIL import Image

from topicture.annotations.choice.quality_curves import Gain
from topicture.app.explain import held_out
from topicture.app.explain.explanation import ExplainedWord, NamedConfusion
from topicture.app.explain.page import page_of
from topicture.app.explain.pictures import HEIGHT, WIDTH, Pictures
from topicture.app.explain.sentences import sentences
from topicture.app.learning.model_folder import load_learned, save_learned
from topicture.app.verbs.library import Library
from topicture.models.blends.auto import Auto
from topicture.store import Catalog
from topicture.vision.recipe import Recipe

RECIPE = Recipe(("regions:blobs",), max_side=64, segmentation="grid", min_regions=4, max_regions=4)


def decoded(address):
    kind, content = address.removeprefix("data:").split(";base64,")
    return kind, np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGB"), float)


@pytest.fixture
def photo(tmp_path):
    """Four quadrants in four colours."""
    colours = np.array([[[220, 30, 30], [30, 200, 30]], [[30, 30, 220], [220, 200, 30]]], np.uint8)
    Image.fromarray(colours.repeat(24, axis=0).repeat(32, axis=1)).save(tmp_path / "photo.png")
    return "photo.png"


def test_a_photo_becomes_a_small_picture(tmp_path, photo):
    Image.new("RGB", (900, 300), "red").save(tmp_path / "wide.jpg")
    kind, pixels = decoded(Pictures(tmp_path, RECIPE).of("wide.jpg"))
    assert kind == "image/jpeg"
    assert pixels.shape[1] == WIDTH
    assert pixels.shape[0] <= HEIGHT


def test_a_region_is_in_colour_and_the_rest_is_not(tmp_path, photo):
    _, pixels = decoded(Pictures(tmp_path, RECIPE).of(photo, 0))
    saturation = pixels.max(axis=2) - pixels.min(axis=2)
    assert saturation[: len(saturation) // 3, : saturation.shape[1] // 3].mean() > 100
    assert saturation[-6:].mean() < 30
    assert 1.2 < pixels.shape[1] / pixels.shape[0] < 1.5  # the shape of a picture, whatever the region's


@pytest.mark.parametrize("region", [None, 0, 99])
def test_what_can_not_be_read_is_an_empty_frame(tmp_path, photo, region):
    pictures = Pictures(tmp_path, RECIPE)
    (tmp_path / "broken.jpg").write_bytes(b"no photo")
    frame = decoded(pictures.of("gone.jpg", region))
    assert frame[0] == "image/png"
    assert frame[1].shape == (HEIGHT, WIDTH, 3)
    np.testing.assert_array_equal(decoded(pictures.of("broken.jpg", region))[1], frame[1])
    if region == 99:  # the photo was edited, and has fewer regions now
        np.testing.assert_array_equal(decoded(pictures.of(photo, region))[1], frame[1])


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"), n=32, tagged=24)
    learn(library)
    return library, library.explain(workers=0)


def test_photos_that_vanish_before_the_page_is_drawn_leave_frames(explained, tmp_path):
    library, explanation = explained
    page = page_of(explanation, tmp_path, RECIPE)
    with_photos = page_of(explanation, library.folder.parent, RECIPE)
    assert "data:image/jpeg" not in page
    assert "data:image/jpeg" in with_photos
    assert page.count("<img") == with_photos.count("<img")


def test_a_catalog_that_can_not_be_written_only_costs_time(explained, monkeypatch, tmp_path):
    library, explanation = explained

    def refuse(*_):
        raise OSError("read-only")

    monkeypatch.setattr("topicture.app.explain.held_out.write_model", refuse)
    for kept in (library.folder / "models").rglob("held-out-*"):
        kept.unlink()
    again = Library(library.folder).explain(out=tmp_path / "page.html", workers=0)
    assert dataclasses.replace(again, page="") == dataclasses.replace(explanation, page="")


def test_a_large_collection_is_judged_on_a_sample(explained, monkeypatch, tmp_path):
    monkeypatch.setattr(held_out, "MOST_PHOTOS", 20)
    monkeypatch.setattr(held_out, "MOST_TAGGED", 12)
    for kept in (explained[0].folder / "models").rglob("held-out-*"):
        kept.unlink()
    sampled = explained[0].explain(out=tmp_path / "page.html", workers=0)
    assert explained[1].judged == 24
    assert sampled.judged == 12
    assert sampled.calibration == explained[1].calibration  # as `learn` found it, on all
    assert sampled.photos == 32


def test_a_blend_is_told_with_its_members(explained, tmp_path):
    library, _ = explained
    with Catalog.open(library.folder) as catalog:
        folder = catalog.model_folder(catalog.suggestions.models()[0])
        learned = load_learned(folder)
        corpus = held_out.gather_answers(catalog, learned, folder, workers=0).corpus
    blend = Auto(["knn", "lsa"]).fit(corpus)
    save_learned(tmp_path / "blend", dataclasses.replace(learned, annotator=blend))
    found = library.explain(str(tmp_path / "blend"), tmp_path / "page.html", workers=0)
    assert {name for name, _ in found.members} <= {f"{m.name} on {m.view}" for m in blend.members_}
    assert sum(share for _, share in found.members) == pytest.approx(1, abs=0.01)
    assert {row["member"] for row in found.tried} == {"knn on descriptor", "lsa on descriptor"}
    assert sum(row["share"] for row in found.tried) == pytest.approx(1)
    assert [model.model for model in found.topic_models] == [
        name for name, _ in found.members if name.startswith("lsa")
    ]
    assert "Perplexity" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- Sentences --------------------------------------------------------------------------------------------------------


def word(name, photos, value):
    return ExplainedWord(name, photos, 0, 0, float("nan"), 0.0, value)


def test_best_and_worst_words_are_those_on_enough_photos(explained):
    table = (word("a", 9, 0.9), word("b", 5, 0.2), word("c", 6, 0.5), word("rare", 4, 1.0), word("d", 7, 0.1))
    said = sentences(dataclasses.replace(explained[1], word_table=table))["words"]
    assert said.startswith(
        "Found best: a (0.90, 9 photos), c (0.50, 6 photos). Found worst: d (0.10, 7 photos), b"
    )
    assert "rare" not in said
    few = dataclasses.replace(explained[1], word_table=table[3:4])
    assert "too few to compare" in sentences(few)["words"]


def test_confusions_are_told(explained):
    found = (NamedConfusion("sea", "lake", 3, 8),)
    said = sentences(dataclasses.replace(explained[1], confusions=found))["confusions"]
    assert said == "Most often, lake is suggested where sea was meant: on 3 of the 8 photos with sea."
    none = dataclasses.replace(explained[1], confusions=())
    assert sentences(none)["confusions"] == "No word was suggested where another was meant."


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [
        (0.1, 0.01, "should bring somewhat less than +0.10"),
        (0.01, 0.02, "not clearly above chance"),
        (0.1, float("nan"), "a single trial"),
    ],
)
def test_what_more_tags_would_buy(explained, gain, error, said):
    explanation = dataclasses.replace(explained[1], gain=Gain(50, 100, gain, error))
    assert said in sentences(explanation)["learning"]
