"""Schedulers come and go; one that can't start says so."""

import subprocess
import sys

import pytest

from topicture.cluster import members
from topicture.errors import TopictureError

TWICE = """
from topicture.cluster.members import scheduler
for _ in range(2):  # Dask's own settings must outlive the first
    with scheduler("127.0.0.1", 0, None) as made:
        print(made.address.startswith("tcp://127.0.0.1:"))
"""


def test_one_scheduler_after_the_other_in_one_process():
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True"]


def test_a_scheduler_that_fails_in_whatever_way_is_not_waited_for(monkeypatch):
    def broken():
        raise RuntimeError("no such thing")

    monkeypatch.setattr(members, "distributed", broken)
    with (
        pytest.raises(TopictureError, match="no such thing"),
        members.scheduler("127.0.0.1", 0, None),
    ):
        pass
