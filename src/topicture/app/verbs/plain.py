"""Results as values that JSON has."""

import dataclasses
import math
from pathlib import Path
from typing import Any

__all__ = ["as_plain"]


def as_plain(value: Any) -> Any:
    """A result as JSON values: NaN and infinities are null, paths are text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: as_plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.repr  # what is left out of the text of a value (pixels) is left out here
        }
    if hasattr(value, "_asdict"):
        return {name: as_plain(part) for name, part in value._asdict().items()}
    if isinstance(value, dict):
        return {str(key): as_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
