"""A disk that is really full, and has room again: one true line, nothing half, nothing left behind."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from photo_folder import copy_library, hashes, make_library

from topicture.app.verbs.library import Library
from topicture.errors import TopictureError
from topicture.vision.cache import FeatureCache


@pytest.fixture
def small(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here (that takes root)")
    yield folder
    # Lazily: a failed test may hold a file open, and its report must not be lost for that.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(folder, left=0):
    """No room but for so many bytes."""
    filler = folder / "filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        while os.statvfs(folder).f_bavail:
            os.write(handle, bytes(os.statvfs(folder).f_bsize))
        os.ftruncate(handle, os.fstat(handle).st_size - left)
    finally:
        os.close(handle)
    yield
    filler.unlink()


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("full") / "photos", n=24, tagged=16)
    library.learn("lsa", regions=False, workers=0)
    library.annotate(workers=0, again=True)
    return library


def one_line(result):
    code, told, error = result
    assert (code, told, error.count("\n")) == (2, "", 1), result
    assert "full" in error or "No space left" in error
    return error


@pytest.mark.parametrize(("target", "left"), [("tags.csv", 0), ("labels", 0), ("labels", 16384)])
def test_export(learned, small, tmp_path, topicture, monkeypatch, target, left):
    monkeypatch.setenv("TOPICTURE_CACHE", str(small / "cache"))
    library = Library.find(copy_library(learned.folder.parent, tmp_path / "photos"))
    format = ["--format", "labelme"] if target == "labels" else []
    arguments = ["export", small / target, *format]
    assert topicture(*arguments, catalog=library.folder)[0] == 0
    before = hashes(small)
    library.decide("photo-000.jpg", [f"a long word for {target} and {left}" * 20], "present")
    with full(small, left):
        error = one_line(topicture(*arguments, catalog=library.folder))
        assert "nothing was written" in error
        assert {name: value for name, value in hashes(small).items() if name != "filler"} == before
        assert not list(small.rglob(".topicture.*"))
    assert topicture(*arguments, catalog=library.folder)[0] == 0
    assert hashes(small) != before


@pytest.mark.parametrize("left", [0, 65536])
def test_backup(learned, small, topicture, left):
    with full(small, left):
        one_line(topicture("backup", small / "copy", catalog=learned.folder))
        assert os.listdir(small) == ["filler"]
    assert topicture("backup", small / "copy", catalog=learned.folder)[0] == 0
    assert Library(small / "copy").check() == []


@pytest.mark.parametrize("left", [8192, 32768])
def test_index_and_cache(learned, small, topicture, left):
    """The catalog itself lies on the full disk: nothing that was decided is lost, and the work is done later."""
    copy_library(learned.folder.parent, small / "photos")
    shutil.rmtree(small / "photos" / ".topicture" / "cache")  # everything is measured again
    library = Library.find(small / "photos")
    words, index = library.words(), os.listdir(library.folder / "index")
    with full(small, left):
        one_line(topicture("annotate", "--again", "--workers", 0, "--quiet", catalog=library.folder))
        assert os.listdir(library.folder / "index") == index
        assert not list(small.rglob(".topicture.*"))
    assert topicture("annotate", "--again", "--workers", 0, "--quiet", catalog=library.folder) == (0, "", "")
    assert library.words() == words
    assert library.check() == []


def test_the_cache_alone(small):
    def measure():
        with FeatureCache(small / "cache") as cache:
            for n in range(40):
                cache.put(bytes([n]), {"key": np.zeros(2000)})

    with full(small, left=65536), pytest.raises(TopictureError, match="the disk is full; make room"):
        measure()
    with FeatureCache(small / "cache") as cache:
        cache.put(b"x", {"key": np.arange(3)})
        assert cache.get(b"x", "key").tolist() == [0, 1, 2]


def test_a_killed_backup_leaves_nothing_for_good(learned, tmp_path, topicture):
    killed = (
        "import os, sys, shutil\n"
        "shutil.copytree = lambda *arguments: os.kill(os.getpid(), 9)\n"
        "from topicture.app.verbs.library import Library\n"
        "Library(sys.argv[1]).backup(sys.argv[2])\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(learned.folder), str(tmp_path / "copy")])
    assert len(os.listdir(tmp_path)) == 1
    assert topicture("backup", tmp_path / "copy", catalog=learned.folder)[0] == 0
    assert os.listdir(tmp_path) == ["copy"]
