"""What not everybody installs: with one line that says how to get it, or another way to the same end."""

import sys

import numpy as np
import pytest

from topicture.app.explain import page as explain_page
from topicture.extras import MissingExtra, optional_module
from topicture.models import neighbours
from topicture.vision.features.blobs import blob_features
from topicture.vision.features.quantise import fit_codebook
from topicture.vision.features.sift import sift_patches
from topicture.vision.pipeline import Photo, describe


@pytest.fixture
def without(monkeypatch):
    """Packages that are not there, for the rest of the test."""

    def hide(*names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def noise(seed=0):
    return np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8)


@pytest.mark.parametrize("view", ["regions:blobs", "visual_words:sift"])
def test_a_view_without_its_package_is_refused_once_and_not_for_every_photo(view, without):
    without("cv2")
    with pytest.raises(MissingExtra, match=r"^the views .* pip install 'topicture\[visual-words\]'$"):
        describe([Photo("a", noise())], view, vocabulary=["sea"], workers=0)


def test_measurements_without_their_package_say_what_to_install(without):
    without("cv2")
    with pytest.raises(MissingExtra, match=r"SIFT patches need .*\[visual-words\]"):
        sift_patches(noise(), 3)
    with pytest.raises(MissingExtra, match=r"blob features need .*\[visual-words\]"):
        blob_features(noise(), np.zeros((40, 50), int))


def test_a_package_that_is_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        optional_module("half_there", "plots", "figures")


def test_codebooks_without_faiss_are_as_good_and_always_the_same(rng, without):
    points = rng.normal(size=(1200, 8)).astype(np.float32) + 4 * rng.integers(0, 5, (1200, 1))

    def distortion(codebook):
        return ((points - codebook.centres[codebook.assign(points)]) ** 2).sum()

    by_faiss = fit_codebook(points, 30, descriptor="toy-v1", seed=4)
    words = by_faiss.assign(points)
    without("faiss")
    np.testing.assert_array_equal(by_faiss.assign(points), words)
    first, again = (fit_codebook(points, 30, descriptor="toy-v1", seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.centres, again.centres)
    assert first.centres.dtype == by_faiss.centres.dtype
    assert distortion(first) < 1.05 * distortion(by_faiss)


def test_neighbours_without_faiss_are_the_same(rng, without, monkeypatch):
    monkeypatch.setattr(neighbours, "_MANY", 1)
    features, queries = rng.normal(size=(300, 16)), rng.normal(size=(40, 16))
    with_it = neighbours.nearest(queries, features, 7)
    without("faiss")
    found = neighbours.nearest(queries, features, 7)
    np.testing.assert_array_equal(found.rows, with_it.rows)
    with pytest.raises(MissingExtra, match=r"topicture\[large\]"):
        neighbours.nearest(queries, features, 7, "faiss")


def test_pages_go_without_figures(without):
    without("matplotlib")
    assert explain_page._figures(None) == {}
