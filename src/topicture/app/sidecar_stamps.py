"""Whether a photo's sidecars have changed since they were last read, without opening anything."""

import os
from pathlib import Path

__all__ = ["SidecarStamps", "sidecar_stamp"]


class SidecarStamps:
    """Stamps of the sidecars in a tree; a folder is listed once, as long as its photos are asked about in a row."""

    def __init__(self, root: str | os.PathLike):
        self._root = os.fspath(root)
        self._folder: str | None = None
        self._names: set[str] = set()

    def of(self, path: str) -> str:
        """The stamp of the photo at a path relative to the root; empty where it has no sidecar."""
        folder, name = os.path.split(path)
        if folder != self._folder:
            self._folder = folder
            self._names = {
                entry
                for entry in os.listdir(os.path.join(self._root, folder))
                if entry[-4:].lower() == ".xmp"
            }
        if not self._names:
            return ""
        there = [candidate for candidate in _candidates(name) if candidate in self._names]
        return _stamp(os.path.join(self._root, folder), there)


def sidecar_stamp(photo: Path) -> str:
    """The stamp of one photo's sidecars, as `SidecarStamps` gives it."""
    return _stamp(os.fspath(photo.parent), _candidates(photo.name))


def _candidates(name: str) -> tuple[str, ...]:
    """The names that a photo's sidecar may have."""
    stem = os.path.splitext(name)[0]
    return (f"{name}.xmp", f"{name}.XMP", f"{stem}.xmp", f"{stem}.XMP")


def _stamp(folder: str, names: tuple[str, ...] | list[str]) -> str:
    lines = []
    for name in names:
        try:
            status = os.lstat(os.path.join(folder, name))
        except OSError:
            continue
        kind = name[-8:]  # tells the candidates of one photo apart, and can be stored whatever the name
        lines.append(
            f"{status.st_size} {status.st_mtime_ns} {kind.encode('utf-8', 'backslashreplace').decode()}"
        )
    return "\n".join(lines)
