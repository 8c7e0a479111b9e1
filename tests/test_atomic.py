"""Files and folders appear whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from topicture.atomic import (
    finish_replacing,
    folders,
    leftovers,
    make_folder,
    new_folder,
    remove_leftovers,
    renaming,
    write_atomically,
)


def full(*arguments):
    raise OSError(28, "No space left on device")


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "deep" / "file"
    for content in (b"first", b"second"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_the_mode_is_kept_and_new_files_follow_the_umask(tmp_path):
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        write_atomically(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)
    path.chmod(0o600)
    write_atomically(path, b"newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_is_replaced_whole(tmp_path):
    folder = tmp_path / "folder"
    for name in ("first", "second"):
        with new_folder(folder) as new:
            (new / name).write_text(name)
        assert os.listdir(folder) == [name]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_failure_while_filling_leaves_the_old_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    with pytest.raises(OSError, match="No space"), new_folder(folder) as new:
        full((new / "half").touch())
    assert os.listdir(folder) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_failed_swap_puts_the_old_folder_back(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    rename = os.rename
    monkeypatch.setattr(folders, "_exchange", lambda a, b: False)
    monkeypatch.setattr(os, "rename", lambda a, b: full() if a.name == "new" else rename(a, b))
    with pytest.raises(OSError, match="No space"), new_folder(folder):
        pass
    assert os.listdir(folder) == ["old"]


def test_the_last_look_before_a_file_is_replaced(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"old", before_replace=lambda: path.write_bytes(b"came meanwhile"))
    assert path.read_bytes() == b"old"
    seen = []
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new", before_replace=lambda: full(seen.append(os.listdir(tmp_path))))
    assert len(seen[0]) == 2  # the new file was written by then, and has gone since
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_only_regular_files_are_replaced(tmp_path, kind):
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"precious")
    if kind in ("link", "dangling"):
        path.symlink_to(other if kind == "link" else tmp_path / "nothing")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    before = path.lstat()
    with pytest.raises(OSError, match=r"regular file|directory"):
        write_atomically(path, b"new")
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert other.read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]


# --- On disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def synced(monkeypatch):
    """What was synced, and renamed into place, in order: names of files and folders."""
    events, fsync = [], os.fsync

    def see(handle):
        events.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", see)
    for name in ("replace", "rename"):
        function = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda a, b, f=function: (events.append(("put", os.path.basename(b))), f(a, b))[1]
        )
    return events


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to name what is synced")
def test_a_file_its_name_and_new_folders_are_synced(tmp_path, synced):
    write_atomically(tmp_path / "a" / "b" / "file", b"content")
    put = synced.index(("put", "file"))
    assert [name for _, name in synced[:put]][:2] == [tmp_path.name, "a"]  # each folder's name, in its parent
    assert synced[put - 1][1].endswith(".tmp")  # the content
    assert synced[put + 1] == ("sync", "b")  # the file's name


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to name what is synced")
@pytest.mark.parametrize("exists", [True, False])
def test_all_of_a_new_folder_is_synced_before_it_takes_its_place(tmp_path, synced, monkeypatch, exists):
    folder = tmp_path / "folder"
    if exists:
        folder.mkdir()
        exchange = folders._exchange
        monkeypatch.setattr(
            folders, "_exchange", lambda a, b: (synced.append(("put", b.name)), exchange(a, b))[1]
        )
    with new_folder(folder) as new:
        (new / "inner").mkdir()
        (new / "inner" / "deep").write_bytes(b"x")
        (new / "file").write_bytes(b"x")
    put = synced.index(("put", "folder"))
    assert {("sync", name) for name in ("inner", "deep", "file", "new")} <= set(synced[:put])
    assert ("sync", tmp_path.name) in synced[put:]


def test_folders_are_made_once(tmp_path, synced):
    make_folder(tmp_path / "a")
    before = len(synced)
    make_folder(tmp_path / "a")
    assert len(synced) == before


def test_a_folder_is_exchanged_in_one_step(tmp_path, monkeypatch):
    """At every system call there is an old folder or a new one."""
    folder = tmp_path / "folder"
    folder.mkdir()
    seen = []
    rename = os.rename
    monkeypatch.setattr(os, "rename", lambda a, b: (rename(a, b), seen.append(folder.exists()))[0])
    with new_folder(folder) as new:
        (new / "new").touch()
    assert os.listdir(folder) == ["new"]
    if renaming._system_call() is not None:
        assert seen == []


BETWEEN_TWO_RENAMES = """
import os, sys
from pathlib import Path
from topicture.atomic import folders, new_folder
folders._exchange = lambda a, b: False
rename = os.rename
os.rename = lambda a, b: os._exit(9) if a.name == "new" else rename(a, b)
with new_folder(Path(sys.argv[1])):
    pass
"""


@pytest.mark.parametrize("look", [finish_replacing, lambda folder: remove_leftovers(folder.parent)])
def test_where_names_cannot_be_exchanged_a_crash_between_two_renames_is_mended(tmp_path, look):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    assert subprocess.run([sys.executable, "-c", BETWEEN_TWO_RENAMES, folder]).returncode == 9
    assert not folder.exists()
    look(folder)
    assert os.listdir(folder) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


# --- Leftovers -----------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from topicture.atomic import new_folder, write_atomically
here = Path(sys.argv[1])
def die():
    print("ready", flush=True)
    os.kill(os.getpid(), 9) if sys.argv[3] == "die" else sys.stdin.read()
if sys.argv[2] == "file":
    write_atomically(here / "file", b"half", before_replace=die)
else:
    with new_folder(here / "folder") as new:
        (new / "half").touch()
        die()
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_removed(tmp_path, kind):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), kind, "die"], stdout=subprocess.DEVNULL)
    assert len(os.listdir(tmp_path)) == 1
    remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_living_process_writes_is_left_alone(tmp_path, kind):
    command = [sys.executable, "-c", KILLED, str(tmp_path), kind, "live"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        remove_leftovers(tmp_path)
        assert len(os.listdir(tmp_path)) == 1
        process.stdin.close()
        assert process.wait(30) == 0
    assert os.listdir(tmp_path) == [kind]


def test_what_only_looks_like_ours_is_left_alone(tmp_path):
    (tmp_path / ".topicture.20260131").mkdir()
    (tmp_path / ".topicture.20260131" / "catalog.sqlite").touch()
    (tmp_path / ".topicture.20260131.work").mkdir()
    (tmp_path / ".topicture.20260131.work" / "catalog.sqlite").touch()
    (tmp_path / ".topicture.notes.tmp").touch()
    (tmp_path / ".topicture.abcdefgh.tmp").symlink_to(tmp_path / ".topicture.notes.tmp")
    before = sorted(os.listdir(tmp_path))
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_taken_for_a_leftover_in_its_first_moment_is_made_again(tmp_path, monkeypatch):
    lock, stolen = leftovers._lock, []

    def late(handle, *, wait):
        if not stolen:
            stolen.extend(tmp_path.glob(".topicture.*"))
            stolen[0].unlink()
        return lock(handle, wait=wait)

    monkeypatch.setattr(leftovers, "_lock", late)
    write_atomically(tmp_path / "file", b"content")
    assert stolen
    assert (tmp_path / "file").read_bytes() == b"content"
