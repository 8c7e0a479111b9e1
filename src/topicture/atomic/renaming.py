"""Renames that the standard library lacks, each in one step: two names exchanged, a name given where there is none."""

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["EXCHANGE", "ONLY_NEW", "rename_specially"]

# As in Linux: RENAME_NOREPLACE, RENAME_EXCHANGE. macOS has the same by other numbers.
ONLY_NEW, EXCHANGE = 1, 2
_ON_MACOS = {ONLY_NEW: 4, EXCHANGE: 2}
_HERE = -100  # AT_FDCWD: paths are relative to the working folder, as everywhere


def rename_specially(source: Path, target: Path, flag: int) -> int:
    """0, or the number of the error; ENOSYS where the system has no such call."""
    call = _system_call()
    if call is None:
        return errno.ENOSYS
    names = os.fsencode(source), os.fsencode(target)
    if sys.platform == "darwin":
        failed = call(*names, _ON_MACOS[flag])
    else:
        failed = call(_HERE, names[0], _HERE, names[1], flag)
    return ctypes.get_errno() if failed else 0


@cache
def _system_call() -> Any:
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform)
    if name is None:
        return None
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):  # an older C library
        return None
