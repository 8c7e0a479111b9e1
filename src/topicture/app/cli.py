"""The command line: parse, call the verbs, print. No logic, and nothing heavy imported before a verb needs it.

Exit codes: 0 done; 1 something was skipped or is pending; 2 bad input or usage, told in one line; 130 interrupted.
"""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from topicture import __version__
from topicture.app import (
    cli_collection,
    cli_exchange,
    cli_explain,
    cli_finding,
    cli_learning,
    cli_reproduce,
    cli_review,
)
from topicture.app.cli_common import ForceOption
from topicture.app.cores import use_all_cores
from topicture.app.own_process import own_this_process
from topicture.errors import TopictureError

__all__ = ["app", "main"]

app = typer.Typer(
    name="topicture",
    help="Learns the words of your photo collection and finds them in your pictures. Private, offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point: a user's mistake is answered by one line, never by a traceback."""
    own_this_process()
    use_all_cores()
    try:
        app()
    except TopictureError as error:
        _fail(str(error))
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(f"{name}{error.strerror or error}")
    except KeyboardInterrupt:
        print("topicture: interrupted", file=sys.stderr)
        sys.exit(130)


def _fail(message: str) -> None:
    print(f"topicture: {message}", file=sys.stderr)
    sys.exit(2)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"topicture {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page (index.html) and demo.json.")] = Path("demo"),
    images: Annotated[int, typer.Option(help="Number of photos to render.")] = 600,
    seed: Annotated[int, typer.Option(help="Another seed is another collection.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that render and look at photos.")] = os.cpu_count()
    or 1,
    force: ForceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Render a sample collection, hide three quarters of its tags, learn, suggest tags, and show how good they are."""
    from topicture.app.console import Stages
    from topicture.app.console_demo import print_demo
    from topicture.app.demo import run_demo
    from topicture.app.demo_page import page_of
    from topicture.collection.outputs import Outputs

    place = Outputs(out, force=force)
    place.check(["index.html", "demo.json"])
    with Stages(quiet=quiet or as_json) as stages:
        report = run_demo(images, seed=seed, workers=workers, report=stages)
    numbers = json.dumps(report.as_dict(), indent=1).encode()
    place.write({"index.html": page_of(report).encode(), "demo.json": numbers})
    if as_json:
        typer.echo(json.dumps(report.as_dict()))
    else:
        print_demo(report, out / "index.html")


for commands in (
    cli_collection,
    cli_learning,
    cli_explain,
    cli_finding,
    cli_review,
    cli_exchange,
    cli_reproduce,
):
    commands.register(app)
