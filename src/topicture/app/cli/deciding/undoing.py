"""Commands about what was decided before: undo, redo."""

from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, find, print_json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(undo)
    app.command()(redo)


StepOption = Annotated[
    int | None,
    typer.Option("--step", min=1, help="This step instead of the last; 'undo --list' has the numbers."),
]


def undo(
    list_only: Annotated[bool, typer.Option("--list", help="List the last steps, and undo nothing.")] = False,
    step: StepOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="With --list: how many steps.")] = 20,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back the last answer, bulk acceptance, import, change of a tag or scan; again for the one before."""
    from topicture.app.console.steps import print_steps, print_undone

    if list_only and step is not None:
        raise typer.BadParameter("choose one of --list and --step")
    library = find(catalog)
    if list_only:
        from topicture.app.verbs.deciding.decide import history

        with library.reading() as opened:
            steps = history(opened, limit)
        print_json(steps) if as_json else print_steps(steps)
        return
    undone = library.undo(step)
    if as_json:
        print_json({"undone": None if undone is None else len(undone.decisions), "step": undone})
    elif undone is None:
        print("There is nothing left to undo." if step is None else f"There is no step {step} to undo.")
    else:
        print_undone(undone)


def redo(step: StepOption = None, catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Do again what was undone last, unless something was decided since; again for the one before."""
    from topicture.app.console.steps import print_redone

    redone = find(catalog).redo(step)
    if as_json:
        print_json({"redone": None if redone is None else len(redone.decisions), "step": redone})
    elif redone is None:
        print("There is nothing to redo." if step is None else f"Step {step} was not undone.")
    else:
        print_redone(redone)
