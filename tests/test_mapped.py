"""Arrays that are written through memory have their room before anything is written to them."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import topicture
from topicture.atomic.mapped import new_array


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room can't be taken ahead here")
def test_the_room_is_taken_at_once(tmp_path):
    array = new_array(tmp_path / "a.npy", np.float32, (1000, 1000))
    status = (tmp_path / "a.npy").stat()
    assert status.st_blocks * 512 >= status.st_size > array.nbytes


def test_what_is_written_is_read(tmp_path):
    new_array(tmp_path / "a.npy", np.int32, (3,))[:] = [1, 2, 3]
    assert np.load(tmp_path / "a.npy").tolist() == [1, 2, 3]


def test_no_other_array_is_written_through_memory():
    package = Path(topicture.__file__).parent
    writes = re.compile(r"""memmap\([^)]*["'](w\+|r\+)["']""")
    found = {path.name for path in package.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}
    assert found == {"mapped.py"}
