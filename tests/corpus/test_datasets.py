"""Readers of the benchmark data: on tiny files of the same format, and on the data itself where it is there."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from PIL import Image

from topicture.corpus import Corpus, datasets
from topicture.errors import CorpusError, DataNotFound

needs_data = pytest.mark.skipif(not os.environ.get("TOPICTURE_DATA"), reason="data not found")


# --- Tiny files ---------------------------------------------------------------------------------------------


def pattern(prefix, rows):
    """The stored pattern of a 0/1 matrix, from the columns of each row."""
    return {
        f"{prefix}_indptr": np.cumsum([0, *map(len, rows)]).astype(np.int32),
        f"{prefix}_indices": np.array([c for row in rows for c in row], dtype=np.int16),
    }


@pytest.fixture
def data(tmp_path):
    for name in ("corel16k", "corel5k", "msrc_v2"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def tiny_corel16k(data):
    arrays = {
        **pattern("blob", [[0, 2], [1], [2, 3], [0]]),
        **pattern("word", [[0], [0, 1], [1], [0]]),
        "n_blobs": np.int32(4),
        "words": np.array(["sky", "sea"]),
        "split": np.array([0, 0, 1, 2], dtype=np.int8),
        "split_names": np.array(["train", "test", "novel"]),
        "mulan_row": np.array([5, 3, 0, 7], dtype=np.int32),
    }
    path = data / "corel16k" / "corel16k_002.npz"
    np.savez(path, **arrays)
    return path, arrays


@pytest.fixture
def tiny_corel5k(data):
    """Three train rows and three test rows, of which the second has no picture."""
    names = ["1/10", "1/11", "2/20", "3/30", "", "3/31"]
    arrays = {
        **pattern("blob", [[0], [1], [0, 1], [1], [1], [0, 2]]),
        **pattern("word", [[0], [1], [2], [0, 1], [0, 1], [0, 3]]),
        **pattern("lear", [[0], [1], [], [0, 1], [0, 1], [0]]),
        "n_blobs": np.int32(3),
        "words": np.array(["sky", "sea", "train-only", "test-only"]),
        "lear_words": np.array(["sky", "sea"]),
        "split": np.array([0, 0, 0, 1, 1, 1], dtype=np.int8),
        "split_names": np.array(["train", "test"]),
        "image": np.array(names),
    }
    path = data / "corel5k" / "corel5k.npz"
    np.savez(path, **arrays)
    with zipfile.ZipFile(data / "corel5k" / "corel5k_images.zip", "w") as archive:
        for name in filter(None, names):
            archive.writestr(f"{name}.jpeg", f"picture {name}")
    regions = {
        "X": np.arange(15, dtype=np.float32).reshape(5, 3),
        "indptr": np.array([0, 2, 3, 5], dtype=np.int32),
        "image": np.array(["3/30", "", "3/31"]),
        "feature_names": np.array(["area", "R", "R_dup"]),
    }
    np.savez(data / "corel5k" / "corel5k_test_regions.npz", **regions)
    return path, arrays, regions


def png(values):
    buffer = io.BytesIO()
    Image.fromarray(np.array(values, dtype=np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def msrc_image(name, split, labels):
    segments = [{"id": i, "label": word, "area": 0.5} for i, word in enumerate(labels, start=1)]
    return {"image": name, "split": split, "labels": labels, "segments": segments}


@pytest.fixture
def tiny_msrc(data):
    """Classes cow, horse, sky; one image has no class but horse."""
    facts = {
        "classes": ["cow", "horse", "sky"],
        "images": [
            msrc_image("a", "train", ["cow", "horse"]),
            msrc_image("b", "train", ["horse"]),
            msrc_image("c", "test", ["sky", "sky"]),
        ],
    }
    folder = data / "msrc_v2"
    (folder / "msrc_v2.json").write_text(json.dumps(facts))
    with zipfile.ZipFile(folder / "msrc_v2_images.zip", "w") as archive:
        archive.writestr("a.jpg", b"picture a")
    with zipfile.ZipFile(folder / "msrc_v2_masks.zip", "w") as archive:
        archive.writestr("a.png", png([[0, 1, 2], [3, 3, 1]]))
        archive.writestr("segments/a.png", png([[0, 1, 2], [0, 0, 1]]))
        archive.writestr("b.png", png([[9]]))
        archive.writestr("c.png", b"not a picture")
        archive.writestr("segments/c.png", png([[[1, 2, 3]]]))
    return facts


# --- Corel subsets ------------------------------------------------------------------------------------------


def test_corel16k_parts_and_ids(data, tiny_corel16k):
    train, test, novel = datasets.corel16k(2, data)
    assert [len(part) for part in (train, test, novel)] == [2, 1, 1]
    assert train.image_ids.tolist() == ["002-00005", "002-00003"]
    assert train.vocabulary.words == ("sky", "sea")
    np.testing.assert_array_equal(train.captions.toarray(), [[1, 0], [1, 1]])
    np.testing.assert_array_equal(train.visual_words.toarray(), [[1, 0, 1, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(test.visual_words.toarray(), [[0, 0, 1, 1]])


def test_parts_can_be_joined(data, tiny_corel16k):
    parts = datasets.corel16k(2, data)
    assert len(Corpus.concat([parts.test, parts.train])) == 3


def test_the_folder_comes_from_the_environment(data, tiny_corel16k, monkeypatch):
    monkeypatch.setenv("TOPICTURE_DATA", str(data))
    assert len(datasets.corel16k(2).train) == 2


def test_missing_data_says_how_to_point_to_it(tmp_path, monkeypatch):
    monkeypatch.delenv("TOPICTURE_DATA", raising=False)
    for call in (
        lambda: datasets.corel16k(1),
        lambda: datasets.corel16k(1, tmp_path / "nowhere"),
        lambda: datasets.corel16k(1, tmp_path),
        lambda: datasets.corel5k(data=tmp_path),
        lambda: datasets.msrc_v2(tmp_path),
    ):
        with pytest.raises(DataNotFound, match="set TOPICTURE_DATA, or pass data=") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"words": None},  # an array is missing
        {"words": np.array(["sky", "sky"])},
        {"words": np.array(["sky"])},  # a caption points past it
        {"blob_indices": np.array([0, 2, 1, 2, 3, 9], dtype=np.int16)},
        {"blob_indices": np.array([0, 2, 1, 2, 3, -1], dtype=np.int16)},
        {"word_indptr": np.array([0, 1, 3], dtype=np.int32)},
        {"n_blobs": np.array([4, 4])},
        {"split": np.array([0, 1], dtype=np.int8)},
        {"split": np.zeros(4, dtype=np.int8)},  # nothing is left for test
        {"split_names": np.array(["train", "test"])},
        {"mulan_row": np.array([5, 5, 0, 7], dtype=np.int32)},
        {"words": np.array([["sky"], None], dtype=object)},  # would need unpickling
    ],
)
def test_a_malformed_subset_names_its_file(data, tiny_corel16k, change):
    path, arrays = tiny_corel16k
    np.savez(path, **{name: value for name, value in {**arrays, **change}.items() if value is not None})
    with pytest.raises(CorpusError, match=r"corel16k_002\.npz") as caught:
        datasets.corel16k(2, data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut short"])
def test_a_file_that_is_no_archive_names_itself(data, tiny_corel16k, content):
    path, _ = tiny_corel16k
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"corel16k_002\.npz"):
        datasets.corel16k(2, data)


def test_a_single_array_is_not_a_data_set(data, tiny_corel16k):
    path, _ = tiny_corel16k
    with open(path, "wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(CorpusError, match=r"corel16k_002\.npz"):
        datasets.corel16k(2, data)


# --- Corel-5k -----------------------------------------------------------------------------------------------


def test_corel5k_drops_the_test_row_without_a_picture(data, tiny_corel5k):
    corel = datasets.corel5k(data=data)
    assert corel.train.image_ids.tolist() == ["1/10", "1/11", "2/20"]
    assert corel.test.image_ids.tolist() == ["3/30", "3/31"]
    assert corel.test.vocabulary.words == ("sky", "sea", "train-only", "test-only")
    np.testing.assert_array_equal(corel.test.captions.toarray(), [[1, 1, 0, 0], [1, 0, 0, 1]])
    np.testing.assert_array_equal(corel.test.visual_words.toarray(), [[0, 1, 0], [1, 0, 1]])


def test_corel5k_evaluation_vocabulary(data, tiny_corel5k):
    corel = datasets.corel5k("evaluation", data)
    assert corel.train.vocabulary.words == ("sky", "sea")
    assert corel.train.tagged.tolist() == [True, True, False]
    with pytest.raises(ValueError, match="'original' or 'evaluation'"):
        datasets.corel5k("other", data)


def test_corel5k_pictures(data, tiny_corel5k):
    corel = datasets.corel5k(data=data)
    assert corel.image_bytes("2/20") == b"picture 2/20"
    assert [image for image, _ in corel.images()] == ["1/10", "1/11", "2/20", "3/30", "3/31"]
    assert dict(corel.images(corel.test.image_ids)) == {"3/30": b"picture 3/30", "3/31": b"picture 3/31"}
    with pytest.raises(DataNotFound, match=r"corel5k_images\.zip: there is no 9/99\.jpeg"):
        corel.image_bytes("9/99")


def test_corel5k_without_its_pictures_still_gives_corpora(data, tiny_corel5k):
    corel = datasets.corel5k(data=data)
    corel.archive.write_bytes(b"damaged")
    with pytest.raises(CorpusError, match=r"corel5k_images\.zip"):
        corel.image_bytes("2/20")
    corel.archive.unlink()
    with pytest.raises(DataNotFound, match="TOPICTURE_DATA"):
        datasets.corel5k(data=data).image_bytes("2/20")


def test_corel5k_test_regions_follow_the_test_images(data, tiny_corel5k):
    corpus, names = datasets.corel5k_test_regions(data=data)
    assert corpus.image_ids.tolist() == ["3/30", "3/31"]
    assert corpus.captions.shape == (2, 4)
    assert names == ("area", "R")
    assert corpus.region_offsets.tolist() == [0, 2, 4]
    np.testing.assert_array_equal(corpus.regions, [[0, 1], [3, 4], [9, 10], [12, 13]])


@pytest.mark.parametrize(
    "change",
    [
        {"image": np.array(["3/30", "", "other"])},
        {"indptr": np.array([0, 2, 3, 9])},
        {"indptr": np.array([0, 2])},
        {"X": np.full((5, 3), np.nan)},
        {"feature_names": np.array(["area"])},
    ],
)
def test_regions_that_do_not_fit_name_their_file(data, tiny_corel5k, change):
    _, _, regions = tiny_corel5k
    np.savez(data / "corel5k" / "corel5k_test_regions.npz", **{**regions, **change})
    with pytest.raises(CorpusError, match=r"corel5k_test_regions\.npz"):
        datasets.corel5k_test_regions(data=data)


# --- MSRC v2 ------------------------------------------------------------------------------------------------


def test_msrc_leaves_out_classes_everywhere(data, tiny_msrc):
    msrc = datasets.msrc_v2(data, leave_out=["horse"])
    assert msrc.vocabulary.words == ("cow", "sky")
    assert msrc.train.image_ids.tolist() == ["a"]  # b shows nothing else
    np.testing.assert_array_equal(msrc.train.captions.toarray(), [[1, 0]])
    np.testing.assert_array_equal(msrc.test.captions.toarray(), [[0, 1]])
    assert msrc.segments["a"] == {1: "cow"}
    np.testing.assert_array_equal(msrc.class_map("a"), [[-1, 0, -1], [1, 1, 0]])
    np.testing.assert_array_equal(msrc.segment_map("a"), [[0, 1, 2], [0, 0, 1]])
    assert msrc.image_bytes("a") == b"picture a"


def test_msrc_with_all_classes(data, tiny_msrc):
    msrc = datasets.msrc_v2(data, leave_out=[])
    assert msrc.vocabulary.words == ("cow", "horse", "sky")
    assert msrc.train.image_ids.tolist() == ["a", "b"]
    assert msrc.segments["a"] == {1: "cow", 2: "horse"}
    np.testing.assert_array_equal(msrc.class_map("a"), [[-1, 0, 1], [2, 2, 0]])


def test_msrc_maps_that_can_not_be_read(data, tiny_msrc):
    msrc = datasets.msrc_v2(data, leave_out=[])
    with pytest.raises(CorpusError, match=r"b\.png holds an unknown class"):
        msrc.class_map("b")
    with pytest.raises(CorpusError, match=r"c\.png can't be decoded"):
        msrc.class_map("c")
    with pytest.raises(CorpusError, match=r"segments/c\.png is not a map"):
        msrc.segment_map("c")
    with pytest.raises(DataNotFound, match=r"msrc_v2_masks\.zip: there is no d\.png"):
        msrc.class_map("d")


def test_msrc_refuses_unknown_classes(data, tiny_msrc):
    with pytest.raises(CorpusError, match="no class 'mountain'"):
        datasets.msrc_v2(data)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"classes": ["cow"], "images": [{"image": "a"}]}'])
def test_a_malformed_msrc_file_names_itself(data, content):
    (data / "msrc_v2" / "msrc_v2.json").write_text(content)
    with pytest.raises(CorpusError, match=r"msrc_v2\.json"):
        datasets.msrc_v2(data, leave_out=[])


# --- The data itself ----------------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("subset", range(1, 8))
def test_real_corel16k(subset):
    train, test, novel = datasets.corel16k(subset)
    assert 5100 < len(train) < 5300
    assert 1700 < len(test) < 1800
    assert 6700 < len(novel) < 7000
    assert 144 <= train.n_words <= 174
    assert train.n_visual_words == 500
    words_per_image = np.diff(train.captions.indptr)
    assert (words_per_image.min(), words_per_image.max()) == (1, 5)
    assert train.captions.sum(axis=0).min() >= 21  # every word occurs that often in train


@needs_data
def test_real_corel5k():
    original, evaluation = datasets.corel5k(), datasets.corel5k("evaluation")
    assert (len(original.train), len(original.test)) == (4500, 499)
    assert (original.train.n_words, evaluation.train.n_words) == (374, 260)
    assert (original.train.captions.sum(axis=0) > 0).sum() == 371
    assert (original.test.captions.sum(axis=0) > 0).sum() == 263
    assert (~evaluation.train.tagged).sum() == 7
    for part in (evaluation.train, evaluation.test):
        assert (part.captions.sum(axis=0) > 0).all()
    with Image.open(io.BytesIO(original.image_bytes(original.test.image_ids[0]))) as picture:
        assert sorted(picture.size) == [128, 192]


@needs_data
def test_real_corel5k_regions():
    corpus, names = datasets.corel5k_test_regions()
    assert corpus.regions.shape == (4676, 30)
    assert len(names) == 30
    assert (corpus.n_regions.min(), corpus.n_regions.max()) == (1, 10)
    first = slice(*corpus.region_offsets[:2])
    assert (np.diff(corpus.regions[first, names.index("area")]) <= 0).all()  # by decreasing size


@needs_data
def test_real_msrc():
    msrc = datasets.msrc_v2()
    assert (len(msrc.train), len(msrc.test), len(msrc.vocabulary)) == (394, 197, 21)
    assert len(datasets.msrc_v2(leave_out=[]).vocabulary) == 23
    image = msrc.test.image_ids[5]
    class_map, segment_map = msrc.class_map(image), msrc.segment_map(image)
    assert class_map.shape == segment_map.shape
    shown = {msrc.vocabulary[w] for w in np.unique(class_map) if w >= 0}
    assert shown == {msrc.vocabulary[w] for w in msrc.test[[5]].captions.indices}
    for number, word in msrc.segments[image].items():
        assert (class_map[segment_map == number] == msrc.vocabulary.index(word)).all()
