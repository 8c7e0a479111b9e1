"""Settings of a collection: `topicture.toml` in its catalog, which gives options of commands other defaults.

Only numbers, switches and names from lists: nothing in it is a path, a command or code, so a catalog from elsewhere
can't do more than change how much is shown or suggested.
"""

import os
import stat
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from topicture.atomic import write_atomically
from topicture.collection.words import printable
from topicture.errors import TopictureError

__all__ = ["FILE_NAME", "SETTINGS", "ConfigError", "Setting", "change", "checked", "load"]

FILE_NAME = "topicture.toml"
LARGEST = 1 << 16


class ConfigError(TopictureError):
    """A file of settings that can't be used; says which, what in it, and what would do."""

    code = "bad-config"


class Setting(NamedTuple):
    """What a value must be: its type, its bounds, or one of some names."""

    kind: type
    least: float | None = None
    most: float | None = None
    names: tuple[str, ...] = ()

    def wants(self) -> str:
        """As in "a number from 0 to 1"."""
        if self.names:
            return f"one of {', '.join(self.names)}"
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "a name in quotes"
        what = "a whole number" if self.kind is int else "a number"
        if self.most is not None:
            return f"{what} from {self.least:g} to {self.most:g}"
        return f"{what} of at least {self.least:g}"

    def takes(self, value: Any) -> bool:
        whole_for_any = self.kind is float and type(value) is int
        if not (type(value) is self.kind or whole_for_any) or (self.names and value not in self.names):
            return False
        if self.kind is str:
            return 0 < len(value) <= 100 and value.isprintable()
        too_little = self.least is not None and not value >= self.least
        return not too_little and (self.most is None or value <= self.most)


_PROBABILITY = Setting(float, 0, 1)
_MANY = Setting(int, 1, 1000)
_SWITCH = Setting(bool)
# As `reviewing` has them, which imports what every command would wait for.
_ORDERS = ("uncertain", "certain", "teaching", "missing", "random")

SETTINGS: dict[str, dict[str, Setting]] = {
    "annotate": {"threshold": _PROBABILITY, "top": _MANY},
    "learn": {
        "model": Setting(str),
        "min_count": Setting(int, 1, 100_000),
        "budget": Setting(float, 0.1, 100_000),
        "regions": _SWITCH,
    },
    "list": {"limit": _MANY, "order": Setting(str, names=("added", "taken", "path"))},
    "review": {
        "order": Setting(str, names=_ORDERS),
        "limit": _MANY,
        "by_image": _SWITCH,
        "pictures": _SWITCH,
    },
    "search": {"limit": _MANY},
    "similar": {"limit": _MANY},
    "suggest": {"threshold": _PROBABILITY, "top": _MANY},
    "watch": {"every": Setting(float, 1, 86_400)},
    "write": {"regions": _SWITCH, "certainty": _PROBABILITY},
}
"""Command -> option (as the function of the command names it) -> what it may be."""


def load(catalog: Path) -> dict[str, dict[str, Any]]:
    """The settings of the catalog in a folder; none where it has no such file. Raises ConfigError."""
    path = catalog / FILE_NAME
    text = _text(path)
    return {} if text is None else checked(text, str(path))


def checked(text: str, source: str) -> dict[str, dict[str, Any]]:
    """The settings that a text of TOML has, each known and of the right kind; raises ConfigError."""
    source = printable(source)
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: not TOML ({printable(str(error))}); mend or remove it") from None
    for command, options in found.items():
        if command not in SETTINGS or not isinstance(options, dict):
            raise ConfigError(f"{source}: there is nothing to set about {_unknown(command, SETTINGS)}")
        for option, value in options.items():
            known = SETTINGS[command]
            if option not in known:
                raise ConfigError(f"{source}: [{command}] has no setting {_unknown(option, known)}")
            if not known[option].takes(value):
                shown = printable(repr(value))[:40]
                raise ConfigError(
                    f"{source}: {command}.{option} must be {known[option].wants()}, not {shown}"
                )
    return found


def _unknown(name: str, known: dict[str, Any]) -> str:
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"{printable(name)!r}; {hint}"


def _text(path: Path) -> str | None:
    """The text of an ordinary file of reasonable size; a link is not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: can't be read ({error.strerror}); mend or remove it") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError(f"{path}: not an ordinary file; remove it")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ConfigError(f"{path}: too long for a file of settings; shorten it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8; save it as that") from None


def change(catalog: Path, name: str, value: str | None) -> dict[str, dict[str, Any]]:
    """Set `command.option` to a value as TOML writes it, or (None) take it out; the settings then.

    All other lines, with their comments, stay as they are.
    """
    path = catalog / FILE_NAME
    command, _, option = name.partition(".")
    if command not in SETTINGS or option not in SETTINGS[command]:
        names = {f"{each}.{one}": None for each, options in SETTINGS.items() for one in options}
        raise ConfigError(f"there is no setting {_unknown(name, names)}")
    text = _text(path) or ""
    wanted = checked(text, str(path))
    line = None if value is None else f"{option} = {_literal(SETTINGS[command][option], value)}"
    if line is None:
        wanted.get(command, {}).pop(option, None)
    else:
        wanted.setdefault(command, {}).update(checked(f"[{command}]\n{line}", "config")[command])
    text = "\n".join(_edited(text.splitlines(), command, option, line)).strip("\n") + "\n"
    if {key: part for key, part in checked(text, str(path)).items() if part} != {
        key: part for key, part in wanted.items() if part
    }:
        raise ConfigError(f"{path}: written in a way that only an editor can change")
    write_atomically(path, text.encode())
    return wanted


def _literal(setting: Setting, value: str) -> str:
    """A value as people type it in a shell, as TOML."""
    if setting.kind is bool:
        return {"yes": "true", "no": "false"}.get(value.lower(), value.lower())
    if setting.kind is str and value[:1] not in ('"', "'"):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value


def _edited(lines: list[str], command: str, option: str, line: str | None) -> list[str]:
    """Lines in which an option of a section is another one, or is not there."""
    header = f"[{command}]"
    start = next((i for i, each in enumerate(lines) if each.strip().startswith(header)), None)
    if start is None:
        return lines if line is None else [*lines, "", header, line]
    end = next((i for i in range(start + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    for i in range(start + 1, end):
        if lines[i].partition("=")[0].strip() == option:
            return [*lines[:i], *([] if line is None else [line]), *lines[i + 1 :]]
    return lines if line is None else [*lines[: start + 1], line, *lines[start + 1 :]]
