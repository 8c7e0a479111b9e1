"""Files and folders appear whole or not at all."""

import os
import stat

import pytest

from topicture.atomic import new_folder, write_atomically


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
    monkeypatch.setattr(os, "rename", lambda a, b: full() if a.name == "new" else rename(a, b))
    with pytest.raises(OSError, match="No space"), new_folder(folder):
        pass
    assert os.listdir(folder) == ["old"]
