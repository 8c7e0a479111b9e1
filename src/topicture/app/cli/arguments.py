"""The arguments of a command before Typer reads them: what every command takes, and what people type otherwise.

--debug and --json may stand anywhere. A query may begin with a minus. Options that are not given come from the file
`topicture.toml` of the collection, where that has them.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from topicture.app.cli.common import CATALOG_VARIABLE, collection_of
from topicture.errors import TopictureError

__all__ = ["Arguments", "default_values", "prepared", "wants_json"]

DASHED = re.compile(r"-[^-\s]\S*", re.DOTALL)
GLUED = re.compile(r"-[a-zA-Z]=?\d[\d.]*")  # -n5


class Arguments(NamedTuple):
    """What Typer is to read, the command, and whether tracebacks are wanted."""

    given: list[str]
    command: str | None
    debug: bool


def wants_json(given: Sequence[str] | None = None) -> bool:
    """Whether the result is wanted as JSON; an error then is, too."""
    return "--json" in _before_dashes(sys.argv[1:] if given is None else given)


def prepared(given: Sequence[str], options: Mapping[str, Mapping[str, bool]]) -> Arguments:
    """The arguments; `options` says of the options of each command whether they take a value."""
    head = _before_dashes(given)
    tail = list(given[len(head) :])
    debug = "--debug" in head
    head = [each for each in head if each != "--debug"]
    command = next((each for each in head if not each.startswith("-")), None)
    if command == "search":
        at = head.index(command) + 1
        head, tail = _query_last(head[:at], head[at:], options.get(command, {}), tail[1:])
    return Arguments([*head, *tail], command, debug)


def _before_dashes(given: Sequence[str]) -> list[str]:
    return list(given[: given.index("--")] if "--" in given else given)


def _query_last(
    before: list[str], given: list[str], options: Mapping[str, bool], query: list[str]
) -> tuple[list[str], list[str]]:
    """Options first, then the words of the query: `-water` is one of them, not five options of one letter each."""
    words: list[str] = []
    rest = iter(given)
    for each in rest:
        name = each.partition("=")[0]
        if name in options or GLUED.fullmatch(each) or (each.startswith("--") and len(each) > 2):
            before = [*before, each]
            if options.get(name) and each == name:
                before += [value for value in [next(rest, None)] if value is not None]
        else:
            words.append(each)
    words += query
    return before, ["--", *words] if words else []


def default_values(arguments: Arguments) -> dict[str, dict[str, Any]]:
    """Command -> option -> value, as the collection has it; raises ConfigError for a file that can't be used."""
    from topicture.app.verbs.upkeep.configuring import SETTINGS, load

    if arguments.command not in SETTINGS:
        return {}
    try:
        folder = collection_of(_catalog(arguments.given), _paths(arguments)).folder
    except (TopictureError, OSError):  # the command itself tells
        return {}
    return load(folder)


def _catalog(given: Sequence[str]) -> Path | None:
    head = _before_dashes(given)
    for at, each in enumerate(head):
        name, equals, value = each.partition("=")
        if name in ("--catalog", "-c"):
            found = value if equals else next(iter(head[at + 1 : at + 2]), "")
            return Path(found)
        if DASHED.fullmatch(each) and each.startswith("-c"):
            return Path(each[2:])
    named = os.environ.get(CATALOG_VARIABLE)
    return Path(named) if named else None


def _paths(arguments: Arguments) -> list[str]:
    """What may be photos: for commands that are about some."""
    if arguments.command not in ("suggest", "similar"):
        return []
    return [each for each in arguments.given if not each.startswith("-")][1:]
