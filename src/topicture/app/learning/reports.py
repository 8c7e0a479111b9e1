"""What was found when a model was learned: `report.json` in its folder."""

import json
import os
from pathlib import Path
from typing import Any

from topicture.errors import DataNotFound, ModelFileError

__all__ = ["load_report"]


def load_report(folder: Path) -> dict[str, Any]:
    """What was found when the model was learned."""
    path = folder / "report.json"
    try:
        report = json.loads(path.read_bytes())
        if isinstance(report, dict):
            return report
        raise ValueError("not a report")
    except FileNotFoundError:
        raise DataNotFound(f"{os.fspath(path)}: missing; learn again") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{os.fspath(path)}: damaged; learn again") from None
