"""Feature rows: read like an array, refused when they are not what the manifest says."""

import hashlib
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicture.store.shards import FeatureShards, ShardError, write_shards

ROWS = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "features"
    write_shards(folder, ROWS)
    return folder


@pytest.fixture(scope="module")
def old_folder(tmp_path_factory):
    """As earlier versions cut them."""
    folder = tmp_path_factory.mktemp("shards") / "features"
    folder.mkdir()
    shards = []
    for number, rows in enumerate([ROWS[:4], ROWS[4:8], ROWS[8:]]):
        path = folder / f"{number:05d}.npy"
        np.save(path, rows)
        digest = hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()
        shards.append({"file": path.name, "rows": len(rows), "blake2b": digest})
    manifest = {"format": 1, "rows": 10, "columns": 3, "dtype": "float16", "shards": shards}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def copy(folder, tmp_path):
    copied = tmp_path / "features"
    copied.mkdir()
    for path in folder.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    return copied


@given(st.lists(st.integers(-10, 9), max_size=20), st.slices(10))
def test_rows_are_those_that_were_written(folder, old_folder, positions, part):
    chosen = np.array(positions, dtype=int)
    for shards in (FeatureShards(folder), FeatureShards(old_folder)):
        np.testing.assert_array_equal(shards[chosen], ROWS[chosen])
        np.testing.assert_array_equal(shards[part], ROWS[part])
        assert (shards.shape, len(shards), shards.dtype) == ((10, 3), 10, np.float16)
        np.testing.assert_array_equal(shards[9], ROWS[9])


def test_what_was_written_is_whole(folder, old_folder):
    assert FeatureShards(folder).damage() == FeatureShards(old_folder).damage() == []


def test_rows_are_read_when_they_are_asked_for(tmp_path):
    write_shards(tmp_path / "features", np.ones((1000, 500), np.float32))
    tracemalloc.start()
    rows = FeatureShards(tmp_path / "features")[500:510]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.sum() == 5000
    assert peak < 100_000  # of 2 MB


def test_no_rows_at_all(tmp_path):
    write_shards(tmp_path / "none", ROWS[:0])
    assert FeatureShards(tmp_path / "none")[:].shape == (0, 3)


@pytest.mark.parametrize(("kind", "name"), [("folder", "00000.npy"), ("old_folder", "00001.npy")])
def test_a_flipped_bit_is_found(kind, name, tmp_path, request):
    changed = copy(request.getfixturevalue(kind), tmp_path)
    content = bytearray((changed / name).read_bytes())
    content[-1] ^= 1
    (changed / name).write_bytes(content)
    assert FeatureShards(changed).damage() == [f"features/{name}: its content has changed"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.update(format=2),
        lambda m: m.update(rows=11),
        lambda m: m.update(columns=4),
        lambda m: m["shards"].pop(),
        lambda m: m["shards"][0].update(file="../outside.npy"),
        lambda m: m.pop("dtype"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(folder, tmp_path, edit):
    changed = copy(folder, tmp_path)
    manifest = json.loads((changed / "manifest.json").read_text())
    edit(manifest)
    (changed / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ShardError):
        FeatureShards(changed)


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x80\x04K\x01."])
def test_a_damaged_shard_is_refused(folder, tmp_path, content):
    changed = copy(folder, tmp_path)
    (changed / "00000.npy").write_bytes(content)
    with pytest.raises(ShardError):
        FeatureShards(changed)
