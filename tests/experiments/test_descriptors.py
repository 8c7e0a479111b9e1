"""The comparison of descriptors on tiny painted pictures, where colour alone tells the words."""

import io
import re
import zipfile
from datetime import date
from functools import partial

import numpy as np
import pytest
from PIL import Image
from topicture_experiments.descriptors import main as descriptors
from topicture_experiments.descriptors.images import REFERENCE_RULE, described, image_rows
from topicture_experiments.descriptors.report import PUBLISHED
from topicture_experiments.shared.region_truth import RegionTruth, msrc_label_maps, region_truth

from topicture.corpus import Corpus
from topicture.corpus.datasets import MSRC, Corel5k
from topicture.errors import CorpusError
from topicture.models.registry import make_annotator
from topicture.vision.recipe import Recipe

COLOURS = {"sky": (90, 150, 230), "grass": (50, 140, 40), "sand": (225, 200, 130), "brick": (170, 60, 40)}
WORDS = tuple(COLOURS)
PALETTE = np.array(list(COLOURS.values()))
HEIGHT, WIDTH = 48, 64
BLOBS = {"blobs": Recipe(("regions:blobs",), segmentation="grid")}


def encoded(pixels, kind):
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, kind)
    return buffer.getvalue()


def class_map(above, below):
    rows = np.arange(HEIGHT) < HEIGHT // 2
    return np.broadcast_to(np.where(rows, above, below)[:, None], (HEIGHT, WIDTH)).copy()


@pytest.fixture(scope="module")
def painted(tmp_path_factory):
    """Twenty-four pictures of two of the four things, one above the other: (captions, image archive, mask archive)."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("painted")
    captions = np.zeros((24, len(WORDS)))
    with (
        zipfile.ZipFile(folder / "images.zip", "w") as images,
        zipfile.ZipFile(folder / "masks.zip", "w") as masks,
    ):
        for i, caption in enumerate(captions):
            above, below = rng.permutation(len(WORDS))[:2]
            caption[[above, below]] = 1
            classes = class_map(above, below)
            jpeg = encoded(np.clip(PALETTE[classes] + rng.normal(0, 12, (HEIGHT, WIDTH, 3)), 0, 255), "JPEG")
            images.writestr(f"p{i:02d}.jpeg", jpeg)
            images.writestr(f"p{i:02d}.jpg", jpeg)
            classes[:, :4] = -1  # a void strip at the left
            masks.writestr(f"p{i:02d}.png", encoded(classes + 1, "PNG"))
    corpus = Corpus.from_arrays(
        captions=captions, vocabulary=WORDS, image_ids=[f"p{i:02d}" for i in range(len(captions))]
    )
    return corpus, folder / "images.zip", folder / "masks.zip"


@pytest.fixture(scope="module")
def corel(painted):
    corpus, images, _ = painted
    return Corel5k(corpus[:16], corpus[16:], images)


@pytest.fixture(scope="module")
def msrc(painted):
    corpus, images, masks = painted
    return MSRC(corpus[:16], corpus[16:], images, masks, np.array([-1, 0, 1, 2, 3]), {})


@pytest.fixture(scope="module")
def corr_lda():
    return {"Corr-LDA": partial(make_annotator, "corr-lda", n_topics=4, max_iter=20, seed=0)}


@pytest.fixture(scope="module")
def image_table(corel, corr_lda):
    recipes = {"colours": Recipe(("colour-layout",)), **BLOBS}
    return descriptors.compare_on_corel(corel, recipes, models=corr_lda, workers=0)


@pytest.fixture(scope="module")
def region_table(msrc, corr_lda):
    return descriptors.compare_on_msrc(msrc, BLOBS, models=corr_lda, workers=0)


# --- Images -----------------------------------------------------------------------------------------------------


def test_every_descriptor_is_annotated_by_every_annotator_that_can(image_table):
    assert [(row.descriptor, row.annotator) for row in image_table] == [
        ("colours", "vote"),
        ("colours", "vote, fixed rule"),
        ("blobs", "vote"),
        ("blobs", "vote, fixed rule"),
        ("blobs", "Corr-LDA"),
    ]
    assert image_table[1].rule == REFERENCE_RULE
    assert image_table[4].rule is None
    assert image_table[0].n_columns == 648


def test_five_words_of_four_find_everything(image_table):
    assert all(row.measures.recall == 1.0 for row in image_table if "vote" in row.annotator)
    assert all(row.measures.n_words == 4 for row in image_table)


def test_training_images_alone_are_learned_from(corel):
    part = described(corel, BLOBS["blobs"], workers=0)
    np.testing.assert_allclose(part.train.regions.mean(axis=0), 0, atol=1e-3)
    assert np.abs(part.test.regions.mean(axis=0)).max() > 0.05
    np.testing.assert_array_equal(part.test.captions.toarray(), corel.test.captions.toarray())


def test_image_rows_are_descriptor_bag_or_mean(tiny_corpus):
    full = tiny_corpus[3:]
    np.testing.assert_array_equal(image_rows(full), full.descriptor)
    bags = Corpus.from_arrays(captions=full.captions, visual_words=full.visual_words)
    np.testing.assert_array_equal(image_rows(bags), full.visual_words.toarray())
    alone = {"captions": full.captions, "region_offsets": full.region_offsets}
    rows = image_rows(Corpus.from_arrays(regions=full.regions, **alone))
    start, end = full.region_offsets[4:6]
    np.testing.assert_allclose(rows[4], full.regions[start:end].mean(axis=0))


def test_an_image_without_a_row_is_refused(tiny_corpus):
    lacking = Corpus.from_arrays(
        captions=tiny_corpus.captions, regions=tiny_corpus.regions, region_offsets=tiny_corpus.region_offsets
    )
    with pytest.raises(CorpusError, match="no row"):
        image_rows(lacking)


def test_an_unreadable_picture_stops_the_comparison(corel, tmp_path):
    with zipfile.ZipFile(corel.archive) as given, zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        for name in given.namelist():
            bad.writestr(name, b"no picture" if name == "p03.jpeg" else given.read(name))
    with pytest.raises(CorpusError, match="p03"):
        described(Corel5k(corel.train, corel.test, tmp_path / "bad.zip"), BLOBS["blobs"], workers=0)


# --- Regions ----------------------------------------------------------------------------------------------------


def test_regions_are_labelled_by_colour(region_table):
    by_name = {row.annotator: row for row in region_table}
    assert list(by_name) == ["most frequent word", "vote of true words", "vote of captions", "Corr-LDA"]
    told = by_name["vote of true words"]
    assert told.top_1 >= 0.95 > by_name["most frequent word"].top_1
    assert all(row.top_1 <= row.top_3 <= 1 for row in region_table)
    assert all(row.pixels <= row.ceiling for row in region_table)
    assert by_name["Corr-LDA"].top_1 > by_name["most frequent word"].top_1


def test_region_truth_counts_pixels_and_leaves_void_out():
    classes = np.array([[0, 0, 2, -1], [1, 0, 2, -1]])
    labels = np.array([[0, 0, 1, 2], [0, 0, 1, 2]])
    truth = RegionTruth(region_truth(classes, labels, 3))
    np.testing.assert_array_equal(truth.pixels, [[3, 1, 0], [0, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(truth.words, [0, 2, -1])
    assert truth.ceiling == 5 / 6
    assert truth.pixel_accuracy(np.eye(3)[[1, 2, 0]]) == 3 / 6
    assert truth.pixel_accuracy(np.eye(3)[[0, 2, 1]]) == truth.ceiling


def test_maps_of_different_sizes_are_refused():
    with pytest.raises(CorpusError, match="pixels"):
        region_truth(np.zeros((4, 4), int), np.zeros((2, 4), int), 1)


def test_label_maps_are_kept_in_the_cache(msrc, tmp_path, monkeypatch):
    fresh = msrc_label_maps(msrc, msrc.test.image_ids, BLOBS["blobs"], tmp_path)
    monkeypatch.setattr(
        "topicture_experiments.shared.region_truth.photo_regions", lambda *given: pytest.fail("again")
    )
    kept = msrc_label_maps(msrc, msrc.test.image_ids, BLOBS["blobs"], tmp_path)
    assert list(kept) == list(fresh) == msrc.test.image_ids.tolist()
    assert all(np.array_equal(kept[image], fresh[image]) for image in fresh)
    assert next(iter(kept.values())).dtype == next(iter(fresh.values())).dtype


# --- Page -------------------------------------------------------------------------------------------------------


def test_page_holds_every_row_and_the_published_figures(image_table, region_table):
    page = descriptors.markdown(
        image_table, region_table, command="make it", facts=["Seed 0."], day=date(2026, 1, 2)
    )
    assert "`make it` on 2026-01-02" in page
    assert "Seed 0." in page
    tables = re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE)
    assert [len(table.splitlines()) - 2 for table in tables] == [
        len(image_table),
        len(PUBLISHED),
        len(region_table),
    ]
    assert all(len({line.count("|") for line in table.splitlines()}) == 1 for table in tables)
    assert f"| {image_table[0].measures.f1:.3f} |" in tables[0]
    assert f"| {region_table[1].top_1:.3f} |" in tables[2]


def test_command_writes_the_page_and_names_no_folder_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(
        descriptors, "run", lambda data, **given: f"{data.name} {given['quick']} {given['command']}"
    )
    out = tmp_path / "results" / "page.md"
    assert descriptors.main(["--data", str(tmp_path / "sets"), "--quick", "--out", str(out)]) == 0
    page = out.read_text()
    assert page.startswith("sets True python -m topicture_experiments.descriptors.main --data DIR --quick")
    assert str(tmp_path) not in page


def test_command_without_data_says_so_in_one_line(tmp_path, capsys):
    assert descriptors.main(["--data", str(tmp_path), "--out", str(tmp_path / "page.md")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("descriptors: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "page.md").exists()
