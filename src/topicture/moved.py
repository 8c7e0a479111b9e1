"""Names of earlier versions, wherever they are now, with a warning for whoever writes code.

`moved.txt` is the list. A line has a module as it was called, the module where its names are now, and which names, as
`old=new` where they are called otherwise now; no names are all names. The first line that fits counts.

A module that is gone is made up by `Importer`, the last that Python asks for a module; one that is still there but has
lost names says `__getattr__ = moved(__name__)`.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

__all__ = ["Importer", "moved", "renamed"]

RUN = "import runpy; runpy.run_module({new!r}, run_name='__main__', alter_sys=True)"


def moved(old: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names have moved."""

    def look(name: str) -> Any:
        for new, names in () if name.startswith("_") else _table().get(old, ()):
            called = names.get(name) if names else name
            if called is not None and hasattr(module := import_module(new), called):
                told = new if called == name else f"{new}.{called}"
                warnings.warn(f"{old}.{name} is now in {told}", DeprecationWarning, stacklevel=2)
                return getattr(module, called)
        raise AttributeError(f"module {old!r} has no attribute {name!r}")

    return look


def renamed(owner: Any, old: str, new: str) -> Any:
    """An attribute, for the property that has the name that it had before."""
    warnings.warn(f"{type(owner).__name__}.{old} is now .{new}", DeprecationWarning, stacklevel=3)
    return getattr(owner, new)


class Importer:
    """Finds modules that are no more, and runs them (`python -m`) where they are now."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith("topicture.") or name not in _table():
            return None
        is_package = any(other.startswith(name + ".") for other in _table())
        return ModuleSpec(name, Importer, is_package=is_package)  # type: ignore[arg-type]  # a class will do

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """An ordinary module will do."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__doc__ = "Its names are elsewhere now."
        vars(module)["__getattr__"] = moved(module.__name__)

    @staticmethod
    def get_code(name: str) -> CodeType:
        new = _table()[name][-1][0]
        print(f"{name} is now {new}", file=sys.stderr)
        return compile(RUN.format(new=new), name, "exec")


@cache
def _table() -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Old module -> (new module, old name -> new name), in the order of the list."""
    table: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        old, new, *names = line.split()
        called = {name: renamed or name for name, _, renamed in (word.partition("=") for word in names)}
        where = new if new.startswith("topicture_experiments") else f"topicture.{new}"
        table.setdefault(f"topicture.{old.removesuffix(':')}", []).append((where, called))
    return table
