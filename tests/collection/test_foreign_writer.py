"""A real exiftool and Topicture write the same sidecars at once, and no keyword of exiftool's is lost."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "foreign_writer.py"
pytestmark = pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")


def write_together(folder, writes, sidecars):
    command = [sys.executable, str(DRIVER), str(folder), str(writes), str(sidecars)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("writes", "sidecars"),
    [(60, 2), pytest.param(500, 4, marks=pytest.mark.slow)],
)
def test_no_keyword_of_another_program_is_lost(tmp_path, writes, sidecars):
    report = write_together(tmp_path / "work", writes, sidecars)
    assert report["acknowledged"] == writes
    assert report["ours"] > 0
    assert (report["lost"], report["refused"], report["left_behind"]) == ([], [], [])
