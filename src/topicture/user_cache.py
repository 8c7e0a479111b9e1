"""Where this user's caches belong."""

import os
import sys
from pathlib import Path

__all__ = ["user_cache_folder"]


def user_cache_folder() -> Path:
    """Where this user's caches belong: TOPICTURE_CACHE, or the platform's own place."""
    if chosen := os.environ.get("TOPICTURE_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "topicture"
