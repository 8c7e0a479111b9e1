"""The one place where processes are started: nothing of the working folder is run or obeyed.

`python -c` puts the working folder first on the import path, so that a `numpy.py` beside the photos would be run. A
child is therefore started isolated (`-I`: no working folder, no PYTHON* variable, no folder of the user's own packages)
and in a neutral folder, and finds what the parent has found by absolute entries of the parent's path.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topicture.offline import OFFLINE

__all__ = ["NEUTRAL_FOLDER", "import_path", "start_python", "start_viewer"]

_PACKAGE = Path(__file__).absolute().parent

NEUTRAL_FOLDER = str(_PACKAGE)
"""A working folder that is as trusted as this code: there is always one, and nobody's photos are in it."""

_BOOTSTRAP = (
    "import sys; module, function, *sys.path = sys.argv[1:]; sys.argv[1:] = []; "
    "from importlib import import_module; getattr(import_module(module), function)()"
)


def start_python(
    module: str, function: str, *, environment: Mapping[str, str] | None = None, **streams: Any
) -> subprocess.Popen:
    """A Python process that calls a function of a module; `streams` as `subprocess.Popen` takes them."""
    kept = {name: value for name, value in os.environ.items() if not _steers_python(name)}
    options = ["-I", "-B"] if sys.dont_write_bytecode else ["-I"]
    return subprocess.Popen(
        [sys.executable, *options, "-c", _BOOTSTRAP, module, function, *import_path()],
        cwd=NEUTRAL_FOLDER,
        env={**kept, **OFFLINE, **(environment or {})},
        **streams,
    )


def start_viewer(program: str, path: Path) -> None:
    """A program of the system with one file, which is left to itself; no shell reads the path, and it is no option."""
    subprocess.Popen(
        [program, str(path.absolute())],
        cwd=NEUTRAL_FOLDER,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def import_path() -> list[str]:
    """Where children look for modules: the absolute entries of this process's path, without the working folder.

    The working folder stands there when this process was started by `python -c` or `-m`, from a notebook, or with an
    empty entry in PYTHONPATH. The folder of this package is always kept: children run the code that their parent runs.
    """
    here, own = os.path.realpath(os.getcwd()), str(_PACKAGE.parent)
    entries = [
        entry
        for entry in sys.path
        if entry == own or (os.path.isabs(entry) and os.path.realpath(entry) != here)
    ]
    return entries if own in entries else [*entries, own]


def _steers_python(name: str) -> bool:
    return name.startswith("PYTHON") or name == "MATPLOTLIBRC"
