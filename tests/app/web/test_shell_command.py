"""`topicture serve`, as a real process."""

import asyncio
import contextlib
import inspect
import json
import logging
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
import uvicorn.server
from photo_folder import jpeg, put
from test_shell_jobs import is_running, wait_for

from topicture.app.cli.main import main
from topicture.app.verbs.library import Library
from topicture.app.web.server import _is_worth_telling

START = "from topicture.app.cli.main import main; main()"


@contextlib.contextmanager
def command(*arguments, verb=("serve",)):
    """A running `topicture serve`; gives the process and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", START, *verb, *map(str, arguments), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def browser_for(line):
    """Open the address of a first line as a browser does, with cookies; (opener, address without the token)."""
    address = re.search(r"http\S+", line).group()
    opener = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({})
    )
    opener.open(
        address, timeout=120
    ).close()  # once: it spends the token. It listened before it told its address.
    return opener, address.partition("login")[0]


@pytest.fixture
def refused(monkeypatch, capsys):
    """The one line of a command that ends at once."""

    def line_of(*arguments):
        monkeypatch.setattr(sys, "argv", ["topicture", "serve", "--no-browser", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return line_of


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_cleanly_with_all_its_children(photos, end):
    shutil.rmtree(photos / ".topicture" / "cache")  # small pictures are made anew
    with command("--catalog", photos, "--port", 0) as (process, line):
        opener, address = browser_for(line)
        opener.open(f"{address}api/thumbnails/1").close()  # starts a worker
        children = Path(f"/proc/{process.pid}/task")
        begun = [pid for path in children.glob("*/children") for pid in path.read_text().split()]
        assert begun
        process.send_signal(end)
        assert process.wait(60) in (0, 130, -signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
        wait_for(lambda: not any(map(is_running, begun)), 30)


def test_only_this_machine_is_served(photos):
    with command("--catalog", photos, "--port", 0) as (_, line):
        _, address = browser_for(line)
        port = int(address.rstrip("/").rpartition(":")[2])
        listening = Path("/proc/net/tcp").read_text()
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening


def test_a_port_in_use_is_told_or_stepped_over(photos, refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is in use" in refused("--catalog", photos, "--port", port)
    with command("--catalog", photos) as (_, one), command("--catalog", photos) as (_, two):
        assert browser_for(one)[1] != browser_for(two)[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "photos.example"])
def test_an_address_that_others_reach_is_refused_without_a_token(photos, refused, host):
    assert "--token" in refused("--catalog", photos, "--host", host)


def test_what_is_not_there_is_one_line(photos, refused, tmp_path):
    assert "not a folder" in refused(tmp_path / "nowhere")
    assert "no catalog" in refused("--catalog", tmp_path)
    assert "no port" in refused("--catalog", photos, "--port", 70000)


@pytest.mark.slow  # much work, all of it real
def test_the_sample_collection_is_made_once_and_then_learned_in_the_page(tmp_path):
    arguments = ("demo", "--serve", "--images", 3, "--workers", 1, "--out", tmp_path / "demo", "--quiet")
    before = None
    for _ in range(2):
        with command(*arguments, verb=()) as (_, line):
            opener, address = browser_for(line)
            with opener.open(f"{address}api/status") as answer:
                assert json.load(answer)["photos"] == 3
            with opener.open(f"{address}api/jobs") as answer:
                assert "learn" in {job["kind"] for job in json.load(answer)["jobs"]}
            made = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo").rglob("*.jpg")}
        assert before in (None, made)
        before = made
    put(tmp_path / "other" / "photos" / "mine.txt", b"mine")
    process = subprocess.run(
        [sys.executable, "-P", "-c", START, "demo", "--serve", "--out", str(tmp_path / "other")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "holds other files ('mine.txt')" in process.stderr
    assert [path.name for path in (tmp_path / "other" / "photos").iterdir()] == ["mine.txt"]


def test_a_folder_without_a_catalog_leads_to_the_welcome_page(tmp_path):
    put(tmp_path / "new" / "a.jpg", jpeg(1))
    with command(tmp_path / "new", "--port", 0) as (_, line):
        opener, address = browser_for(line)
        with opener.open(address) as page:
            assert page.url == f"{address}welcome"
        assert not (tmp_path / "new" / ".topicture").exists()  # nothing is made before somebody says so


def test_a_collection_that_nothing_was_learned_from_leads_there_too(tmp_path):
    put(tmp_path / "a.jpg", jpeg(1))
    Library.create(tmp_path).scan()
    with command(tmp_path, "--port", 0) as (_, line):
        opener, address = browser_for(line)
        with opener.open(address) as page:
            assert page.url == f"{address}welcome"


def test_a_request_under_way_when_the_server_is_ended_is_not_told():
    def record(message, error=None):
        told = None if error is None else (type(error), error, None)
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, message, None, told)

    assert "graceful shutdown exceeded" in inspect.getsource(uvicorn.server)
    assert not _is_worth_telling(record("Cancel 1 running task(s), timeout graceful shutdown exceeded"))
    assert not _is_worth_telling(record("Exception in ASGI application", asyncio.CancelledError()))
    assert _is_worth_telling(record("Exception in ASGI application", ValueError()))
