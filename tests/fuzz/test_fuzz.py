"""A bounded run of the fuzzing targets, and what earlier runs have found."""

import json
import os
import random
import subprocess
import sys

import pytest

from fuzz.__main__ import CORPUS, FILES, TARGETS, target_of
from fuzz.harness import MEMORY
from topicture.errors import TopictureError

FOUND = sorted((CORPUS / "found").iterdir())


def fuzz(target, inputs, found, seed=1):
    """A run in a process of its own, as `make fuzz` does it."""
    command = [
        sys.executable,
        "-m",
        "fuzz",
        target,
        f"--inputs={inputs}",
        f"--seed={seed}",
        f"--found={found}",
    ]
    done = subprocess.run(command, cwd=CORPUS.parent.parent, capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def assert_clean(result):
    assert result["uncaught"] == {}
    assert result["peak_mb"] < MEMORY >> 20


@pytest.mark.parametrize("target", ["jpeg", "xmp", "coco"])
def test_a_short_run_finds_nothing(target, tmp_path):
    assert_clean(fuzz(target, 200, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_bounded_run_finds_nothing(target, tmp_path):
    result = fuzz(target, 100 if target == "catalog" else 400, tmp_path)
    assert_clean(result)
    assert result["inputs"] >= 100


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_stays_mended(path, tmp_path):
    target = target_of(path.name.rpartition("-")[0], tmp_path)
    told = ""
    try:
        target.use(path.read_bytes())
    except (TopictureError, *target.allowed) as refusal:
        told = str(refusal)
    assert "\n" not in told


# --- The harness itself -----------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_inputs(tmp_path):
    for name in ("jpeg", "xmp", *FILES):
        target = target_of(name, tmp_path)
        assert target.make(random.Random("x 1")) == target.make(random.Random("x 1"))


HARNESS = """
import sys, time; from pathlib import Path
from fuzz.harness import Target, run
import fuzz.harness
fuzz.harness.HANG_SECONDS = 0.2
def use(content):
    {code}
result = run("toy", Target(lambda rng: rng.randbytes(4), use), 3, 0, Path(sys.argv[1]))
print(list(result.uncaught), result.inputs)
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise KeyError(content)", "KeyError"),
        ("while True: pass", "_Hang"),
        ("bytearray(2 << 30)", "MemoryError"),
        ("assert len(content) == 5", "AssertionError"),
    ],
)
def test_the_harness_sees_faults_and_goes_on(code, told, tmp_path):
    program = HARNESS.format(code=code)
    command = [sys.executable, "-c", program, os.fspath(tmp_path)]
    done = subprocess.run(command, cwd=CORPUS.parent.parent, capture_output=True, text=True, timeout=60)
    assert told in done.stdout, done.stderr
    assert done.stdout.endswith(" 3\n")
    assert len(list(tmp_path.iterdir())) == 1
