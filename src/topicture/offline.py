"""Nothing leaves the machine: libraries that would send something are told not to, before they are loaded.

onnxruntime reports its use to its makers: as soon as it is imported it makes a database of events in the user's cache
folder, and later looks up a host and connects to it. It reads one variable, once, when its library is loaded.
"""

import os
from types import ModuleType

__all__ = ["OFFLINE", "quiet_onnxruntime"]

OFFLINE = {"ORT_DISABLE_TELEMETRY": "1"}
"""Environment of every process of ours."""


def quiet_onnxruntime() -> ModuleType:
    """onnxruntime, its reports switched off; the only place that imports it."""
    os.environ.update(OFFLINE)
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where the host program had loaded it before
    return onnxruntime
