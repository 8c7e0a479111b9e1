"""The command `config`."""

from typing import Annotated, Any

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, find, print_json, short_path
from topicture.collection.words import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(config)


def config(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="A setting, as in annotate.threshold; without one, all are shown.")
    ] = None,
    value: Annotated[str | None, typer.Argument(help="Its new value, as in 0.4.")] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Go back to the default of this setting.")] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or change the settings of this collection: other defaults for options of commands (topicture.toml)."""
    from topicture.app.verbs.upkeep.configuring import FILE_NAME, SETTINGS, change, load

    if (unset and (name is None or value is not None)) or (value is not None and name is None):
        raise typer.BadParameter("as in: config annotate.threshold 0.4, or config annotate.threshold --unset")
    library = find(catalog)
    with library.reading() as opened:  # nothing is written beside a catalog that can't be opened
        folder = opened.folder
    if unset or value is not None:
        assert name is not None
        change(folder, name, value)
    own = load(folder)
    defaults = _defaults(context)
    rows = [
        {
            "name": f"{command}.{option}",
            "value": own.get(command, {}).get(option, defaults.get(command, {}).get(option)),
            "default": option not in own.get(command, {}),
            "wants": setting.wants(),
        }
        for command, options in SETTINGS.items()
        for option, setting in options.items()
        if name in (None, command, f"{command}.{option}")
    ]
    if not rows:
        raise typer.BadParameter(f"there is no setting {name!r}; 'topicture config' lists them")
    path = folder / FILE_NAME
    if as_json:
        print_json({"file": path, "settings": rows})
        return
    for row in rows:
        said = "by default" if row["default"] else "set"
        shown = "as the command chooses" if row["value"] is None else _shown(row["value"])
        print(printable(f"{row['name']:20} {shown:24} {said:10}  ({row['wants']})"))
    print(printable(f"File: {short_path(path)}" + ("" if path.exists() else " (not there yet)")))


def _shown(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _defaults(context: typer.Context) -> dict[str, dict[str, Any]]:
    """Command -> option -> what it is where nobody says otherwise."""
    commands: dict[str, Any] = getattr(context.find_root().command, "commands", {})
    return {
        command: {option.name: option.default for option in each.params} for command, each in commands.items()
    }
