"""Every command of the program once, as real processes on a small collection, in an order that makes sense."""

import os
import subprocess
import sys

from photo_folder import make_photos

__all__ = ["RUNS", "RUNS_SHORT", "environment", "new_collection", "run_all", "script"]

N_PHOTOS, N_TAGGED = 16, 12
PHOTO = "photo-014.jpg"

# Verb -> its calls in turn. Deep features, several workers, regions and figures: everything that loads a library.
RUNS = {
    "init": [["init", ".", "--network", "lite0"]],
    "scan": [["scan"]],
    "relocate": [["relocate", "."]],
    "learn": [["learn", "--model", "knn", "--workers", "2"]],
    "annotate": [["annotate", "--threshold", "0.01", "--workers", "2"]],
    "evaluate": [["evaluate"]],
    "explain": [["explain", "--out", "../outside/explain.html"]],
    "regions": [["regions", PHOTO, "--out", "../outside/regions.png"]],
    "search": [["search", "rose", "OR", "sea", "--untagged"]],
    "list": [["list", "--untagged"]],
    "suggest": [["suggest", PHOTO, "../outside/regions.png"]],
    "similar": [["similar", PHOTO]],
    "review": [["review", "--list"], ["review", "--order", "teaching", "--list"]],
    "tag": [["tag", PHOTO, "photo-012.jpg", "holiday"]],
    "tags": [["tags"]],
    "write": [["write"]],
    "undo": [["undo", "--list"], ["undo"]],
    "redo": [["redo"]],
    "watch": [["watch", "--once"]],
    "config": [["config", "search.limit", "10"], ["config"]],
    "conflicts": [["conflicts"]],
    "status": [["status"]],
    "models": [["models"], ["models", "--prune"]],
    "export": [["export", "../outside/tags.json", "--format", "coco"]],
    "import": [["import", "../outside/tags.json", "--format", "coco"]],
    "backup": [["backup", "../outside/backup"]],
    "check": [["check"]],
    "doctor": [["doctor"]],
    "demo": [["demo", "--out", "../outside/demo", "--images", "40", "--workers", "2"]],
    "reproduce": [["reproduce", "liu2005", "--data", "../outside", "--out", "../outside/reports"]],
}
# A short form: no regions, so that nothing is compiled.
RUNS_SHORT = {
    "init": RUNS["init"],
    "annotating": [
        ["learn", "--model", "knn", "--no-regions", "--workers", "2"],
        ["annotate", "--workers", "1"],
    ],
    "explain": RUNS["explain"],
    "export": RUNS["export"],
}
# No benchmark sets are at hand: this ends with one line.
REFUSED = {"reproduce"}


def script(photos, code):
    """A command that runs `code` as an installed entry point is run: its own folder is on the import path, the working
    folder is not, and nothing (such as -P) says so to its children."""
    path = photos.parent / "bin" / "start"
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    return [sys.executable, str(path)]


def environment(home, **more):
    """A bare environment whose home is empty; the import path is this process's."""
    home.mkdir(parents=True, exist_ok=True)
    # XLA_FLAGS: programs are compiled quickly, as in all tests.
    names = ("PATH", "LANG", "PYTHONPATH", "XLA_FLAGS")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", **more}


def new_collection(folder):
    """A folder of photos, and beside it one for what commands write outside."""
    (folder / "outside").mkdir(parents=True)
    return make_photos(folder / "photos", n=N_PHOTOS, tagged=N_TAGGED)


def run_all(photos, env, runs=RUNS, before=(), timeout=120):
    """Make runs in the folder of photos, each behind the words `before` (a function of the run's number gives them)."""
    every = [(verb, arguments) for verb, calls in runs.items() for arguments in calls]
    for number, (verb, arguments) in enumerate(every):
        prefix = before(number, verb) if callable(before) else list(before)
        done = subprocess.run(
            [*prefix, *script(photos, "from topicture.app.cli.main import main; main()"), *arguments],
            cwd=photos,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode in ((2,) if verb in REFUSED else (0, 1)), f"{verb}: {done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr, f"{verb}: {done.stderr[-2000:]}"
