"""The transcript of the README is what the commands print."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "README.md"
# Other processors round differently: digits may differ in their last place, and with them the order of near ties.
SLACK = 0.03


def transcript():
    """(command, expected lines) in order."""
    (block,) = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    steps = []
    for line in block.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


def test_the_transcript_covers_the_whole_job():
    verbs = {shlex.split(command)[1] for command, _ in transcript() if command.startswith("topicture ")}
    assert {"init", "learn", "annotate", "search", "review", "write"} <= verbs


def test_what_was_accepted_adds_up():
    (lines,) = (expected for command, expected in transcript() if "--accept-above" in command)
    accepted = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sum(map(int, accepted)) == int(lines[0].split()[1])


def numbers(line):
    """All but those in the names of photos, which change places where they are nearly alike."""
    return re.findall(r"\d+(?:\.\d+)?", re.sub(r"scene-\d+", "", line))


def near(number, expected):
    """Within the slack; counts and percents by one at least, which is their last place."""
    least = SLACK if "." in expected else 1
    return abs(float(number) - float(expected)) <= max(least, SLACK * float(expected))


def wording(line):
    return re.sub(r"\s+", " ", re.sub(r"\d+(?:\.\d+)?", "#", line)).strip()


@pytest.mark.slow  # learns and blends all models
def test_the_commands_print_what_the_page_says(tmp_path):
    own = ("XLA_FLAGS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")  # of the tests
    environment = {
        **{name: value for name, value in os.environ.items() if name not in own},
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    here = tmp_path
    for command, expected in transcript():
        words = shlex.split(command)
        if words[0] == "cd":
            here = here / words[1]
            continue
        if words[0] == "exiftool" and shutil.which("exiftool") is None:
            continue
        result = subprocess.run(words, cwd=here, env=environment, capture_output=True, text=True, timeout=900)
        assert result.returncode == 0, f"{command}: {result.stderr}"
        told = [line.rstrip() for line in result.stdout.strip("\n").split("\n")]
        assert [wording(line) for line in told] == [wording(line) for line in expected or [""]], command
        for line, other in zip(told, expected or [""], strict=True):
            for number, correct in zip(numbers(line), numbers(other), strict=True):
                assert near(number, correct), f"{command}: {line!r}, not {other!r}"
