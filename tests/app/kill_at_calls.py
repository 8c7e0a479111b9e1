"""Kills real commands at system calls that change files, resumes the job, and compares with one nobody disturbed.

    python kill_at_calls.py WORK KILLS SEED

strace kills a command as it enters the n-th call of a kind (write, fsync, rename, unlink, ...), drawn from the calls on
files of the collection and its catalog that the same command made when it was watched once. Prints JSON: what was
killed at which calls, and every difference that was found.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from kill_driver import REJECTED, hashes, in_child, leftovers, make_photos, run, state, wounds

CALLS = (
    "write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir"
)
COMMANDS = {
    "scan": ["scan"],
    "learn": ["learn", "--model", "lsa", "--no-regions", "--workers", "0"],
    "annotate": ["annotate", "--workers", "0"],
    "accept": ["review", "--accept-above", "0.6"],
    "reject": ["tag", REJECTED[0], REJECTED[1], "--reject"],
    "write": ["write"],
}
PROGRAM = "from topicture.app.cli.main import main; main()"
LINE = re.compile(r"(\d+) +(\w+)\((.*)")


class Stage:
    """One folder that is put back to how it was before each command, under its own name: a catalog knows its place."""

    def __init__(self, work):
        self.root, self._work = work / "photos", work

    def keep(self, verb):
        shutil.copytree(self.root, self._work / f"before-{verb}")

    def put_back(self, verb):
        shutil.rmtree(self.root)
        shutil.copytree(self._work / f"before-{verb}", self.root)
        told = self._work / f"{self.root.name}.told"
        told.write_text("rejected") if verb == "write" else told.unlink(missing_ok=True)

    def command(self, verb, *options):
        """Exit status of a real command, run by strace with some options."""
        program = ["-o", str(self._work / "log"), sys.executable, "-P", "-c", PROGRAM, *COMMANDS[verb]]
        done = subprocess.run(
            ["strace", "-f", "-qq", "-y", "-s", "0", *options, *program],
            cwd=self.root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=120,
        )
        return done.returncode

    def calls(self, verb):
        """(call, how many of its kind came before, plus one) of every call of the main thread on our files."""
        self.put_back(verb)
        assert self.command(verb, "--seccomp-bpf", "-e", f"trace={CALLS}") == 0, verb
        counts, found, main = Counter(), [], None
        for line in (self._work / "log").read_text(errors="replace").splitlines():
            if (match := LINE.match(line)) is None:
                continue
            thread, call, arguments = match.groups()
            main = main or thread
            if thread == main:
                counts[call] += 1
                if str(self.root) in arguments or '"' in arguments.split(">")[0]:
                    found.append((call, counts[call]))
        return found


def main():
    work, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw, start = random.Random(seed), time.perf_counter()
    stage = Stage(work)
    originals = hashes(make_photos(stage.root, n=24, tagged=16))
    run(stage.root, lambda verb: stage.keep(verb))
    expected = state(stage.root)
    calls = {verb: stage.calls(verb) for verb in COMMANDS}
    problems, killed, at, tries = [], Counter(), Counter(), 0
    while sum(killed.values()) < kills and tries < 3 * kills:
        verb = list(COMMANDS)[tries % len(COMMANDS)]
        tries += 1
        kind = draw.choice(sorted({call for call, _ in calls[verb]}))
        call, number = draw.choice([place for place in calls[verb] if place[0] == kind])
        stage.put_back(verb)
        # Not with --seccomp-bpf, under which strace may inject nothing.
        status = stage.command(verb, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
        if status != -signal.SIGKILL:
            continue  # another course of events, in which the command made fewer calls
        killed[verb] += 1
        at[call] += 1
        found = wounds(stage.root, originals)
        if in_child(lambda: run(stage.root)) != 0:
            found.append("the run could not be resumed")
        elif state(stage.root) != expected:
            found.append("the result differs")
        found += leftovers(stage.root) + wounds(stage.root, originals)
        problems += [f"{verb} killed at {call} {number}: {line}" for line in found]
    seconds = round(time.perf_counter() - start, 1)
    where = {"killed": killed.total(), "commands": killed, "calls": at}
    print(json.dumps({**where, "problems": problems, "seconds": seconds}))


if __name__ == "__main__":
    main()
