"""Model files: whatever is not one of ours is refused in one line, no code runs, and a write is all or nothing."""

import json
import os
import pickle
import stat
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.errors import DataNotFound, ModelFileError
from topicture.models.files import FORMAT, read_model, write_atomically, write_model

HEADER = {"model": "toy", "words": ["día", "\U0001f600"], "n": 3}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], np.int64), "empty": np.zeros((0, 4))}


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "model", HEADER, ARRAYS)
    return tmp_path / "model"


def refuse(path, message="."):
    with pytest.raises(ModelFileError, match=message) as refused:
        read_model(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def safetensors(tensors, data=b"", metadata=None):
    """The bytes of a safetensors file with the given table of tensors."""
    if metadata is None:
        metadata = {"topicture": json.dumps({"format": FORMAT})}
    header = json.dumps({"__metadata__": metadata, **tensors}).encode()
    return struct.pack("<Q", len(header)) + header + data


def tensor(begin, end, shape=(2,), dtype="F64"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


# --- What was written comes back -------------------------------------------------------------------------------------


def test_round_trip(path):
    header, arrays = read_model(path)
    assert header == {**HEADER, "format": FORMAT}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_arrays_in_any_memory_order(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    write_model(tmp_path / "model", {}, {"t": table.T, "s": table[::2, 1:]})
    _, arrays = read_model(tmp_path / "model")
    np.testing.assert_array_equal(arrays["t"], table.T)
    np.testing.assert_array_equal(arrays["s"], table[::2, 1:])


@pytest.mark.parametrize("n_bytes", range(500, 1600, 8))
def test_headers_of_every_length(tmp_path, n_bytes):
    """The first bytes are the length of the header: 640 and 896 look like the start of a pickle."""
    write_model(tmp_path / "model", {"words": "x" * n_bytes}, {"a": np.zeros(1)})
    assert read_model(tmp_path / "model")[0]["words"] == "x" * n_bytes


def test_the_same_content_gives_the_same_bytes(tmp_path):
    write_model(tmp_path / "a", HEADER, ARRAYS)
    write_model(tmp_path / "b", dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_headers_must_be_json(tmp_path):
    with pytest.raises(TypeError, match="can't hold"):
        write_model(tmp_path / "model", {"base": object()}, {})
    assert not list(tmp_path.iterdir())


# --- What is refused -----------------------------------------------------------------------------------------------


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(tmp_path, protocol):
    (tmp_path / "model").write_bytes(pickle.dumps([Bomb()] * 5, protocol=protocol))
    refuse(tmp_path / "model", "a pickle file")


@pytest.mark.parametrize("protocol", [0, 1])
def test_pickles_without_a_mark(tmp_path, protocol):
    (tmp_path / "model").write_bytes(pickle.dumps([Bomb()] * 5, protocol=protocol))
    refuse(tmp_path / "model", "not a Topicture model file")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "model"
    path.write_bytes(content)
    refuse(path)


def test_truncation_anywhere(path):
    content = path.read_bytes()
    for keep in range(len(content)):
        path.write_bytes(content[:keep])
        refuse(path)


def test_extra_bytes(path):
    path.write_bytes(path.read_bytes() + b"more")
    refuse(path, "damaged")


@pytest.mark.parametrize("length", [2**63, 2**40, 2**26 + 1])
def test_a_header_that_claims_to_be_huge(tmp_path, length):
    (tmp_path / "model").write_bytes(struct.pack("<Q", length) + b'{"__metadata__":{}}')
    refuse(tmp_path / "model", "not a Topicture model file")


def test_a_header_longer_than_the_file(tmp_path):
    (tmp_path / "model").write_bytes(struct.pack("<Q", 10_000) + b'{"__metadata__":{}}')
    refuse(tmp_path / "model", "truncated")


def test_a_deeply_nested_header(tmp_path):
    text = b'{"a":' + b"[" * 200_000
    (tmp_path / "model").write_bytes(struct.pack("<Q", len(text)) + text)
    refuse(tmp_path / "model", "not one of Topicture's")


def test_overlapping_tensors(tmp_path):
    content = safetensors({"a": tensor(0, 16), "b": tensor(8, 24)}, bytes(24))
    (tmp_path / "model").write_bytes(content)
    refuse(tmp_path / "model", "damaged")


@pytest.mark.parametrize(
    "bad",
    [
        tensor(0, 1 << 40),
        tensor(0, 16, shape=(2**62, 2**62)),
        tensor(0, 16, shape=(-2,)),
        tensor(0, 16, shape=(3,)),
        tensor(16, 0),
        tensor(4, 20),
        tensor(0, 16, dtype="PY"),
        {"dtype": "F64"},
        7,
    ],
    ids=[
        "past the end",
        "overflow",
        "negative",
        "other size",
        "backwards",
        "hole",
        "dtype",
        "incomplete",
        "number",
    ],
)
def test_tensors_that_do_not_fit(tmp_path, bad):
    (tmp_path / "model").write_bytes(safetensors({"a": bad}, bytes(16)))
    refuse(tmp_path / "model", "damaged")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_nan(tmp_path, dtype):
    write_model(tmp_path / "model", {}, {"fine": np.zeros(3), "bad": np.array([0, np.nan], dtype)})
    refuse(tmp_path / "model", "'bad' holds values that are not numbers")


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3"])
def test_kinds_of_numbers_that_numpy_lacks(tmp_path, dtype):
    size = 4 if dtype == "BF16" else 2
    (tmp_path / "model").write_bytes(safetensors({"a": tensor(0, size, dtype=dtype)}, b"\xff" * size))
    refuse(tmp_path / "model")


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"topicture": ""},
        {"topicture": "[1]"},
        {"topicture": "{}"},
        {"topicture": '{"format": "1"}'},
        {"topicture": '{"format": null}'},
        {"other": "{}"},
    ],
    ids=str,
)
def test_foreign_safetensors(tmp_path, metadata):
    (tmp_path / "model").write_bytes(safetensors({}, metadata=metadata))
    refuse(tmp_path / "model", "not one of Topicture's|damaged")


def test_a_newer_format(tmp_path):
    metadata = {"topicture": json.dumps({"format": FORMAT + 1})}
    (tmp_path / "model").write_bytes(safetensors({}, metadata=metadata))
    refuse(tmp_path / "model", "written by a newer Topicture")


def test_no_file_and_no_file_at_all(tmp_path):
    with pytest.raises(DataNotFound, match="there is no such model file"):
        read_model(tmp_path / "nothing")
    refuse(tmp_path, "can't be read")


# --- All or nothing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", ["fsync", "replace", "chmod"])
def test_a_failing_write_leaves_the_old_file(path, monkeypatch, fails):
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="No space"):
        write_model(path, {"model": "new"}, {})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model"]


def test_the_mode_is_kept(path):
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_mode(tmp_path):
    usual = tmp_path / "usual"
    usual.write_bytes(b"")
    write_atomically(tmp_path / "new", b"content")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_folders_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "model", b"content")
    assert (tmp_path / "a" / "b" / "model").read_bytes() == b"content"


def test_a_name_of_255_bytes(tmp_path):
    path = tmp_path / ("ä" * 127 + "x")
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"
