"""Packages that not everybody needs: imported when they are, with a line that says what to install.

The extras are those of pyproject.toml: `pip install 'topicture[EXTRA]'`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from topicture.errors import TopictureError

__all__ = ["MissingExtra", "has_module", "how_to_install", "optional_module"]


class MissingExtra(TopictureError, ImportError):
    """Something was asked for that needs a package which is not installed; says which extra brings it."""


def optional_module(name: str, extra: str, purpose: str) -> Any:
    """The module; raises MissingExtra. `purpose` begins the line: what it is needed for, in the plural."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise  # it is there, and one of its own is not: another story
        raise MissingExtra(
            f"{purpose} need a package that is not installed: {how_to_install(extra)}"
        ) from None


def has_module(name: str) -> bool:
    """Whether it is installed; it is not loaded."""
    return find_spec(name) is not None


def how_to_install(extra: str) -> str:
    """The command."""
    return f"pip install 'topicture[{extra}]'"
