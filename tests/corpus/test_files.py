"""A corpus on disk: it comes back as it was; whatever was damaged is refused in one line, and nothing runs."""

import json
import os
import pickle

import numpy as np
import pytest
from corpora import make_tiny_corpus

from topicture.atomic import folders
from topicture.corpus import Corpus
from topicture.errors import CorpusError, DataNotFound


def three_images():
    return make_tiny_corpus(np.random.default_rng(2), n_images=3)


@pytest.fixture
def folder(tmp_path):
    """A saved corpus, large enough for its arrays to be mapped."""
    corpus = make_tiny_corpus(np.random.default_rng(1), n_images=400)
    corpus.save(tmp_path / "corpus")
    return tmp_path / "corpus"


@pytest.mark.parametrize("mmap", [True, False])
def test_save_and_load(folder, mmap):
    loaded = Corpus.load(folder, mmap=mmap)
    assert loaded == make_tiny_corpus(np.random.default_rng(1), n_images=400)
    assert isinstance(loaded.descriptor, np.memmap) == mmap
    assert not loaded.descriptor.flags.writeable
    assert loaded[5:9] == Corpus.load(folder, mmap=not mmap)[5:9]


@pytest.mark.parametrize("mmap", [True, False])
def test_small_and_odd_corpora_survive(tmp_path, mmap):
    odd = Corpus.from_arrays(
        vocabulary=["", "día\n", "\U0001f600"],
        image_ids=["name with \udcff byte", 'quote"\\', "日本"],
        regions=[np.zeros((0, 4))] * 3,
    )
    for i, corpus in enumerate([odd, three_images(), Corpus.from_arrays(captions=np.zeros((1, 1)))]):
        corpus.save(tmp_path / str(i))
        assert Corpus.load(tmp_path / str(i), mmap=mmap) == corpus


def test_saving_again_replaces_even_what_is_mapped(folder):
    mapped = Corpus.load(folder)
    mapped[:300].save(folder)
    assert Corpus.load(folder) == mapped[:300]
    assert os.listdir(folder.parent) == ["corpus"]


def test_a_name_of_255_bytes(tmp_path):
    folder = tmp_path / ("ä" * 127 + "x")
    for _ in range(2):
        three_images().save(folder)
    assert Corpus.load(folder) == three_images()


def test_other_files_are_not_overwritten(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"precious")
    with pytest.raises(CorpusError, match="holds other files"):
        three_images().save(tmp_path)
    with pytest.raises(CorpusError, match="a corpus needs a folder"):
        three_images().save(tmp_path / "photo.jpg")
    assert (tmp_path / "photo.jpg").read_bytes() == b"precious"


@pytest.mark.parametrize("fails", ["np.save", "os.rename"])
def test_a_failing_save_leaves_the_old_corpus(folder, monkeypatch, fails):
    before = Corpus.load(folder, mmap=False)
    rename = os.rename

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    def rename_into_place_fails(source, target):
        return full() if source.name == "new" else rename(source, target)

    if fails == "np.save":
        monkeypatch.setattr(np, "save", full)
    else:
        monkeypatch.setattr(folders, "_exchange", lambda a, b: False)  # as on a system that has no such call
        monkeypatch.setattr(os, "rename", rename_into_place_fails)
    with pytest.raises(OSError, match="No space"):
        three_images().save(folder)
    monkeypatch.undo()
    assert Corpus.load(folder) == before
    assert os.listdir(folder.parent) == ["corpus"]


@pytest.mark.parametrize("mmap", [True, False])
class TestDamagedFolders:
    def refused(self, folder, mmap, message):
        with pytest.raises(CorpusError, match=message) as error:
            Corpus.load(folder, mmap=mmap)
        assert "\n" not in str(error.value)
        assert str(folder) in str(error.value)

    def test_no_corpus(self, tmp_path, mmap):
        with pytest.raises(DataNotFound, match=r"corpus\.json is missing"):
            Corpus.load(tmp_path, mmap=mmap)

    @pytest.mark.parametrize("name", ["regions", "captions.data", "region_words.indptr"])
    def test_missing_file(self, folder, mmap, name):
        (folder / f"{name}.npy").unlink()
        self.refused(folder, mmap, "the file is missing")

    @pytest.mark.parametrize("name", ["regions", "captions.data", "region_words.indptr"])
    @pytest.mark.parametrize("keep", [0, 5, 60, -3])
    def test_truncated_file(self, folder, mmap, name, keep):
        path = folder / f"{name}.npy"
        path.write_bytes(path.read_bytes()[:keep])
        self.refused(folder, mmap, "can't be read")

    def test_pickle_in_place_of_an_array(self, folder, mmap):
        (folder / "regions.npy").write_bytes(pickle.dumps(np.zeros((3, 3))))
        self.refused(folder, mmap, "can't be read")

    def test_pickled_objects_in_an_array(self, folder, mmap):
        np.save(folder / "regions.npy", np.array([Bomb()] * 2000, dtype=object), allow_pickle=True)
        self.refused(folder, mmap, "can't be read")

    def test_archive_in_place_of_an_array(self, folder, mmap):
        with open(folder / "regions.npy", "wb") as file:
            np.savez(file, a=np.zeros(1000))
        self.refused(folder, mmap, "can't be read")

    def test_array_that_claims_to_be_huge(self, folder, mmap):
        header = str({"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}).ljust(117) + "\n"
        (folder / "regions.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode())
        self.refused(folder, mmap, "can't be read")

    @pytest.mark.parametrize(
        "array",
        [np.zeros(3), np.zeros((3, 3), np.float16), np.zeros((3, 3), np.int64), np.array(["a"])],
        ids=["vector", "float16", "int", "str"],
    )
    def test_array_of_another_kind(self, folder, mmap, array):
        np.save(folder / "descriptor.npy", array)
        self.refused(folder, mmap, "not the array|not numbers")

    def test_values_are_checked_again(self, folder, mmap):
        descriptor = np.load(folder / "descriptor.npy")
        descriptor[7, 1] = np.nan
        np.save(folder / "descriptor.npy", descriptor)
        with pytest.raises(CorpusError, match="descriptor: image 'image000007', column 1"):
            Corpus.load(folder, mmap=mmap)

    @pytest.mark.parametrize(
        ("part", "change"),
        [
            ("indices", lambda a: a + 100),
            ("indices", lambda a: -a - 1),
            ("indices", lambda a: np.zeros_like(a)),
            ("indices", lambda a: a.astype(float)),
            ("indptr", lambda a: a[::-1].copy()),
            ("indptr", lambda a: a[:-1]),
            ("data", lambda a: a[:-1]),
            ("data", lambda a: a.astype(np.float32)),
            ("data", lambda a: a[:, None]),
        ],
    )
    def test_sparse_parts_that_do_not_fit(self, folder, mmap, part, change):
        path = folder / f"visual_words.{part}.npy"
        np.save(path, change(np.load(path)))
        self.refused(folder, mmap, "sparse matrix|can't be read")

    @pytest.mark.parametrize(
        "change",
        [
            {"topicture_corpus": 99},
            {"topicture_corpus": None},
            {"image_ids": "abc"},
            {"image_ids": [["a"], ["b"]]},
            {"image_ids": [1, 2]},
            {"image_ids": None},
            {"vocabulary": "abc"},
            {"vocabulary": {"a": 1}},
            {"dense": ["../../secret"]},
            {"dense": [["regions"]]},
            {"dense": ["captions"]},
            {"sparse": ["captions"]},
            {"sparse": {}},
            {"sparse": {"captions": [400, 6], "regions": [3, 3]}},
            {"sparse": {"captions": [10**30, 6]}},
            {"sparse": {"captions": [-1, 6]}},
            {"sparse": {"captions": ["400", 6]}},
            {"sparse": {"captions": [True, 6]}},
            {"sparse": {"captions": 400}},
        ],
        ids=lambda change: json.dumps(change),
    )
    def test_hostile_header(self, folder, mmap, change):
        path = folder / "corpus.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        self.refused(folder, mmap, r"corpus\.json")

    @pytest.mark.parametrize(
        "text",
        ["", "[]", "null", "{", "[" * 100_000, '{"topicture_corpus": ' + "9" * 5000 + "}", "\x00" * 50],
        ids=["empty", "list", "null", "cut", "deep", "digits", "zeros"],
    )
    def test_header_that_is_no_header(self, folder, mmap, text):
        (folder / "corpus.json").write_text(text)
        self.refused(folder, mmap, r"corpus\.json")

    def test_header_of_wrong_bytes(self, folder, mmap):
        (folder / "corpus.json").write_bytes(b"\xff\xfe\x00{")
        self.refused(folder, mmap, r"corpus\.json")

    @pytest.mark.parametrize("entry", ["image_ids", "vocabulary", "dense", "sparse", "topicture_corpus"])
    def test_header_that_lacks_an_entry(self, folder, mmap, entry):
        path = folder / "corpus.json"
        header = json.loads(path.read_text())
        del header[entry]
        path.write_text(json.dumps(header))
        self.refused(folder, mmap, r"corpus\.json")


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)
