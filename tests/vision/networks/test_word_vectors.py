"""Word vectors from a text encoder or a table; damaged, foreign and hostile files are one clear line each."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from safetensors.numpy import save_file
from text_encoders import END, N_CELLS, N_COLUMNS, START, model_bytes, write_network, write_table

from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.networks import word_vectors as module
from topicture.vision.networks.deep import load_network
from topicture.vision.networks.manifest import Manifest, network_key
from topicture.vision.networks.word_vectors import check_texts, word_vectors

WORDS = ["rose", "grass", "Sea", "Rex"]


@pytest.fixture
def looks(rng):
    return {word: rng.normal(size=N_CELLS).astype(np.float32) for word in ("rose", "grass", "sea")}


def table_network(folder, looks, words=("rose", "GRASS"), vectors=None, name="words.safetensors"):
    """A network whose manifest names a table."""
    network = write_network(folder, looks, manifest={"text": name, "tokenizer": None})
    if vectors is None:
        vectors = np.arange(len(words) * N_COLUMNS, dtype=np.float32).reshape(len(words), -1)
    write_table(folder / name, list(words), vectors, folder / "vision.onnx")
    return network


# --- A text encoder ----------------------------------------------------------------------------------------------


def test_a_text_is_near_the_pictures_that_it_tells_of(tmp_path, looks):
    network = write_network(tmp_path, looks)
    vectors = word_vectors(network, WORDS, workers=0)
    assert vectors.shape == (4, N_COLUMNS)
    assert vectors.dtype == np.float32
    pictures = [
        np.clip(127.5 + 40 * looks[word].reshape(3, 8, 8).repeat(4, 1).repeat(4, 2), 0, 255)
        for word in ("rose", "grass", "sea")
    ]
    seen = load_network(network).image_features([p.astype(np.uint8).transpose(1, 2, 0) for p in pictures])
    seen, said = seen - seen.mean(axis=0), vectors[:3] - vectors[:3].mean(axis=0)
    cosine = (seen @ said.T) / np.outer(np.linalg.norm(seen, axis=1), np.linalg.norm(said, axis=1))
    assert np.diag(cosine).min() > 0.9
    assert cosine[~np.eye(3, dtype=bool)].max() < 0.5


def test_upper_case_and_many_words_change_nothing(tmp_path, looks, monkeypatch):
    network = write_network(tmp_path, looks)
    one = word_vectors(network, ["rose", "ROSE", "sea", "Sea"], workers=0)
    np.testing.assert_array_equal(one[0], one[1])
    monkeypatch.setattr(module, "WORDS_PER_TASK", 3)
    np.testing.assert_array_equal(word_vectors(network, ["rose", "ROSE", "sea", "Sea"], workers=0), one)


def test_in_a_process_of_its_own_it_says_the_same(tmp_path, looks):
    network = write_network(tmp_path, looks)
    here = word_vectors(network, WORDS, workers=0)
    np.testing.assert_array_equal(word_vectors(network, WORDS, workers=2), here)


@pytest.mark.parametrize(
    "options", [{"length": 16, "mask": True}, {"mask": True}, {"dtype": onnx.TensorProto.INT32}]
)
def test_encoders_of_other_shapes_say_the_same(tmp_path, looks, options):
    """One that takes so many numbers and no other is told which of them count."""
    plain = word_vectors(write_network(tmp_path, looks), WORDS, workers=0)
    other = word_vectors(write_network(tmp_path, looks, **options), WORDS, workers=0)
    np.testing.assert_allclose(other, plain, rtol=1e-5, atol=1e-6)


def echo(length):
    """A graph that says what numbers it was given."""
    nodes = [helper.make_node("Cast", ["input_ids"], ["ids"], to=onnx.TensorProto.FLOAT)]
    given = helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, [1, length])
    return model_bytes(
        nodes, [given], helper.make_tensor_value_info("ids", onnx.TensorProto.FLOAT, [1, length]), {}
    )


def test_an_encoder_of_fixed_length_is_filled_up_with_end_marks(tmp_path, looks):
    """As CLIP's are: they look at the first of these marks."""
    network = write_network(tmp_path, looks)
    (tmp_path / "text.onnx").write_bytes(echo(77))
    ids = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    (vector,) = word_vectors(network, ["rose"], workers=0)
    said = [int(number) for number in vector]
    assert said[:2] == [ids[START], ids["a</w>"]]
    first_end = said.index(ids[END])
    assert said[first_end - 1] == ids["rose</w>"]
    assert said[first_end:] == [ids[END]] * (77 - first_end)


def test_vectors_of_several_lengths_are_refused(tmp_path, looks):
    network = write_network(tmp_path, looks)
    (tmp_path / "text.onnx").write_bytes(echo("length"))
    with pytest.raises(ModelFileError, match=r"text\.onnx"):
        word_vectors(network, ["rose", "Rex"], workers=0)


def test_the_prompt_is_what_the_manifest_says(tmp_path, looks):
    usual = word_vectors(write_network(tmp_path, looks), ["rose"], workers=0)
    bare = word_vectors(write_network(tmp_path, looks, manifest={"prompt": "{}"}), ["rose"], workers=0)
    spelt = word_vectors(
        write_network(tmp_path, looks, manifest={"prompt": "{}"}), ["a photo of rose"], workers=0
    )
    assert not np.allclose(usual, bare)
    np.testing.assert_array_equal(usual, spelt)


def test_a_word_that_looks_like_a_prompt_is_a_word(tmp_path, looks):
    network = write_network(tmp_path, looks)
    assert np.isfinite(
        word_vectors(network, ["{}", "{0}", "%s", "<|endoftext|>", "x" * 16_000], workers=0)
    ).all()


def test_photos_are_not_measured_again_where_texts_are_added(tmp_path, looks):
    keys = {
        network_key(write_network(tmp_path, looks, manifest=changes))
        for changes in (
            {},
            {"text": None, "tokenizer": None},
            {"prompt": "{}!"},
            {"text_output": "text_embeds"},
        )
    }
    assert len(keys) == 1


@pytest.mark.parametrize("network", ["lite0", "lite2"])
def test_a_network_without_texts_has_no_vectors(network):
    check_texts(network)
    assert word_vectors(network, WORDS) is None


def test_an_own_network_without_texts_has_no_vectors(tmp_path, looks):
    network = write_network(tmp_path, looks, manifest={"text": None, "tokenizer": None})
    check_texts(network)
    assert word_vectors(network, WORDS) is None


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"tokenizer": None}, "needs its tokenizer"),
        ({"text": None}, "nothing else does"),
        ({"text": "words.safetensors"}, "nothing else does"),
        ({"text": 5}, "text must be a text"),
        ({"prompt": "a photo"}, "one {} for the word"),
        ({"prompt": "{} and {}"}, "one {} for the word"),
        ({"prompt": "{0}"}, "one {} for the word"),
    ],
)
def test_bad_manifests_say_why(tmp_path, looks, manifest, message):
    path = write_network(tmp_path, looks, manifest=manifest)
    with pytest.raises(ModelFileError, match=message):
        Manifest.from_json(path)


@pytest.mark.parametrize("missing", ["text.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_before_anything_is_run(tmp_path, looks, missing):
    network = write_network(tmp_path, looks)
    (tmp_path / missing).unlink()
    with pytest.raises(DataNotFound, match=missing):
        check_texts(network)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("content", [b"", b"not a graph", pickle.dumps({"a": 1})])
def test_a_damaged_encoder_is_refused(tmp_path, looks, content, workers):
    network = write_network(tmp_path, looks)
    (tmp_path / "text.onnx").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"text\.onnx") as refused:
        word_vectors(network, WORDS, workers=workers)
    assert "\n" not in str(refused.value)


def test_an_output_that_is_not_there_or_no_vector_is_refused(tmp_path, looks):
    with pytest.raises(ModelFileError, match="nothing_such"):
        word_vectors(
            write_network(tmp_path, looks, manifest={"text_output": "nothing_such"}), WORDS, workers=0
        )
    looks["rose"] = np.full(N_CELLS, np.nan, np.float32)
    with pytest.raises(ModelFileError, match="finite"):
        word_vectors(write_network(tmp_path, looks), WORDS, workers=0)


def test_a_tokenizer_with_pieces_that_the_encoder_lacks_is_refused(tmp_path, looks):
    network = write_network(tmp_path, looks)
    values = json.loads((tmp_path / "tokenizer.json").read_text())
    values["model"]["vocab"]["rose</w>"] = 10**6
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="does not run"):
        word_vectors(network, WORDS, workers=0)


# --- What docs/vision.md shows ------------------------------------------------------------------------------------


def shown(kind, holding):
    page = (Path(__file__).parents[3] / "docs" / "vision.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (found,) = [block for language, block in blocks if language == kind and holding in block]
    return found


def test_the_manifest_that_is_shown_is_one(tmp_path):
    path = tmp_path / "clip.json"
    path.write_text(shown("json", "tokenizer"))
    assert Manifest.from_json(path).text == "text_model.onnx"


def test_the_table_that_is_shown_is_read(tmp_path, looks, rng, monkeypatch):
    network = write_network(
        tmp_path,
        looks,
        manifest={"model": "vision_model.onnx", "text": "words.safetensors", "tokenizer": None},
    )
    (tmp_path / "vision.onnx").rename(tmp_path / "vision_model.onnx")
    (tmp_path / "words.txt").write_text("rose\nsea\n")
    monkeypatch.chdir(tmp_path)
    told = []

    def encode(texts):
        told.extend(texts)
        return np.ones((len(texts), N_COLUMNS), np.float32)

    exec(shown("", "save_file"), {"encode": encode})
    assert told == ["a photo of rose", "a photo of sea"]
    assert word_vectors(network, ["sea", "Rex"]).sum(axis=1).tolist() == [N_COLUMNS, 0]


# --- A table -----------------------------------------------------------------------------------------------------


def test_a_table_gives_the_words_that_it_has(tmp_path, looks):
    network = table_network(tmp_path, looks)
    check_texts(network)
    vectors = word_vectors(network, ["Grass", "rose", "Rex"])
    expected = np.arange(2 * N_COLUMNS, dtype=np.float32).reshape(2, -1)
    np.testing.assert_array_equal(vectors, [*expected[::-1], np.zeros(N_COLUMNS)])
    half = table_network(tmp_path, looks, vectors=expected.astype(np.float16))
    np.testing.assert_array_equal(word_vectors(half, ["rose"]), expected[:1])


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["rose", "Rose"], None, "'rose' occurs twice"),
        (["caf\u00e9", "cafe\u0301"], None, "occurs twice"),
        (["rose"], np.ones((2, 3), np.float32), "not one row for each of 1 words"),
        (["rose"], np.ones(3, np.float32), "not one row"),
        (["rose"], np.ones((1, 3), np.int64), "not one row"),
        ([], np.ones((0, 3), np.float32), "not one row"),
        (["rose"], np.full((1, 3), np.nan, np.float32), "vector of 'rose'"),
        (["rose"], np.full((1, 3), np.inf, np.float32), "vector of 'rose'"),
        (["rose"], np.full((1, 3), 1e300), "vector of 'rose'"),
        ([5], np.ones((1, 3), np.float32), "not a list of words"),
        ({"rose": 0}, np.ones((1, 3), np.float32), "not a list of words"),
    ],
)
def test_bad_tables_say_why(tmp_path, looks, words, vectors, message):
    network = table_network(tmp_path, looks)
    vectors = np.ones((len(words), 3), np.float32) if vectors is None else vectors
    write_table(tmp_path / "words.safetensors", words, vectors, tmp_path / "vision.onnx")
    for ask in (check_texts, lambda path: word_vectors(path, ["rose"])):
        with pytest.raises(ModelFileError, match=message) as refused:
            ask(network)
        assert "\n" not in str(refused.value)


def test_a_table_of_another_network_is_refused(tmp_path, looks):
    network = table_network(tmp_path, looks)
    with (tmp_path / "vision.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ModelFileError, match=r"another network than vision\.onnx"):
        check_texts(network)


@pytest.mark.parametrize("kind", ["empty", "text", "pickle", "npz", "truncated", "bare", "no facts"])
def test_what_is_no_table_is_refused_and_runs_nothing(tmp_path, looks, kind):
    network = table_network(tmp_path, looks)
    path = tmp_path / "words.safetensors"
    trap = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return open, (str(trap), "w")

    if kind == "npz":
        with path.open("wb") as file:
            np.savez(file, vectors=np.array([Trap()], dtype=object))
    elif kind in ("bare", "no facts"):
        save_file(
            {"vectors": np.ones((1, 3))}, path, metadata={"words": '["a"]'} if kind == "no facts" else None
        )
    else:
        whole = path.read_bytes()
        content = {
            "empty": b"",
            "text": b"rose 1 2 3\n",
            "pickle": pickle.dumps(Trap()),
            "truncated": whole[:-5],
        }
        path.write_bytes(content[kind])
    with pytest.raises(ModelFileError, match="not a table of word vectors"):
        check_texts(network)
    assert not trap.exists()


def test_words_that_are_no_json_are_refused(tmp_path, looks):
    network = table_network(tmp_path, looks)
    for words in ("[", "[" * 100_000):
        save_file(
            {"vectors": np.ones((1, 3))},
            tmp_path / "words.safetensors",
            metadata={"words": words, "network": ""},
        )
        with pytest.raises(ModelFileError, match="not a table of word vectors"):
            check_texts(network)


def test_a_huge_table_is_not_opened(tmp_path, looks, monkeypatch):
    network = table_network(tmp_path, looks)
    with (tmp_path / "words.safetensors").open("wb") as file:
        file.truncate(module.MAX_TABLE_BYTES + 1)  # a sparse file: it takes no room
    monkeypatch.setattr(module, "safe_open", None)
    with pytest.raises(ModelFileError, match="larger than 1024 MB"):
        check_texts(network)


def test_a_missing_table_is_named(tmp_path, looks):
    network = table_network(tmp_path, looks)
    (tmp_path / "words.safetensors").unlink()
    with pytest.raises(DataNotFound, match=r"words\.safetensors"):
        word_vectors(network, ["rose"])
