"""Arrays in files that are written through memory, on disks that may be full."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["new_array"]


def new_array(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.memmap:
    """A new .npy file to be filled in any order; raises OSError where there is no room for all of it.

    The room is taken at once: a page that the disk has none for when it is written to ends the process (SIGBUS), with
    no word to the user.
    """
    array: np.memmap = np.lib.format.open_memmap(path, "w+", dtype, shape)
    if hasattr(os, "posix_fallocate"):  # not on macOS
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return array
