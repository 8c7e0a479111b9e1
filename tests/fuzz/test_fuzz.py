"""A bounded run of the fuzzing targets, and what earlier runs have found."""

import json
import os
import random
import subprocess
import sys

import pytest

import fuzz.__main__ as program
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
result = run("toy", Target(lambda rng: rng.randbytes(4), use), range(3), 0, Path(sys.argv[1]))
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


WITH_TOY = """
import os, sys
import fuzz.__main__ as program
from fuzz.harness import Target
def use(content):
    {code}
program.target_of = lambda name, scratch: Target(lambda rng: rng.randbytes(2), use)
program.main()
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [("os.abort()", "signal 6"), ("os.kill(os.getpid(), 11)", "signal 11"), ("os._exit(7)", "code 7")],
)
def test_an_input_that_ends_the_process_is_kept_and_the_rest_is_tried(
    code, told, tmp_path, monkeypatch, capfd
):
    code = f"if content[0] < 40: {code}"
    monkeypatch.setattr(program, "PROGRAM", (sys.executable, "-c", WITH_TOY.format(code=code)))
    monkeypatch.setattr(sys, "argv", ["fuzz", "query", "--inputs=21", "--jobs=2", f"--found={tmp_path}"])
    monkeypatch.chdir(CORPUS.parent.parent)
    with pytest.raises(SystemExit, match="1"):
        program.main()
    result = json.loads(capfd.readouterr().out)
    assert result["inputs"] == 21
    assert list(result["uncaught"]) == [f"the process ended: {told}"]
    assert all(path.read_bytes()[0] < 40 for path in tmp_path.iterdir())
    assert list(tmp_path.iterdir())


def test_jobs_share_the_inputs(tmp_path, capfd, monkeypatch):
    tried = tmp_path / "tried"
    toy = WITH_TOY.format(code=f"open({os.fspath(tried)!r}, 'ab', 0).write(content)")
    monkeypatch.setattr(program, "PROGRAM", (sys.executable, "-c", toy))
    monkeypatch.chdir(CORPUS.parent.parent)
    whole = []
    for jobs in (1, 3):
        monkeypatch.setattr(sys, "argv", ["fuzz", "query", "--inputs=10", f"--jobs={jobs}"])
        with pytest.raises(SystemExit, match="0"):
            program.main()
        content = tried.read_bytes()
        whole.append(sorted(content[at : at + 2] for at in range(0, len(content), 2)))
        tried.unlink()
        assert json.loads(capfd.readouterr().out)["inputs"] == 10
    # What each process tries first, to be warm, is not one of them.
    warm = random.Random(0).randbytes(2)
    assert whole[1] == sorted([*whole[0], warm, warm])
