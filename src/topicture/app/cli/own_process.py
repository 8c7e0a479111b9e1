"""What a program of ours settles before anything else is loaded; a library must not, since its host decides.

matplotlib obeys a `matplotlibrc` of the working folder, first of all places and when it is imported: one beside the
photos could have every figure's text typeset by running `latex`. So it is imported from a neutral folder, with settings
and font list in the cache folder of Topicture.

JAX reads once how many cores there are for the models, when it starts, and where compiled code is kept.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

from topicture.children import NEUTRAL_FOLDER
from topicture.compiled import settings_of_a_program
from topicture.offline import OFFLINE
from topicture.vision.cache import user_cache_folder

__all__ = ["keep_compiled_code", "own_this_process", "use_all_cores"]

# Every device works on blocks of its own, and a small collection does not have many of them.
MOST_DEVICES = 8
_FLAG = "--xla_force_host_platform_device_count"


def own_this_process() -> None:
    """Keep this process offline, and let nothing beside the photos steer it."""
    os.environ.update(OFFLINE)
    os.environ.pop("MATPLOTLIBRC", None)
    os.environ["MPLCONFIGDIR"] = str(user_cache_folder().absolute() / "matplotlib")
    if not any(isinstance(finder, _MatplotlibFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MatplotlibFinder())


def use_all_cores() -> None:
    """Let the passes over images be split over the cores (see models/em), for this process and its children.

    On a CPU the compiled passes run on one thread per device, and JAX sees one device unless told otherwise. Does
    nothing where JAX runs already, or where XLA_FLAGS say how many devices there shall be.
    """
    given = os.environ.get("XLA_FLAGS", "")
    if "jax" in sys.modules or _FLAG in given:
        return
    n = min(_usable_cores(), MOST_DEVICES)
    os.environ["XLA_FLAGS"] = f"{given} {_FLAG}={n}".strip()


def keep_compiled_code() -> None:
    """Let this process and its children keep what JAX compiles, where that is safe."""
    if "jax" not in sys.modules:
        os.environ.update(settings_of_a_program())


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _MatplotlibFinder(MetaPathFinder):
    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name != "matplotlib":
            return None
        spec = PathFinder.find_spec(name)
        if spec is not None and spec.origin is not None:
            spec.loader = _LoaderElsewhere(name, spec.origin)
        return spec


class _LoaderElsewhere(SourceFileLoader):
    """Runs a module from the neutral folder; commands import while they have one thread that minds."""

    def exec_module(self, module: ModuleType) -> None:
        here = os.getcwd()
        os.chdir(NEUTRAL_FOLDER)
        try:
            super().exec_module(module)
        finally:
            os.chdir(here)
