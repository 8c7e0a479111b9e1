"""Cuts the power in thought: records every write path once, and looks at the states that a cut could have left.

    python crash_driver.py WORK STATES SEED [JOB ...]

STATES different states are wanted, of each job by the number of its moments; a short job has fewer than its share.
What was not synced by a moment is lost, kept, or kept in part. Prints JSON: how many states were drawn, how many of
them were different and looked at, and every promise that one of them breaks.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from crash_jobs import BROKEN, JOBS
from disk import MODES, Disk
from tracing import record

ALL = {**JOBS, **BROKEN}
TRIES = 4  # draws for each state that is wanted: most states of a short job come again and again


def prepare(work, name):
    """The recorded job: its disk, and the folder before and after."""
    before, root, acks = work / "before", work / "root", work / "acks"
    ALL[name].setup(root)
    shutil.copytree(root, before, symlinks=True)
    disk = Disk(root, acks)
    script = str(Path(__file__).parent / "crash_jobs.py")
    path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, script, name, str(disk.root), str(disk.acks)]
    disk.replay(record(command, work / "log", env=environment, timeout=300))
    return disk, before, root


def write(state, root):
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, content in state.items():
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)


def problems_of(job, root, acks, before, after):
    try:
        return list(ALL[job].check(root, acks, before, after))
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def cut(work, name, recorded, states, draw):
    """Look at so many different states of one job, or at as many as there are to be found."""
    disk, before, after = recorded
    final, acks = disk.state(len(disk.steps), "kept", draw)
    real = {
        os.path.relpath(path, after): None if path.is_dir() else path.read_bytes()
        for path in after.rglob("*")
    }
    model = {path: content for path, content in final.items() if not path.endswith("-shm")}
    assert model == {path: content for path, content in real.items() if not path.endswith("-shm")}, (
        "the model of the disk is not what is on the disk"
    )
    after = after.rename(
        work / "after"
    )  # so that a state is a collection that moved, not a second copy of one
    seen, problems = set(), []
    moments = len(disk.steps)
    # Memory, where there is any: nothing here needs a real disk.
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else work))
    try:
        drawn = 0
        while len(seen) < states and drawn < TRIES * states:
            moment, mode = 1 + drawn % moments, draw.choice(MODES)
            if states < moments:
                moment = draw.randint(1, moments)
            drawn += 1
            state, acks = disk.state(moment, mode, draw)
            digest = hashlib.sha256(repr((sorted(state.items(), key=lambda item: item[0]), acks)).encode())
            if digest.digest() in seen:
                continue
            seen.add(digest.digest())
            write(state, place / "state")
            found = problems_of(name, place / "state", acks, before, after)
            problems += [f"{name}, moment {moment} of {moments}, {mode}: {line}" for line in found]
    finally:
        shutil.rmtree(place)
    return {"moments": moments, "states": drawn, "different": len(seen), "problems": problems}


def main():
    work, states, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names = sys.argv[4:] or list(JOBS)
    start, jobs, recorded = time.perf_counter(), {}, {}
    for name in names:
        (work / name).mkdir(parents=True)
        recorded[name] = prepare(work / name, name)
    total = sum(len(disk.steps) for disk, _, _ in recorded.values())
    for name in names:
        share = -(-states * len(recorded[name][0].steps) // total)
        jobs[name] = cut(work / name, name, recorded[name], share, random.Random(f"{seed} {name}"))
        print(name, {**jobs[name], "problems": len(jobs[name]["problems"])}, file=sys.stderr, flush=True)
    sums = {key: sum(job[key] for job in jobs.values()) for key in ("states", "different")}
    problems = [line for job in jobs.values() for line in job["problems"]]
    seconds = round(time.perf_counter() - start, 1)
    print(json.dumps({**sums, "seconds": seconds, "problems": problems, "jobs": jobs}))


if __name__ == "__main__":
    main()
