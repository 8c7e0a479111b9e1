"""Files and folders that appear whole or not at all: a reader, or a crash, finds the old content or the new."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["new_folder", "write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file through a temporary one beside it; the mode of an existing file is kept. Raises OSError."""
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".topicture.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else _new_mode(0o666))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` when all went well and is removed otherwise."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".topicture.", dir=folder.parent))
    new, old = work / "new", work / "old"
    try:
        new.mkdir(mode=_new_mode(0o777))
        yield new
        if folder.exists():
            os.rename(folder, old)
        try:
            os.rename(new, folder)
        except OSError:
            if old.exists():
                os.rename(old, folder)
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _new_mode(mode: int) -> int:
    """What the user's umask leaves of a mode; temporary files are made private."""
    umask = os.umask(0)
    os.umask(umask)
    return mode & ~umask
