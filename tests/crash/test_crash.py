"""A power cut at any moment: what was told as done is there, the rest is old or new, whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from crash.tracing import has_strace

DRIVER = Path(__file__).parent / "crash_driver.py"

pytestmark = pytest.mark.skipif(
    not has_strace(), reason="strace, which records system calls, is not installed"
)


def cut(work, states, seed, *jobs, timeout=240):
    command = [sys.executable, str(DRIVER), str(work), str(states), str(seed), *jobs]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_some_states_of_short_jobs_lose_nothing(tmp_path):
    jobs = ("sidecars", "decisions", "folder", "folder-in-two-steps", "export", "index")
    report = cut(tmp_path, 300, 1, *jobs)
    assert report["problems"] == []
    assert report["different"] >= 250
    assert all(job["different"] > 5 for job in report["jobs"].values())


@pytest.mark.parametrize("job", ["forgetful-sidecars", "forgetful-folder"])
def test_a_sync_that_is_forgotten_is_noticed(tmp_path, job):
    """The check can fail: without syncs, something that was told is lost in some state."""
    assert cut(tmp_path, 60, 0, job)["problems"]


@pytest.mark.slow  # all write paths, learning among them
def test_thousands_of_states_of_every_write_path_lose_nothing(tmp_path):
    report = cut(tmp_path, 3000, 2, timeout=1500)
    assert report["problems"] == []
