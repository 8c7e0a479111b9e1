import collections
import hashlib
import io
import os
import pickle
import struct
import sys
import types

import numpy as np
import pytest

from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.networks.checkpoint import (
    LEGACY_MAGIC,
    LEGACY_PROTOCOL,
    parse_checkpoint,
    read_checkpoint,
)


class FloatStorage:
    """Stands for torch's class of that name: pickled by name, never called."""


def _rebuild_tensor_v2():
    """Likewise."""


@pytest.fixture(autouse=True)
def _fake_torch(monkeypatch):
    """Modules of the names that a real checkpoint mentions, so that one can be written without PyTorch."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    FloatStorage.__module__, _rebuild_tensor_v2.__module__ = "torch", "torch._utils"
    torch.FloatStorage, utils._rebuild_tensor_v2 = FloatStorage, _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


class Window:
    """A tensor as PyTorch pickles it: a reference to a storage, an offset, a shape, strides."""

    def __init__(self, storage, offset, shape, strides):
        self.storage, self.arguments = storage, (offset, shape, strides)

    def __reduce__(self):
        return _rebuild_tensor_v2, (
            Reference(self.storage),
            *self.arguments,
            False,
            collections.OrderedDict(),
        )


class Reference:
    def __init__(self, key):
        self.key = key


class Writer(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", FloatStorage, value.key, "cpu", 0, None) if isinstance(value, Reference) else None


def checkpoint(state, storages, magic=LEGACY_MAGIC, protocol=LEGACY_PROTOCOL):
    stream = io.BytesIO()
    for value in (magic, protocol, {"little_endian": True}, state, sorted(storages)):
        Writer(stream, protocol=2).dump(value)
    for key in sorted(storages):
        values = np.asarray(storages[key], dtype="<f4")
        stream.write(struct.pack("<q", values.size) + values.tobytes())
    return stream.getvalue()


def test_shapes_strides_and_offsets_are_honoured():
    values = np.arange(24, dtype=np.float32)
    state = collections.OrderedDict(
        plain=Window("a", 0, (4, 6), (6, 1)),
        turned=Window("a", 0, (6, 4), (1, 6)),
        part=Window("a", 5, (3,), (1,)),
        single=Window("b", 0, (), ()),
    )
    arrays = parse_checkpoint(checkpoint(state, {"a": values, "b": [7.0]}), "x.pth")
    assert list(arrays) == ["plain", "turned", "part", "single"]
    assert np.array_equal(arrays["plain"], values.reshape(4, 6))
    assert np.array_equal(arrays["turned"], values.reshape(4, 6).T)
    assert np.array_equal(arrays["part"], [5, 6, 7])
    assert arrays["single"] == 7


@pytest.mark.parametrize(
    "window",
    [
        Window("a", 0, (5,), (1,)),
        Window("a", 3, (2,), (1,)),
        Window("a", -1, (1,), (1,)),
        Window("a", 3, (2,), (-1,)),
    ],
)
def test_tensor_outside_its_storage_is_refused(window):
    content = checkpoint(collections.OrderedDict(w=window), {"a": np.zeros(4)})
    with pytest.raises(ModelFileError, match="outside its storage"):
        parse_checkpoint(content, "x.pth")


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("function", [os.system, eval, exec, os.mkdir, getattr, pickle.loads, np.frombuffer])
def test_no_foreign_function_is_called(function, tmp_path):
    target = tmp_path / "made"
    content = checkpoint(collections.OrderedDict(w=Evil(function, f"{target}")), {})
    with pytest.raises(ModelFileError, match="not allowed"):
        parse_checkpoint(content, "x.pth")
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip", b"\x80\x02.", pickle.dumps(3), b"\xff" * 100])
def test_other_files_are_refused(content):
    with pytest.raises(ModelFileError, match=r"x\.pth"):
        parse_checkpoint(content, "x.pth")


def test_another_magic_number_is_refused():
    with pytest.raises(ModelFileError, match="not a little-endian legacy"):
        parse_checkpoint(checkpoint({}, {}, magic=1), "x.pth")


def test_truncation_is_noticed_at_every_length():
    content = checkpoint(collections.OrderedDict(w=Window("a", 0, (4,), (1,))), {"a": np.zeros(4)})
    assert parse_checkpoint(content, "x.pth")["w"].shape == (4,)
    for length in range(len(content)):
        with pytest.raises(ModelFileError):
            parse_checkpoint(content[:length], "x.pth")


def test_hash_is_checked_before_anything_is_parsed(tmp_path):
    path = tmp_path / "x.pth"
    path.write_bytes(b"any bytes")
    with pytest.raises(ModelFileError, match="SHA-256"):
        read_checkpoint(path, "0" * 64)
    with pytest.raises(ModelFileError, match="not a readable"):
        read_checkpoint(path, hashlib.sha256(b"any bytes").hexdigest())
    with pytest.raises(DataNotFound):
        read_checkpoint(tmp_path / "none.pth", "0" * 64)
