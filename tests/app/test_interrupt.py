"""Ctrl-C at any moment: one line, code 130, at once; no process is left behind, and nothing half-done is kept."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from photo_folder import hashes, make_library

from topicture.app.verbs.library import Library

# The moment is counted from where the program takes charge: before that, Python itself is starting.
PROGRAM = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run where it is ignored
from topicture.app.cli import main as cli
run = cli._run
cli._run = lambda interrupts: os.write(int(os.environ["TOPICTURE_TEST_PIPE"]), b".") and run(interrupts)
cli.main()
"""
SECONDS = 5.0  # 2 on a machine that has nothing else to do
MARK = "TOPICTURE_TEST_RUN"
COMMANDS = {
    "scan": (["scan"], 1.0),
    "learn": (["learn", "--workers", "2"], 10.0),
    "learn a model": (["learn", "--workers", "2", "--model", "network"], 6.0),
    "annotate": (["annotate", "--workers", "2", "--all", "--again"], 4.0),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    library = make_library(root, n=24, tagged=20)
    library.learn("lsa", regions=False, workers=0)
    return root


def left_behind(mark):
    """The processes that a run has started, and that live."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
        except OSError:
            continue
    return found


def interrupted(arguments, after, root, *, group=True):
    """Run a command and interrupt it: (exit code, errors, seconds from the signal to the end, who still lives)."""
    mark = uuid.uuid4().hex
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, "-c", os.fspath(root)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, MARK: mark, "TOPICTURE_TEST_PIPE": str(writing)},
        start_new_session=True,
        pass_fds=(writing,),
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    time.sleep(after)
    start = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    return process.returncode, error, time.monotonic() - start, left_behind(mark)


def check(arguments, after, root, **how):
    n_models, originals = len(Library.find(root).models()), hashes(root)
    code, error, seconds, alive = interrupted(arguments, after, root, **how)
    assert not alive
    assert hashes(root) == originals
    library = Library.find(root)
    assert library.check() == []
    # Otherwise it was done before the signal, which may still have met Python on its way out.
    if code not in (0, -signal.SIGINT) or error:
        assert (code, error) == (130, b"topicture: interrupted\n")
        assert seconds < SECONDS
        assert len(library.models()) == n_models
    return code


@pytest.mark.parametrize(
    ("command", "after"), [("scan", 0.0), ("annotate", 0.1), ("learn", 0.5), ("learn", 3.0)]
)
def test_an_interrupt_ends_a_command_at_once(root, command, after):
    assert check(COMMANDS[command][0], after, root) == 130


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_an_interrupt_at_any_moment_does_no_harm(root, seed):
    rng = random.Random(seed)
    arguments, longest = COMMANDS[list(COMMANDS)[seed % len(COMMANDS)]]
    check(arguments, rng.uniform(0, longest), root, group=rng.random() < 0.5)


def test_compiled_code_that_does_not_stop_is_ended(root, tmp_path):
    """A handler of Python's waits for the end of compiled code; here that is a lock that nobody opens."""
    code = (
        "import threading, signal, os, sys\n"
        "from topicture.app.cli import commands, main as cli\n"
        "def stuck():\n"
        "    try:\n"
        "        threading.Lock().acquire(); lock = threading.Lock(); lock.acquire()\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except BaseException: pass\n"
        "    while True:\n"
        "        try: lock.acquire()\n"
        "        except BaseException: pass\n"
        "commands.run = stuck\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "cli.main()"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"topicture: interrupted\n")
    assert time.monotonic() - start < SECONDS


def test_where_interrupts_are_ignored_they_stay_ignored(root):
    """As for a job that a shell has started in the background."""
    code = (
        "import signal, os; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from topicture.app.cli import commands, main as cli\n"
        "commands.run = lambda: os.kill(os.getpid(), signal.SIGINT) or 0\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_import_that_an_interrupt_breaks_is_told_as_an_interrupt():
    code = (
        "import signal, os; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from topicture.app.cli import commands, main as cli\n"
        "def half():\n"
        "    try: os.kill(os.getpid(), signal.SIGINT); [0] * 1000\n"
        "    except BaseException: raise ImportError('half')\n"
        "commands.run = half\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"topicture: interrupted\n")
