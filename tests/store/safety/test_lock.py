"""The writer's lock: what it says when it can't be had, and how long it waits."""

import errno
import os
import threading
import time

import pytest

from topicture.store import CatalogBusy, CatalogError
from topicture.store.safety import lock as locks
from topicture.store.safety.lock import WriterLock


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP, errno.EIO, errno.EPERM])
def test_a_file_system_without_locks_is_not_another_process(tmp_path, monkeypatch, code):
    def fail(handle):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks, "_lock", fail)
    with pytest.raises(CatalogError, match=r"can't be locked \(") as refused:
        WriterLock(tmp_path / "lock").acquire("scan")
    assert os.strerror(code) in str(refused.value)
    assert "another process" not in str(refused.value)


def test_a_writer_waits_for_one_that_is_about_to_end(tmp_path):
    first = WriterLock(tmp_path / "lock").acquire("learn")
    threading.Timer(0.3, first.release).start()
    start = time.monotonic()
    WriterLock(tmp_path / "lock").acquire("scan", patience=10).release()
    assert 0.2 < time.monotonic() - start < 5


def test_nobody_waits_for_ever(tmp_path):
    first = WriterLock(tmp_path / "lock").acquire("learn")
    with pytest.raises(CatalogBusy, match="'topicture learn'"):
        WriterLock(tmp_path / "lock").acquire("scan", patience=0.1)
    first.release()


def test_a_lock_on_a_full_disk_holds_without_saying_whose(tmp_path, monkeypatch):
    def full(handle, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    held = WriterLock(tmp_path / "lock").acquire("learn")
    with pytest.raises(CatalogBusy, match="another process is writing"):
        WriterLock(tmp_path / "lock").acquire("scan", patience=0)
    held.release()
