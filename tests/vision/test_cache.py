import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from topicture.errors import TopictureError
from topicture.vision.cache import FeatureCache, user_cache_folder

A, B = b"a" * 32, b"b" * 32


def age(path, seconds=100):
    """Make a file look as if it had been written that long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_arrays_come_back_after_reopening(tmp_path, rng):
    arrays = {"x": rng.normal(size=(3, 4)).astype(np.float16), "y": np.zeros((0, 5)), "z": np.arange(3)}
    with FeatureCache(tmp_path) as cache:
        cache.put(A, arrays)
    with FeatureCache(tmp_path) as cache:
        for key, array in arrays.items():
            stored = cache.get(A, key)
            assert stored.dtype == array.dtype
            assert np.array_equal(stored, array)
        assert cache.missing(A, ["w", "x", "v"]) == ["w", "v"]
        assert cache.missing(B, ["x"]) == ["x"]
        with pytest.raises(KeyError):
            cache.get(B, "x")


def test_later_value_replaces_earlier(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put(A, {"x": np.zeros(2)})
        cache.put(A, {"x": np.ones(3)})
        assert cache.get(A, "x").tolist() == [1, 1, 1]


def test_reasons_are_kept_by_content_and_key(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put_reason(A, "v1", "empty file")
    with FeatureCache(tmp_path) as cache:
        assert cache.reason(A, "v1") == "empty file"
        assert cache.reason(A, "v2") is None
        assert cache.reason(B, "v1") is None


def test_unchanged_file_is_not_read_again(tmp_path):
    path = tmp_path / "photo"
    path.write_bytes(b"one")
    age(path)
    with FeatureCache(tmp_path / "cache") as cache:
        first = cache.content_of(path)
        stamp = path.stat()
        path.write_bytes(b"two")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert cache.content_of(path) == first  # same size and time: taken for the same file
        age(path, 50)
        assert cache.content_of(path) != first


def test_freshly_written_file_is_always_read(tmp_path):
    """Within a clock tick a file can change without its time stamp moving."""
    path = tmp_path / "photo"
    path.write_bytes(b"one")
    with FeatureCache(tmp_path / "cache") as cache:
        stamp, first = path.stat(), cache.content_of(path)
        path.write_bytes(b"two")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert cache.content_of(path) != first


def test_missing_file_raises(tmp_path):
    with FeatureCache(tmp_path) as cache, pytest.raises(FileNotFoundError):
        cache.content_of(tmp_path / "none")


def test_foreign_file_in_its_place_is_one_clear_error(tmp_path):
    with FeatureCache(tmp_path) as cache:
        path = cache.path
    path.write_bytes(b"something else entirely, and longer than a header" * 100)
    with pytest.raises(TopictureError, match="can't be used"):
        FeatureCache(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_kill_loses_no_committed_row(tmp_path):
    """A process writes rows without end and is killed; what is there afterwards is whole."""
    script = (
        "import sys, numpy as np\n"
        "from topicture.vision import cache\n"
        "cache.COMMIT_SECONDS = 0\n"
        "store = cache.FeatureCache(sys.argv[1])\n"
        "for i in range(10**9):\n"
        "    store.put(i.to_bytes(32, 'big'), {'x': np.full(2000, i)})\n"
        "    if i == 300: print('far', flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout.readline() == b"far\n"
        process.send_signal(signal.SIGKILL)
    with FeatureCache(tmp_path) as cache:
        n = 0
        while not cache.missing(n.to_bytes(32, "big"), ["x"]):
            assert np.array_equal(cache.get(n.to_bytes(32, "big"), "x"), np.full(2000, n))
            n += 1
        assert n >= 300


def test_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("TOPICTURE_CACHE", str(tmp_path))
    assert user_cache_folder() == tmp_path
    monkeypatch.delenv("TOPICTURE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert user_cache_folder() == tmp_path / "xdg" / "topicture"
