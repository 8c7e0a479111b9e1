"""Which hardware the models use: one setting, Topicture's own. JAX's settings are its host's and stay as they are.

The setting is a variable of the environment, so that child processes obey it as well: the tool sets it (`--device`), a
program calls `topicture.use_device`, a person may simply set it. JAX is loaded by those who ask, not by this module.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from topicture.errors import TopictureError

__all__ = [
    "CHOICES",
    "VARIABLE",
    "devices",
    "found",
    "free_bytes",
    "on_chosen_device",
    "on_cpu",
    "use_device",
    "use_device_from_the_start",
]

VARIABLE = "TOPICTURE_DEVICE"
CHOICES = ("cpu", "gpu")


def use_device(device: str | None) -> None:
    """Let the models work on the processor ("cpu"), on accelerators ("gpu"), or (None) on what JAX prefers.

    Raises TopictureError where there is no such device.
    """
    if device is None:
        os.environ.pop(VARIABLE, None)
        return
    _devices_of(device)
    os.environ[VARIABLE] = device


def use_device_from_the_start(device: str) -> None:
    """The same for a program of ours, before JAX is loaded: it need not look at accelerators that nobody wants."""
    _check(device)
    os.environ[VARIABLE] = device
    if device == "cpu" and "jax" not in sys.modules:
        os.environ["JAX_PLATFORMS"] = "cpu"


def devices() -> list[Any]:
    """The devices that share a pass."""
    import jax

    chosen = os.environ.get(VARIABLE)
    return _devices_of(chosen) if chosen else jax.local_devices()


def on_cpu() -> bool:
    """Whether passes run on the processor, where blocks should fit its caches."""
    return devices()[0].platform == "cpu"


@contextmanager
def on_chosen_device() -> Iterator[None]:
    """What is computed inside goes to the chosen kind of device."""
    if not os.environ.get(VARIABLE):
        yield
        return
    import jax

    with jax.default_device(devices()[0]):
        yield


def free_bytes(device: Any) -> int:
    """Memory of a device that nobody uses; without bound where it does not tell, as a processor."""
    stats = device.memory_stats() or {}
    return stats["bytes_limit"] - stats["bytes_in_use"] if "bytes_limit" in stats else 1 << 62


def found() -> str:
    """What there is, in words."""
    chosen = os.environ.get(VARIABLE)
    here = devices()
    told = f"JAX on {here[0].platform} ({len(here)})"
    if here[0].platform != "cpu":
        limits = [(device.memory_stats() or {}).get("bytes_limit") for device in here]
        sizes = ", ".join(f"{limit / (1 << 30):.0f} GB" for limit in limits if limit)
        told = f"JAX on {here[0].device_kind} ({len(here)}{', ' + sizes if sizes else ''})"
    return f"{told}, as {VARIABLE}={chosen} asks" if chosen else told


def _check(device: str) -> None:
    if device not in CHOICES:
        raise TopictureError(f"device {device!r}: choose {' or '.join(CHOICES)}")


def _devices_of(device: str) -> list[Any]:
    import jax

    _check(device)
    try:
        return jax.local_devices(backend=device)
    except RuntimeError:
        raise TopictureError(
            f"device {device!r}: JAX finds none here; choose 'cpu', or install JAX for your accelerator"
        ) from None
