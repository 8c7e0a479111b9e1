"""Indexes and models that are damaged: `check` finds it, commands say one line, nothing hangs."""

import io
import json

import numpy as np
import pytest
from photo_folder import copy_library, learn, make_library

from topicture.app.verbs.library import Library
from topicture.errors import TopictureError
from topicture.models.files import read_model, write_model
from topicture.store import Catalog
from topicture.store.shards import write_shards


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"), n=32, tagged=24)
    learn(library)
    return library.folder.parent


@pytest.fixture
def library(learned, tmp_path):
    return Library.find(copy_library(learned, tmp_path / "photos"))


@pytest.fixture
def index(library):
    with Catalog.open(library.folder) as catalog:
        return catalog.index_folder()


def change(path, edit):
    array = np.load(path)
    np.save(path, edit(array))


def spoiled(array, value):
    array = array.copy()
    array.flat[array.size // 2] = value
    return array


def rewrite_features(folder, edit):
    """Shards with a manifest that fits them: not damaged, but wrong."""
    rows = np.load(folder / "features" / "00000.npy")
    for path in (folder / "features").iterdir():
        path.unlink()
    (folder / "features").rmdir()
    write_shards(folder / "features", edit(rows))


def archive():
    content = io.BytesIO()
    np.savez(content, a=np.zeros(999))
    return content.getvalue()


def two_lines_less(array):
    return array[:-2]


DAMAGE = {
    "log_p with NaN": lambda f: change(f / "log_p.npy", lambda a: spoiled(a, np.nan)),
    "log_p above 0": lambda f: change(f / "log_p.npy", lambda a: spoiled(a, 3.0)),
    "log_p too short": lambda f: change(f / "log_p.npy", two_lines_less),
    "log_p of another type": lambda f: change(f / "log_p.npy", lambda a: a.astype(np.int32)),
    "images too short": lambda f: change(f / "images.npy", two_lines_less),
    "images too long": lambda f: change(f / "images.npy", lambda a: np.append(a, a[-1] + 1)),
    "images of another type": lambda f: change(f / "images.npy", lambda a: a.astype(np.float64)),
    "images in a table": lambda f: change(f / "images.npy", lambda a: a.reshape(2, -1)),
    "images not ascending": lambda f: change(f / "images.npy", lambda a: a[::-1].copy()),
    "images no array": lambda f: (f / "images.npy").write_bytes(b"not an array" * 200),
    "images a pickle": lambda f: np.save(f / "images.npy", np.array([{}], dtype=object), allow_pickle=True),
    "images an archive": lambda f: (f / "images.npy").write_bytes(archive()),
    "images lost": lambda f: (f / "images.npy").unlink(),
    "features with NaN": lambda f: rewrite_features(f, lambda a: spoiled(a, np.nan)),
    "features infinite": lambda f: rewrite_features(f, lambda a: spoiled(a, np.inf)),
    "features too short": lambda f: rewrite_features(f, two_lines_less),
    "features of whole numbers": lambda f: rewrite_features(f, lambda a: a.astype(np.int64)),
    "features lost in part": lambda f: (f / "features" / "00000.npy").unlink(),
    "ids too short": lambda f: change(f / "id_offsets.npy", two_lines_less),
    "words lost": lambda f: (f / "index.json").write_text(
        json.dumps({**json.loads((f / "index.json").read_text()), "vocabulary": ["sea"]})
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_is_found_and_told_in_one_line(library, index, damage):
    DAMAGE[damage](index)
    found = library.check()
    assert len(found) == 1
    assert "annotate makes it again" in found[0]
    told = []
    for verb in (
        lambda: [library.search(word) for word in ("rose", "grass", "sea", "sand")],
        lambda: library.similar("photo-000.jpg"),
        lambda: library.queue("teaching", limit=20),
    ):
        try:
            verb()
        except TopictureError as error:
            told.append(str(error))
    assert told
    assert not [line for line in told if "\n" in line]
    library.annotate(workers=0)
    assert library.check() == []


MODEL_DAMAGE = {
    "a model of fewer words": ("model.safetensors", "p_w", lambda a: a[:-1]),
    "a model of another type": ("model.safetensors", "features", lambda a: a.astype(np.int64)),
    "a calibration of fewer words": ("presence.safetensors", "offsets", lambda a: a[:-1]),
    "a calibration of fewer shares": ("presence.safetensors", "share", lambda a: a[:-1]),
    "a calibration in a table": ("presence.safetensors", "frequency", lambda a: a[None]),
    "no knots": ("presence.safetensors", "knots", lambda a: a[:0]),
    "pairs of different length": ("presence.safetensors", "pairs/truth", lambda a: a[:-1]),
    "pairs of no word": ("presence.safetensors", "pairs/word", lambda a: a + 10_000),
    "a calibration with NaN": ("presence.safetensors", "values", lambda a: spoiled(a, np.nan)),
}


@pytest.mark.parametrize("damage", MODEL_DAMAGE)
def test_a_damaged_model_is_found_and_told_in_one_line(library, damage):
    name, array, edit = MODEL_DAMAGE[damage]
    (path,) = library.folder.glob(f"models/*/{name}")
    header, arrays = read_model(path)
    write_model(path, header, {**arrays, array: edit(arrays[array])})
    found = library.check()
    assert len(found) == 1
    assert "learn makes a new one" in found[0]
    judging = [lambda: library.accept_above(0.9, dry_run=True)] if name == "presence.safetensors" else []
    for verb in (lambda: library.annotate(workers=0), *judging):
        with pytest.raises(TopictureError) as told:
            verb()
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [b"[1, 2]", b"7", b"{", b"\xff"])
def test_a_report_that_is_none_is_told_in_one_line(library, content):
    (path,) = library.folder.glob("models/*/report.json")
    path.write_bytes(content)
    with pytest.raises(TopictureError, match=r"report\.json: damaged; learn again"):
        library.evaluate()
    assert len(library.check()) == 1
