"""Cuts the power in thought: records every write path once, and looks at the states that a cut could have left.

    python crash_driver.py WORK STATES SEED [JOB ...]

Every moment of a job is cut; what was not synced by then is lost, kept, or kept in part. Prints JSON: states looked at,
how many of them were different, and every promise that one of them breaks.
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


def cut(work, name, states, draw):
    """Look at so many states of one job."""
    disk, before, after = prepare(work, name)
    final, acks = disk.state(len(disk.steps), "kept", draw)
    real = {
        os.path.relpath(path, after): None if path.is_dir() else path.read_bytes()
        for path in after.rglob("*")
    }
    model = {path: content for path, content in final.items() if not path.endswith("-shm")}
    assert model == {path: content for path, content in real.items() if not path.endswith("-shm")}, (
        "the model of the disk is not what is on the disk"
    )
    seen, problems = set(), []
    moments = len(disk.steps)
    # Memory, where there is any: nothing here needs a real disk.
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else work))
    try:
        for n in range(states):
            moment = round((n + draw.random()) / states * moments) if states < moments else 1 + n % moments
            mode = MODES[n // moments] if n // moments < 2 else draw.choice(MODES)
            mode = draw.choice(MODES) if states < 2 * moments else mode
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
    return {"moments": moments, "states": states, "different": len(seen), "problems": problems}


def main():
    work, states, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    names = sys.argv[4:] or list(JOBS)
    start, jobs = time.perf_counter(), {}
    for name in names:
        folder = work / name
        folder.mkdir(parents=True)
        jobs[name] = cut(folder, name, -(-states // len(names)), random.Random(f"{seed} {name}"))
        print(name, {**jobs[name], "problems": len(jobs[name]["problems"])}, file=sys.stderr, flush=True)
    total = {key: sum(job[key] for job in jobs.values()) for key in ("states", "different")}
    problems = [line for job in jobs.values() for line in job["problems"]]
    seconds = round(time.perf_counter() - start, 1)
    print(json.dumps({**total, "seconds": seconds, "problems": problems, "jobs": jobs}))


if __name__ == "__main__":
    main()
