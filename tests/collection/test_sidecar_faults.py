"""Sidecars under kill -9 and on a full disk: the old file or the new one, whole."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from photo_files import photo, subject

from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import Tag, write_sidecar

EXCHANGE = "topicture.atomic.exchange"
OLD, NEW = {"theirs"}, {"theirs", "ours"}

# Kills itself at the first call of a function, before or after it took effect.
KILLED_AT = textwrap.dedent(
    """
    import os, signal, sys
    from importlib import import_module
    from topicture.collection.sidecar.write import Tag, write_sidecar
    photo, place, name, when = sys.argv[1:]
    module = import_module(place)
    real = getattr(module, name)
    def killed(*arguments, **options):
        result = real(*arguments, **options) if when == "after" else None
        os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(module, name, killed)
    write_sidecar(photo, add=[Tag("ours")])
    """
)

# Writes for ever, one word in, one word out; says so when it has begun.
RESTLESS = textwrap.dedent(
    """
    import sys
    from topicture.collection.sidecar.write import Tag, write_sidecar
    print("ready", flush=True)
    while True:
        write_sidecar(sys.argv[1], add=[Tag("ours")])
        write_sidecar(sys.argv[1], remove=["ours"])
    """
)


@pytest.fixture
def picture(tmp_path):
    path = photo(tmp_path / "a.jpg")
    (tmp_path / "a.jpg.xmp").write_bytes(subject("theirs"))
    (tmp_path / "a.jpg.xmp").chmod(0o640)
    return path


def check_whole(picture, original):
    found = photo_keywords(picture)
    assert found.refused == ()
    assert set(found.words) in (OLD, NEW)
    assert picture.read_bytes() == original
    assert (picture.parent / "a.jpg.xmp").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("place", "name", "when", "expected"),
    [
        ("os", "fsync", "before", OLD),
        ("os", "fsync", "after", OLD),
        ("os", "chmod", "after", OLD),
        (EXCHANGE, "rename", "before", OLD),
        (EXCHANGE, "rename", "after", NEW),
        (EXCHANGE, "sync_folder", "after", NEW),
        ("os", "unlink", "before", NEW),
    ],
)
def test_killed_at_every_step_of_a_write(picture, place, name, when, expected):
    original = picture.read_bytes()
    process = subprocess.run([sys.executable, "-c", KILLED_AT, picture, place, name, when], check=False)
    assert process.returncode == -signal.SIGKILL
    check_whole(picture, original)
    assert set(photo_keywords(picture).words) == expected
    write_sidecar(picture, add=[Tag("ours")])  # and the work goes on
    assert set(photo_keywords(picture).words) == NEW


def test_killed_at_any_time(picture):
    original = picture.read_bytes()
    for milliseconds in (1, 3, 7, 13, 29):
        with subprocess.Popen([sys.executable, "-c", RESTLESS, picture], stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(milliseconds / 1000)
            process.kill()
        check_whole(picture, original)


@pytest.mark.parametrize("step", ["os.fsync", "os.chmod", f"{EXCHANGE}.rename", f"{EXCHANGE}.sync_folder"])
@pytest.mark.parametrize("error", [(28, "No space left on device"), (30, "Read-only file system")])
def test_a_full_or_read_only_disk_leaves_the_old_sidecar(picture, monkeypatch, step, error):
    original = picture.read_bytes()

    def fail(*arguments):
        raise OSError(*error)

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match=error[1]):
        write_sidecar(picture, add=[Tag("ours")])
    monkeypatch.undo()
    check_whole(picture, original)
    assert set(photo_keywords(picture).words) == OLD
    assert sorted(os.listdir(picture.parent)) == ["a.jpg", "a.jpg.xmp"]
