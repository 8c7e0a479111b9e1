"""Schedulers come and go; one that can't start says so."""

import asyncio
import socket
import subprocess
import sys
import threading

import pytest

from topicture.cluster import addresses, members
from topicture.cluster.addresses import check_answers, hush
from topicture.cluster.engine import Cluster
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


def test_a_cluster_that_ends_is_told_in_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(Cluster, "_check_workers", lambda cluster: None)  # nobody works: all waits
    hush()
    with members.scheduler("127.0.0.1", 0, None) as made:

        def work_until_it_ends():
            with Cluster(made.address, tmp_path) as cluster:
                loop = made.loop.asyncio_loop
                threading.Timer(1, lambda: asyncio.run_coroutine_threadsafe(made.close(), loop)).start()
                list(cluster.in_order(abs, [(-1,)]))

        with pytest.raises(TopictureError, match="has ended; what was measured is kept") as told:
            work_until_it_ends()
    assert "\n" not in str(told.value)
    assert not capfd.readouterr().err


def test_other_versions_are_refused_whenever_they_come(monkeypatch):
    """A fit asks its workers when it begins; some may join later."""
    with members.scheduler("127.0.0.1", 0, None) as made:
        check_answers(made.address, None, 10)
        monkeypatch.setattr(addresses, "__version__", "0.0.1")
        with pytest.raises(
            TopictureError, match=r"but this is Topicture 0\.0\.1 with JAX .*: install the same"
        ):
            check_answers(made.address, None, 10)


def test_what_a_killed_driver_left_goes_with_the_next(tmp_path, monkeypatch):
    """Shards of a fit may be many gigabytes. What another driver is at work with stays."""
    monkeypatch.setattr(Cluster, "_check_workers", lambda cluster: None)
    left = tmp_path / ".topicture.abcdefgh.work"
    (left / "images-1").mkdir(parents=True)
    (left / "written-by-topicture").touch()
    with (
        members.scheduler("127.0.0.1", 0, None) as made,
        Cluster(made.address, tmp_path) as one,
        Cluster(made.address, tmp_path),
    ):
        assert not left.exists()
        assert one.folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_workers_go_when_some_have_ended_and_nobody_listens(monkeypatch):
    commands = iter(["pass", "import sys; sys.stdin.read()"])

    def start(workers, i, n):
        return subprocess.Popen([sys.executable, "-c", next(commands)], stdin=subprocess.PIPE)

    monkeypatch.setattr(members.Workers, "_start", start)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        workers = members.Workers(address, 2, host=None, tls=None, scratch="")
        assert workers.processes[0].wait(20) == 0
        assert not workers.cluster_ended()
    assert workers.cluster_ended()
    workers.end()
    assert workers.cluster_ended()
