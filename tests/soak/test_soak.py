"""A person, a second process and another program at work at once, with kills and full disks: nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from photo_files import photo, subject
from soak.actors import Editor
from soak.soak_driver import NEEDED, Soak

from topicture.collection.metadata.keywords import photo_keywords

DRIVER = Path(__file__).parent / "soak_driver.py"


@pytest.mark.slow
def test_a_short_soak_loses_nothing(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(DRIVER), str(tmp_path), "15", "0", "240"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["problems"] == []
    assert min(report[what] for what in NEEDED) > 0


def test_the_checks_notice_what_is_lost(tmp_path):
    soak = Soak(tmp_path, tmp_path / "disk", False, 0)
    photo, image = soak.photos[0], soak.library.image(soak.photos[0])
    soak.library.answer(image, "soak-1", "present")
    soak.decided[photo, "soak-1"] = ("present",)
    assert list(soak._broken()) == []
    soak.library.answer(image, "soak-1", "cleared")
    soak.foreign.append((photo, "of others"))
    (soak.root / soak.photos[1]).write_bytes(b"")
    (soak.root / ".topicture.abcdefgh.xyz").touch()
    problems = "\n".join(soak._broken())
    for told in ("is None, decided was", "is gone from", "an original has changed", "left behind"):
        assert told in problems


def test_the_program_that_stands_in_for_exiftool_adds_keywords(tmp_path):
    picture, beside = photo(tmp_path / "a.jpg"), tmp_path / "a.jpg.xmp"
    assert not Editor().add("first", beside)
    beside.write_bytes(subject("theirs"))
    assert Editor().add("first", beside)
    assert set(photo_keywords(picture).words) == {"theirs", "first"}
