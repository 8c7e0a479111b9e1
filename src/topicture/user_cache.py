"""Where this user's caches belong."""

import os
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["user_cache_folder"]


def user_cache_folder() -> Path:
    """Where this user's caches belong: TOPICTURE_CACHE, or the platform's own place."""
    if chosen := os.environ.get("TOPICTURE_CACHE"):
        return Path(chosen)
    # Without author and opinion: on Windows they would be folders of their own.
    return user_cache_path("topicture", appauthor=False, opinion=False)
