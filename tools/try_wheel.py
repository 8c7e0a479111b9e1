"""Installs a wheel into an empty environment and uses it there as its owner would: `make try-wheel`.

Prints what was run, how long it took and how large the environment is; fails where a command does, or where the
package needs something that the wheel does not ask for. With --photos, a folder of so many photos comes after the
demonstration: from nothing to the first suggestions.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONAL = ("cv2", "dask", "faiss", "matplotlib", "onnx", "pi_heif", "rawpy", "torch")
PHOTOS = "from topicture.demo.scenes import write_collection; write_collection('photos', {}, captioned=0.5)"


def megabytes(folder: Path) -> float:
    """As `du -s` counts: what the files take on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 1e6


def cpu_seconds() -> float:
    """Of all that was run and is done: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: list[str | Path], folder: Path) -> str:
    """Run it in the folder, in an environment without our own variables; what it printed."""
    shown = " ".join(str(part) if len(str(part)) < 60 else "..." for part in command[:8])
    start, cpu = time.perf_counter(), cpu_seconds()
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "TOPICTURE", "VIRTUAL"))
    }
    environment = {**kept, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    spent = f"{time.perf_counter() - start:7.1f} s, {cpu_seconds() - cpu:6.1f} of a processor"
    print(f"{spent}  {shown.replace(str(folder) + os.sep, '')}", flush=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    """Install, look, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--photos", type=int, default=0)
    parser.add_argument("--images", type=int, default=40, help="of the demonstration")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="topicture-wheel-") as name:
        folder = Path(name)
        home = folder / "env"
        venv.create(home, with_pip=True)
        python = home / "bin" / "python"
        empty = megabytes(home)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # The pip of the index's settings, which an empty home would hide.
        start, cpu = time.perf_counter(), cpu_seconds()
        subprocess.run(
            [*pip, "-c", ROOT / "constraints.txt", options.wheel.resolve()], check=True, cwd=folder
        )
        spent = f"{time.perf_counter() - start:7.1f} s, {cpu_seconds() - cpu:6.1f} of a processor"
        print(f"{spent}  pip install {options.wheel.name}")
        compiled = sum(path.stat().st_size for path in home.rglob("*.pyc")) / 1e6
        print(
            f"{megabytes(home):7.0f} MB on disk, {empty:.0f} of them pip and Python's own, {compiled:.0f} bytecode",
            flush=True,
        )
        look = f"import importlib.util as u; print(*(n for n in {OPTIONAL!r} if u.find_spec(n)))"
        if found := run([python, "-c", look], folder).split():
            sys.exit(f"the base install brings {', '.join(found)}, which are optional")
        run([python, "-m", "pip", "check"], folder)
        run([python, "-m", "topicture", "--version"], folder)
        run([python, "-m", "topicture", "doctor"], folder)
        out = run(
            [home / "bin" / "topicture", "demo", "--images", str(options.images), "--out", "demo"], folder
        )
        if "auto" not in out or not (folder / "demo" / "index.html").stat().st_size:
            sys.exit(f"the demonstration shows no auto or no page:\n{out}")
        if options.photos:
            tool = home / "bin" / "topicture"
            run([python, "-c", PHOTOS.format(options.photos)], folder)
            run([tool, "init", "photos"], folder)
            learned = run([tool, "learn"], folder / "photos")
            run([tool, "annotate"], folder / "photos")
            first = run([tool, "review", "--list", "--order", "certain", "--limit", "3"], folder / "photos")
            print(learned + first)
            print(f"{megabytes(folder / 'photos' / '.topicture'):7.1f} MB in the catalog")


if __name__ == "__main__":
    main()
