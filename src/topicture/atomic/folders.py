"""Folders that appear whole or not at all, in the place of an old one or of nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicture.atomic.leftovers import OLD, TARGET, remove_leftovers, work_folder
from topicture.atomic.renaming import EXCHANGE, rename_specially
from topicture.atomic.syncing import make_folder, new_mode, sync_file, sync_folder, sync_tree

__all__ = ["finish_replacing", "new_folder"]


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` when all went well and is removed otherwise.

    All that was put into it is on disk before it takes that place, and its name when this returns. Where the system can
    exchange two names, there is no moment with neither the old folder nor the new. Elsewhere a crash may hit that
    moment: `finish_replacing`, or the next new folder beside it, brings the old one back.
    """
    folder = folder.absolute()
    make_folder(folder.parent)
    remove_leftovers(folder.parent)
    with work_folder(folder.parent) as work:
        new = work / "new"
        new.mkdir(mode=new_mode(0o777))
        yield new
        sync_tree(new)
        if folder.exists():
            if not _exchange(new, folder):
                _replace(new, folder, work)
        else:
            os.rename(new, folder)
        sync_folder(work)
        sync_folder(folder.parent)
        if (work / TARGET).exists():
            # The note must not outlive its purpose: after a crash of a later run it would bring back what is older.
            (work / TARGET).unlink()
            sync_folder(work)


def finish_replacing(folder: Path) -> None:
    """Put a folder back that a crash caught between its old and its new state; nothing where it is there."""
    if not folder.exists():
        remove_leftovers(folder.absolute().parent)


def _replace(new: Path, folder: Path, work: Path) -> None:
    """Two renames; a note that is on disk before the first tells a later run where the old folder belongs."""
    (work / TARGET).write_bytes(os.fsencode(folder.name))
    sync_file(work / TARGET)
    sync_folder(work)
    sync_folder(work.parent)
    os.rename(folder, work / OLD)
    try:
        os.rename(new, folder)
    except OSError:
        os.rename(work / OLD, folder)
        raise


def _exchange(a: Path, b: Path) -> bool:
    """Let two folders change places in one step; False where the system or file system has no such step."""
    return rename_specially(a, b, EXCHANGE) == 0
