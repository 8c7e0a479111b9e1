"""The sample collection: same seed, same pictures; captions and label maps that agree with each other."""

import csv
import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from topicture.demo.scenes import (
    SCENE_WORDS,
    VOCABULARY,
    parallel,
    render_scene,
    render_scenes,
    write_collection,
)
from topicture.demo.scenes.vocabulary import choose_caption, visible_words, word_index
from topicture.errors import ImageError, TopictureError

SEED = 7


@pytest.fixture(scope="module")
def scenes():
    return list(render_scenes(80, SEED))


def same(a, b):
    return (
        (a.image_id, a.words, a.present) == (b.image_id, b.words, b.present)
        and np.array_equal(a.pixels, b.pixels)
        and np.array_equal(a.labels, b.labels)
    )


def assert_consistent(scene):
    """What must hold of every scene, whatever it shows."""
    named = {VOCABULARY[index] for index in np.unique(scene.labels) if index >= 0}
    assert named == set(scene.present) - SCENE_WORDS
    assert set(scene.words) <= set(scene.present)
    assert 2 <= len(scene.words) <= 6
    assert len(set(scene.words)) == len(scene.words)
    assert (scene.pixels.dtype, scene.labels.dtype) == (np.uint8, np.int16)
    assert scene.pixels.shape == (*scene.labels.shape, 3)


# --- Determinism ----------------------------------------------------------------------------
def test_an_image_does_not_depend_on_its_neighbours(scenes):
    for index in (0, 41, 79):
        assert same(render_scene(SEED, index), scenes[index])


def test_worker_processes_change_nothing(scenes):
    assert all(same(a, b) for a, b in zip(render_scenes(7, SEED, workers=3), scenes[:7], strict=True))


def test_seeds_and_indices_make_different_pictures(scenes):
    assert len({scene.pixels.tobytes() for scene in scenes}) == len(scenes)
    assert not np.array_equal(render_scene(SEED + 1, 0).pixels, scenes[0].pixels)


def test_a_larger_picture_shows_the_same_scene(scenes):
    for index in range(6):
        small, large = scenes[index], render_scene(SEED, index, 512, 384)
        agree = small.labels == large.labels[::2, ::2]
        assert agree.mean() > 0.85
        shrunk = large.pixels.reshape(192, 2, 256, 2, 3).mean((1, 3))
        assert np.abs(shrunk - small.pixels).mean() < 12


def test_an_abandoned_iteration_leaves_no_process():
    stream = render_scenes(50, SEED, 64, 48, workers=2)
    next(stream)
    stream.close()  # would hang, or warn of a running child, were the workers not ended
    with pytest.raises(StopIteration):
        next(stream)


def test_a_worker_that_dies_is_reported(monkeypatch):
    monkeypatch.setattr(parallel, "_SERVE", ("child_work", "reads_and_ends"))
    with pytest.raises(TopictureError, match="scene 0 was not rendered"):
        list(render_scenes(4, SEED, workers=2))


# --- Words and regions ----------------------------------------------------------------------
def test_vocabulary():
    assert len(VOCABULARY) >= 40
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert set(VOCABULARY) > SCENE_WORDS
    assert [word_index(word) for word in VOCABULARY] == list(range(len(VOCABULARY)))


def test_scenes_are_consistent(scenes):
    for scene in scenes:
        assert_consistent(scene)
        assert scene.pixels.shape == (192, 256, 3)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(32, 200), st.integers(32, 200))
def test_any_seed_and_size(seed, index, width, height):
    scene = render_scene(seed, index, width, height)
    assert_consistent(scene)
    assert scene.pixels.shape == (height, width, 3)
    assert scene.pixels.std() > 2  # a picture, not a flat card


def test_label_borders_lie_on_edges_of_the_picture(scenes):
    """Brightness changes more across a border of the label map than inside a region."""
    ratios = []
    for scene in scenes:
        grey = scene.pixels.mean(-1)
        step = np.abs(np.diff(grey, axis=0))
        border = np.diff(scene.labels, axis=0) != 0
        ratios.append(step[border].mean() / step[~border].mean())
    assert np.median(ratios) > 3


def test_regions_look_like_their_words(scenes):
    """Averaged over pictures, the sun outshines the sky, and snow by day is paler than a street."""

    def brightness(word, time_words=frozenset({"night", "sunset", "fog"})):
        masks = [(s.pixels, s.labels == word_index(word)) for s in scenes if not time_words & set(s.present)]
        return np.concatenate([pixels[mask].mean(-1) for pixels, mask in masks]).mean()

    assert brightness("sun") > 235
    assert brightness("sun") > brightness("sky") + 40
    assert brightness("snow") > brightness("street") + 60


def test_too_small_to_see_is_neither_labelled_nor_named():
    labels = np.full((192, 256), word_index("sky"), np.int16)
    labels[:2, :4] = word_index("bird")  # 8 pixels of the 10 needed
    labels[10:20, 10:20] = word_index("cow")
    clean, shares = visible_words(labels, {"rain"})
    assert list(shares) == ["sky", "rain", "cow"]
    assert shares["cow"] == pytest.approx(100 / labels.size)
    assert (clean[:2, :4] == -1).all()
    assert (clean[10:20, 10:20] == word_index("cow")).all()


def test_captions_omit_small_things_more_often():
    rng = np.random.default_rng(SEED)
    drawn = {
        share: sum(
            "boat" in choose_caption(rng, {"sea": 0.5, "sky": 0.4, "boat": share}) for _ in range(2000)
        )
        for share in (0.001, 0.1)
    }
    assert drawn[0.1] > drawn[0.001] + 200
    assert drawn[0.001] > 1000


def test_captions_have_two_to_six_words():
    rng = np.random.default_rng(SEED)
    for words in (VOCABULARY[:2], VOCABULARY[:3], VOCABULARY):
        lengths = {len(choose_caption(rng, dict.fromkeys(words, 0.1))) for _ in range(50)}
        assert lengths <= set(range(2, 7))


def test_a_size_too_small_is_refused():
    with pytest.raises(ImageError, match="at least 32 x 32 pixels, not 256 x 8"):
        render_scene(SEED, 0, 256, 8)


# --- The collection as a whole --------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_words_are_skewed_and_colour_alone_does_not_decide_them(seed):
    n, split = 600, 450
    captions, histograms = np.zeros((n, len(VOCABULARY))), []
    for row, scene in enumerate(render_scenes(n, seed, workers=2)):
        captions[row, [word_index(word) for word in scene.words]] = 1
        bins = (scene.pixels // 43).reshape(-1, 3) @ np.array([36, 6, 1])
        histograms.append(np.sqrt(np.bincount(bins, minlength=216) / bins.size))
    share = captions.mean(0)
    assert 0.4 < share.max() < 0.65
    assert 0 < share.min() < 0.02
    assert 3 < captions.sum(1).mean() < 5

    histograms = np.array(histograms)
    nearest = np.argsort(-histograms[split:] @ histograms[:split].T, axis=1)[:, :15]
    by_colour = captions[:split][nearest].mean(1) + 1e-3 * captions[:split].mean(0)
    by_frequency = np.broadcast_to(captions[:split].mean(0), by_colour.shape)

    def precision_at_5(scores):
        top = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        return np.take_along_axis(captions[split:], top, axis=1).mean()

    assert precision_at_5(by_colour) > precision_at_5(by_frequency) + 0.07
    assert precision_at_5(by_colour) < 0.75 * precision_at_5(captions[split:])


# --- Files ----------------------------------------------------------------------------------
def read_table(path):
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["file", "words"]
    return {row["file"]: tuple(filter(None, row["words"].split(";"))) for row in rows}


def embedded_keywords(path):
    with Image.open(path) as image:
        packet = image.info.get("xmp")
    if packet is None:
        return ()
    tree = ElementTree.fromstring(packet.decode())
    item = ".//{http://purl.org/dc/elements/1.1/}subject//{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
    return tuple(element.text for element in tree.iterfind(item))


def test_a_written_collection_reads_back(tmp_path, scenes):
    paths = write_collection(tmp_path / "photos", 5, SEED, labels=True)
    assert [path.name for path in paths] == [f"scene-{k:05d}.jpg" for k in range(1, 6)]
    captions, truth = (read_table(tmp_path / "photos" / name) for name in ("captions.csv", "truth.csv"))
    labels = tmp_path / "photos" / "labels"
    assert tuple((labels / "vocabulary.txt").read_text().split()) == VOCABULARY
    for path, scene in zip(paths, scenes[:5], strict=True):
        assert captions[path.name] == embedded_keywords(path) == scene.words
        assert truth[path.name] == scene.present
        with Image.open(path) as photo:
            assert np.abs(np.asarray(photo, float) - scene.pixels).mean() < 5  # JPEG is lossy
        with Image.open(labels / f"{path.stem}.png") as image:
            values = np.asarray(image).astype(int)
        assert np.array_equal(np.where(values == 255, -1, values), scene.labels)
    assert not list(tmp_path.rglob(".*"))  # no temporary file stays


def test_photos_without_captions(tmp_path):
    paths = write_collection(tmp_path, 40, SEED, width=64, height=48, captioned=0.5)
    captions = read_table(tmp_path / "captions.csv")
    tagged = [path.name for path in paths if captions[path.name]]
    assert 10 <= len(tagged) <= 30
    for path in paths:
        assert embedded_keywords(path) == captions[path.name]
    write_collection(tmp_path / "fewer", 20, SEED, width=64, height=48, captioned=0.5)
    fewer = read_table(tmp_path / "fewer" / "captions.csv")
    assert fewer == {name: captions[name] for name in fewer}


def test_keywords_can_stay_out_of_the_photos(tmp_path):
    (path,) = write_collection(tmp_path, 1, SEED, width=64, height=48, keywords=False)
    assert embedded_keywords(path) == ()
    assert read_table(tmp_path / "captions.csv")[path.name]


def test_writing_twice_gives_the_same_bytes(tmp_path):
    def write():
        write_collection(tmp_path, 3, SEED, width=64, height=48, labels=True)
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    first = write()
    assert len(first) == 3 + 3 + 3
    assert write() == first


def test_an_interrupted_write_leaves_whole_files_only(tmp_path, monkeypatch):
    replace, calls = os.replace, []

    def fail_on_third(source, target):
        calls.append(target)
        if len(calls) == 3:
            raise OSError("disk full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_on_third)
    with pytest.raises(OSError, match="disk full"):
        write_collection(tmp_path, 5, SEED, width=64, height=48)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scene-00001.jpg", "scene-00002.jpg"]


def test_rendering_needs_neither_jax_nor_scikit_learn():
    code = "import sys, topicture.demo.scenes as s; s.render_scene(0, 0); print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()
    assert not {"jax", "sklearn", "matplotlib", "scipy"} & set(loaded)
