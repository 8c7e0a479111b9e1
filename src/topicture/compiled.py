"""Compiled passes, kept from one process to the next.

A first fit would compile for 5 to 20 seconds. JAX can keep what it compiled in a folder; since that is machine code,
which the next process runs, the folder must be one that nobody else can write to. Programs of ours use it always; as a
library Topicture leaves JAX's settings alone, until its host calls `topicture.keep_compiled_code()`.
"""

import hashlib
import os
import platform
import stat
from pathlib import Path

from topicture.errors import TopictureError
from topicture.user_cache import user_cache_folder

__all__ = ["keep_compiled_code", "settings_of_a_program", "trusted_folder"]

MOST_BYTES = 1 << 29
# Short compilations are kept as well: a fit has a dozen of them. JAX reads the same from the environment.
_SETTINGS = {"jax_persistent_cache_min_compile_time_secs": 0, "jax_persistent_cache_min_entry_size_bytes": -1}


def keep_compiled_code(folder: str | os.PathLike[str] | None = None) -> None:
    """Have JAX keep compiled code in `folder`, by default in Topicture's cache, for this whole process.

    Raises TopictureError where somebody else could put code there.
    """
    import jax

    place = trusted_folder(folder)
    jax.config.update("jax_compilation_cache_dir", os.fspath(place))
    for name, value in _SETTINGS.items():
        jax.config.update(name, value)


def settings_of_a_program() -> dict[str, str]:
    """The same for a process in which JAX is not loaded yet, and its children; nothing where no folder can be trusted.

    A person who set JAX_COMPILATION_CACHE_DIR, or left it empty, has decided already.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return {}
    try:
        place = trusted_folder()
    except (TopictureError, OSError):
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": os.fspath(place),
        **{name.upper(): str(value) for name, value in _SETTINGS.items()},
    }


def trusted_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder, made if need be, for this kind of processor; old entries are removed where it has grown too large."""
    root = (user_cache_folder() / "compiled" if folder is None else Path(folder)).absolute()
    place = root / _processor()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(place)
    _shorten(place)
    return place


def _check_private(place: Path) -> None:
    """Nobody but this user and the system's may write to the folder, or exchange one above it."""
    if not hasattr(os, "geteuid"):  # Windows: the user's own folders are closed to others by inheritance
        return
    for level, path in enumerate((place, *place.parents)):
        status = os.stat(path) if level > 1 else os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            raise TopictureError(f"{path}: is no folder; compiled code is kept in real folders only")
        own = status.st_uid == os.geteuid() if level <= 1 else status.st_uid in (0, os.geteuid())
        # In a folder such as /tmp others may add names, but not exchange those that are there.
        shielded = level > 1 and status.st_mode & stat.S_ISVTX
        if not own or (status.st_mode & 0o022 and not shielded):
            raise TopictureError(
                f"{path}: others can write there, and compiled code is run as it is; choose a folder of your own"
            )


def _processor() -> str:
    """What must be the same for machine code to run: a home folder may be shared by several machines."""
    told = [platform.system(), platform.machine()]  # platform.processor() would start a program
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            told += next(([line] for line in lines if line.startswith(("flags", "Features"))), [])
    except OSError:
        pass
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _shorten(place: Path) -> None:
    """Remove what was not used for longest, beyond the size that is allowed."""
    entries = []
    for entry in os.scandir(place):
        if entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            entries.append((max(status.st_atime, status.st_mtime), status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MOST_BYTES:
            return
        Path(path).unlink(missing_ok=True)
        total -= size
