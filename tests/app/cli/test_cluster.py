"""`topicture cluster` from outside: what it says, how it ends, and what it leaves behind."""

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from topicture.app.cli import clustering
from topicture.app.cli.main import main


def told(monkeypatch, capfd, *arguments):
    """The exit code of a command, and what it said."""
    monkeypatch.setattr(sys, "argv", ["topicture", *arguments])
    former = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGTERM, former)
    return ended.value.code, capfd.readouterr()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_who_joins_where_another_program_listens_is_told_in_one_line(answer, monkeypatch, capfd):
    """One that says nothing, and one that speaks otherwise."""
    monkeypatch.setattr(clustering, "JOIN_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            asked, _ = server.accept()
            asked.sendall(answer)
            asked.recv(1 << 20)  # until whoever asked has gone
            asked.recv(1)
            asked.close()

        threading.Thread(target=serve, daemon=True).start()
        code, said = told(monkeypatch, capfd, "cluster", "join", f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "does not speak as a cluster does" in said.err


def test_a_port_that_can_not_be_is_refused(monkeypatch, capfd):
    code, said = told(monkeypatch, capfd, "cluster", "start", "--port", "99999")
    assert code == 2
    assert "65535" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_cluster_that_ends(ends, tmp_path):
    """Batch systems end by SIGTERM, people by Ctrl-C."""
    command = [sys.executable, "-m", "topicture", "cluster", "start", "--workers", "1", "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as started:
        assert "1 worker at tcp://127.0.0.1:" in started.stdout.readline()
        assert any(tmp_path.iterdir())
        started.send_signal(ends)
        assert started.wait(30) == 128 + ends
        assert len(started.stderr.read().splitlines()) <= 1
    assert [path.name for path in tmp_path.iterdir() if path.name != "dask-scratch-space"] == []
