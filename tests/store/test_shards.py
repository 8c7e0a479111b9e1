"""Feature shards: read like an array, refused when they are not what the manifest says."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicture.store.shards import FeatureShards, ShardError, write_shards

ROWS = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "features"
    write_shards(folder, ROWS, shard_rows=4)
    return folder


def copy(folder, tmp_path):
    copied = tmp_path / "features"
    copied.mkdir()
    for path in folder.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    return copied


@given(st.lists(st.integers(-10, 9), max_size=20), st.slices(10))
def test_rows_are_those_that_were_written(folder, positions, part):
    shards = FeatureShards(folder)
    chosen = np.array(positions, dtype=int)
    np.testing.assert_array_equal(shards[chosen], ROWS[chosen])
    np.testing.assert_array_equal(shards[part], ROWS[part])
    assert (shards.shape, len(shards), shards.dtype) == ((10, 3), 10, np.float16)
    np.testing.assert_array_equal(shards[9], ROWS[9])


def test_shards_are_cut_and_whole(folder):
    assert sorted(path.name for path in folder.glob("*.npy")) == ["00000.npy", "00001.npy", "00002.npy"]
    assert FeatureShards(folder).damage() == []


def test_no_rows_at_all(tmp_path):
    write_shards(tmp_path / "none", ROWS[:0])
    assert FeatureShards(tmp_path / "none")[:].shape == (0, 3)


def test_a_flipped_bit_is_found(folder, tmp_path):
    changed = copy(folder, tmp_path)
    content = bytearray((changed / "00001.npy").read_bytes())
    content[-1] ^= 1
    (changed / "00001.npy").write_bytes(content)
    assert FeatureShards(changed).damage() == ["features/00001.npy: its content has changed"]


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
