"""Writes commands.md, settings.md and api.md: commands, options, settings and public names, as the program tells them.

python docs/site/make_reference.py

A test compares the pages with the program (tests/docs), so that neither can change without the other.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from public_names import api_page

from topicture import make_annotator, model_names
from topicture.app.cli.commands import app
from topicture.models.base import Annotator

DOCS = Path(__file__).parents[1]
COMMANDS = """# Commands and options

Every command, as `topicture COMMAND --help` tells it; [the tool](tool.md) explains how they go together. This page is
written by `python docs/site/make_reference.py`.
"""
SETTINGS = """# Settings

What can be set besides [the options of commands](commands.md). This page is written by
`python docs/site/make_reference.py`.

## Environment variables

| variable | what it does |
|---|---|
| `TOPICTURE_CATALOG` | the catalog to use, as `--catalog` |
| `TOPICTURE_CACHE` | where converted networks are kept, instead of the user's cache folder |
| `TOPICTURE_DEBUG` | `1` shows where an error comes from, as `--debug` |
| `TOPICTURE_DEVICE` | `cpu` or `gpu`: where models learn; without it, where JAX finds best |
| `TOPICTURE_TLS` | a folder with the certificates of a cluster on other machines (`ca.pem`, `cert.pem`, `key.pem`) |
| `TOPICTURE_TOKEN` | a fixed token for `serve`, which an address that others can reach requires |
| `TOPICTURE_TLS` | certificates of a cluster on other machines, as `--tls` |
| `TOPICTURE_DATA` | the folder of benchmark data, for `reproduce` and for tests that use it |

## Settings of the models

`make_annotator(name, setting=value)` takes these, and so does scikit-learn's `set_params`. Defaults were chosen by
cross-validation within tagged photos where [the mathematics](models.md) says so.
"""


# --- Commands ------------------------------------------------------------------------------------------------------


def commands(root: Any) -> Iterator[tuple[str, Any]]:
    """Names and commands, in the order of the program's help."""
    for name, command in root.commands.items():
        if not command.hidden:
            yield name, command


def command_page(root: Any) -> str:
    """The page of commands as Markdown."""
    parts = [COMMANDS, "## For all of them\n", options(root)]
    for name, command in commands(root):
        parts += [f"## {name}\n", f"{one_line(command.help or '')}\n", options(command)]
    return "\n".join(part for part in parts if part)


def options(command: Any) -> str:
    """The parameters of a command, with what their help says."""
    rows = [option(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    return "\n".join(["| argument or option | what it is |", "|---|---|", *rows]) + "\n" if rows else ""


def option(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        names = [(parameter.metavar or parameter.name).upper()]
    shown = ", ".join(f"`{name}`" for name in names).replace("|", "\\|")
    return f"| {shown} | {one_line(getattr(parameter, 'help', None) or '')} |"


def one_line(text: str) -> str:
    """Help as one line of Markdown."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


# --- Settings ------------------------------------------------------------------------------------------------------


def settings_page(models: dict[str, Annotator]) -> str:
    """The page of settings as Markdown."""
    parts = [SETTINGS]
    for name, model in models.items():
        about = meanings(type(model))
        rows = [
            f"| `{setting}` | `{default!r}` | {about.get(setting) or mention(setting, about)} |"
            for setting, default in model.get_params(deep=False).items()
        ]
        first = one_line((type(model).__doc__ or "").split("\n\n")[0])
        parts.append(
            f"### {name}\n\n{first}\n\n| setting | default | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def meanings(kind: type) -> dict[str, str]:
    """What the docstrings of a class and of those above it say about its parameters."""
    found: dict[str, str] = {}
    for above in reversed(kind.__mro__):
        documented = textwrap.dedent(f"    {above.__doc__ or ''}")
        section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\S|\Z)", documented, re.DOTALL)
        for names, text in re.findall(
            r"^(\w[\w, ]*?) : (.*(?:\n +.*)*)", section[1] if section else "", re.MULTILINE
        ):
            found.update(dict.fromkeys(re.split(r",\s*", names), one_line(text)))
    return found


def mention(setting: str, about: dict[str, str]) -> str:
    """What is said about a setting where another one is explained."""
    return next((text for text in about.values() if f"`{setting}`" in text), "")


def main() -> None:
    (DOCS / "commands.md").write_text(command_page(typer.main.get_command(app)), encoding="utf-8")
    models = {name: make_annotator(name) for name in model_names()}
    (DOCS / "settings.md").write_text(settings_page(models), encoding="utf-8")
    (DOCS / "api.md").write_text(api_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
