"""Killed at random points, the tool loses nothing and comes to the same result."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from photo_folder import hashes, make_library

AT_MOMENTS = Path(__file__).parent / "kill_driver.py"
AT_CALLS = Path(__file__).parent / "kill_at_calls.py"


def kill(work, kills, seed, driver=AT_MOMENTS):
    command = [sys.executable, str(driver), str(work), str(kills), str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow  # much work, all of it real
def test_a_few_kills_lose_nothing(tmp_path):
    report = kill(tmp_path, 6, seed=1)
    assert report["problems"] == []
    assert report["killed"] == 6


@pytest.mark.slow  # a hundred runs, each killed and resumed
def test_a_hundred_kills_lose_nothing(tmp_path):
    report = kill(tmp_path, 100, seed=0)
    assert report["problems"] == []
    assert report["killed"] == 100


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace, which kills at system calls, is not installed"
)
def test_kills_at_system_calls_lose_nothing(tmp_path):
    report = kill(tmp_path, 12, 0, AT_CALLS)
    assert report["problems"] == []
    assert report["killed"] == 12


# The program, in a process whose files can't grow: what it writes fails as on a full disk.
WITHOUT_ROOM = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
from topicture.app.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "verb", [["scan"], ["tag", "photo-000.jpg", "tiger"], ["learn", "--model", "lsa", "--no-regions"]]
)
def test_a_full_disk_is_told_in_one_line_and_nothing_is_lost(tmp_path, verb):
    library = make_library(tmp_path / "photos", n=24, tagged=16)
    root = library.folder.parent
    before = hashes(root)
    command = [sys.executable, "-c", WITHOUT_ROOM, *verb]
    (root / "trip" / "photo-001.jpg").rename(root / "moved.jpg")  # something to do for the scan
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, env=environment)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("topicture: ")
    assert result.stderr.count("\n") == 1
    assert library.check() == []
    assert library.scan().files == 24
    assert library.status().photos == 24
    assert set(hashes(root).values()) == set(before.values())
