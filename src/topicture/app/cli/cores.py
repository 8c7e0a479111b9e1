"""All cores for the models, decided where a program starts: JAX reads this once, and a library must not."""

import os
import sys

__all__ = ["use_all_cores"]

# Every device works on blocks of its own, and a small collection does not have many of them.
MOST_DEVICES = 8
_FLAG = "--xla_force_host_platform_device_count"


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


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
