"""A photo in the program that the system shows pictures with."""

import os
import shutil
import sys
from pathlib import Path

from topicture.children import start_viewer
from topicture.errors import TopictureError

__all__ = ["open_in_viewer"]


def open_in_viewer(path: Path) -> None:
    """Hand a file to the system, and wait for nothing; raises TopictureError where there is no way to.

    The path is absolute, so it is never taken for an option, and no shell reads it.
    """
    path = path.absolute()
    if not path.is_file():
        raise TopictureError(f"{path}: its file is gone; run 'topicture scan'")
    if sys.platform == "win32":
        os.startfile(path)
        return
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if program is None:
        raise TopictureError(f"{path}: no program to open it with (xdg-open is not installed)")
    start_viewer(program, path)
