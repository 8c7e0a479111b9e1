"""The command line: parse, call the verbs, print. No logic, and nothing heavy imported before a verb needs it."""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from topicture import __version__
from topicture.app.cli import clustering as cli_clustering
from topicture.app.cli import exchange as cli_exchange
from topicture.app.cli import learning as cli_learning
from topicture.app.cli import reproduce as cli_reproduce
from topicture.app.cli import serving as cli_serving
from topicture.app.cli.arguments import default_values, prepared, wants_json
from topicture.app.cli.common import ForceOption
from topicture.app.cli.deciding import review as cli_review
from topicture.app.cli.deciding import tagging as cli_tagging
from topicture.app.cli.deciding import undoing as cli_undoing
from topicture.app.cli.failures import DEBUG, wants_traceback
from topicture.app.cli.looking import explain as cli_explain
from topicture.app.cli.looking import finding as cli_finding
from topicture.app.cli.looking import listing as cli_listing
from topicture.app.cli.looking import suggesting as cli_suggesting
from topicture.app.cli.upkeep import collection as cli_collection
from topicture.app.cli.upkeep import configuring as cli_configuring
from topicture.app.cli.upkeep import watching as cli_watching
from topicture.collection.words import printable
from topicture.devices import VARIABLE, use_device_from_the_start
from topicture.errors import FitWarning, TopictureError

__all__ = ["app", "run"]


class _CommandEnded(BaseException):
    """Carries what a command raised past Typer."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Commands(TyperGroup):
    """Typer would answer a closed pipe by code 1, and an interrupt or the end of input without a reason."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (OSError, EOFError, KeyboardInterrupt) as error:
            raise _CommandEnded(error) from error


app = typer.Typer(
    name="topicture",
    cls=_Commands,
    help="Learns the words of your photo collection and finds them in your pictures. Private and offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> int:
    """Run the command of the command line; its exit code. Whatever it raises passes, usage errors are told here."""
    given = sys.argv[1:]
    arguments = prepared(
        given, _options() if "search" in given else {}
    )  # who else reads them does so with Typer
    if arguments.debug:
        os.environ[DEBUG] = "1"
    if not wants_traceback():  # how a fit ended tells the owner of photos nothing
        warnings.simplefilter("ignore", FitWarning)
    try:
        return app(arguments.given, standalone_mode=False, default_map=default_values(arguments)) or 0
    except _CommandEnded as ended:
        raise ended.error from None
    except typer.Abort:
        raise TopictureError("nothing was done: the answer was not yes") from None
    except Exception as error:
        # Typer's errors of usage have no public base class.
        if not hasattr(error, "format_message"):
            raise
        return _tell_usage(error)


def _options() -> dict[str, dict[str, bool]]:
    """Command -> its options, each with whether it takes a value."""
    commands: Any = typer.main.get_group(app).commands
    return {
        name: {
            option: not getattr(each, "is_flag", True)
            for each in command.params
            for option in (*each.opts, *each.secondary_opts)
            if option.startswith("-")  # else it is the name of an argument
        }
        | {"-h": False, "--help": False}
        for name, command in commands.items()
    }


def _tell_usage(error: Any) -> int:
    """As Typer does, but with what the person typed escaped; as JSON where that is wanted."""
    from typer.rich_utils import rich_format_error

    error.message = "\n".join(printable(line) for line in error.message.split("\n"))
    if wants_json():
        print(json.dumps({"error": {"code": "usage", "message": " ".join(error.format_message().split())}}))
    rich_format_error(error)
    return error.exit_code


def _version(value: bool) -> None:
    if value:
        typer.echo(f"topicture {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help=f"Show where an error comes from (or set {DEBUG}=1); behind any command, too."
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            envvar=VARIABLE,
            help="Learn on the processor (cpu) or on accelerators (gpu), not what is found best.",
        ),
    ] = None,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"
    if device is not None:
        use_device_from_the_start(device)


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the page (index.html) and demo.json.")
    ] = Path("demo"),
    photos: Annotated[
        Path | None,
        typer.Option(
            "--photos", help="Instead, only render the photos, half of them tagged, into this folder."
        ),
    ] = None,
    images: Annotated[int, typer.Option(help="Number of photos to render.")] = 600,
    seed: Annotated[int, typer.Option(help="Another seed gives another collection.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that render and analyse photos.")] = os.cpu_count()
    or 1,
    force: ForceOption = False,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Instead, open a sample collection in the browser (in OUT/photos)."),
    ] = False,
    browser: Annotated[bool, typer.Option(help="With --serve: open the browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Render a sample collection, hide three quarters of its tags, learn, suggest tags, and show how good they are."""
    if serve:
        cli_serving.serve_sample(
            out / "photos", images, seed, workers, as_json=as_json, quiet=quiet, browser=browser
        )
        return
    if photos is not None:
        cli_serving.write_sample_photos(photos, images, seed, workers, as_json=as_json, quiet=quiet)
        return
    from topicture.app.console.demo import print_demo
    from topicture.app.console.progress_bars import Stages
    from topicture.collection.outputs import Outputs
    from topicture.demo.page import page_of
    from topicture.demo.run import run_demo

    output = Outputs(out, force=force)
    output.check(["index.html", "demo.json"])
    with Stages(quiet=quiet or as_json) as stages:
        report = run_demo(images, seed=seed, workers=workers, report=stages)
    numbers = json.dumps(report.as_dict(), indent=1).encode()
    output.write({"index.html": page_of(report).encode(), "demo.json": numbers})
    if as_json:
        typer.echo(json.dumps(report.as_dict()))
    else:
        print_demo(report, out / "index.html")


for commands in (
    cli_collection,
    cli_learning,
    cli_explain,
    cli_finding,
    cli_listing,
    cli_suggesting,
    cli_review,
    cli_tagging,
    cli_undoing,
    cli_watching,
    cli_configuring,
    cli_serving,
    cli_clustering,
    cli_exchange,
    cli_reproduce,
):
    commands.register(app)
