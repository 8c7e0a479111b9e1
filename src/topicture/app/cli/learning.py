"""Commands about models: learn, annotate, evaluate, models."""

from typing import TYPE_CHECKING, Annotated

import typer

from topicture.app.cli.common import (
    WORKERS,
    CatalogOption,
    ClusterOption,
    JsonOption,
    QuietOption,
    ThresholdOption,
    TlsOption,
    TopOption,
    WorkersOption,
    find,
    finish,
    print_json,
    tell_lines,
    typed,
    working_elsewhere,
)
from topicture.app.counting import counted
from topicture.app.verbs.plain import as_plain

if TYPE_CHECKING:
    from topicture.app.learning.annotating import AnnotateReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (learn, annotate, evaluate, models):
        app.command()(command)


def learn(
    model: Annotated[
        str, typer.Option("--model", "-m", help="A model (see 'topicture models'), or auto: a blend.")
    ] = "auto",
    min_count: Annotated[int, typer.Option(min=1, help="Leave out tags that fewer photos have.")] = 3,
    budget: Annotated[
        float, typer.Option(min=0.1, help="Minutes that auto may take to try models and learn.")
    ] = 10.0,
    memory: Annotated[
        float, typer.Option(min=0.1, help="Gigabytes of memory that auto may take to try models and learn.")
    ] = 4.0,
    regions: Annotated[bool, typer.Option(help="Also learn which part of a photo a word belongs to.")] = True,
    afresh: Annotated[
        bool,
        typer.Option("--afresh", help="Try every model again, not only those that helped the last time."),
    ] = False,
    first: Annotated[
        bool,
        typer.Option(
            help="The first time, suggest with a quick model before auto: there is something to review meanwhile."
        ),
    ] = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also print every model that was tried.")
    ] = False,
    workers: WorkersOption = WORKERS,
    cluster: ClusterOption = None,
    tls: TlsOption = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn the collection's own words from the photos that carry them."""
    from topicture.app.console.progress_bars import Stages
    from topicture.app.console.tables import print_learned
    from topicture.app.verbs.upkeep.first_suggestions import suggest_first

    library = find(catalog)
    with Stages(quiet=quiet or as_json) as stages, working_elsewhere(library, cluster, tls):
        if first and model == "auto":
            soon = suggest_first(library, min_count=min_count, workers=workers, report=stages)
            if soon is not None and not (quiet or as_json):
                stages.say(
                    f"{counted(soon.suggestions, 'first suggestion')} to review while a better model is learned."
                )
        result = library.learn(
            model,
            min_count=min_count,
            budget_seconds=60 * budget,
            budget_bytes=1e9 * memory,
            regions=regions,
            afresh=afresh,
            workers=workers,
            report=stages,
        )
    if as_json:
        print_json(result)
    elif not quiet:
        print_learned(result, verbose=verbose)
    tell_lines("Skipped", result.skipped, quiet=quiet or as_json)
    finish(result.skipped)


def annotate(
    threshold: ThresholdOption = None,
    top: TopOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also for photos that their owner has tagged.")
    ] = False,
    rejected_too: Annotated[bool, typer.Option(help="Suggest again what was rejected.")] = False,
    new_only: Annotated[
        bool,
        typer.Option("--new", help="Only for photos that came since the last time; the rest stays as it is."),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Look at every photo again, not only at new ones and those decided since."
        ),
    ] = False,
    workers: WorkersOption = WORKERS,
    cluster: ClusterOption = None,
    tls: TlsOption = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Suggest words, with probabilities, for the photos that have none; accept those whose tag's policy says so."""
    from topicture.app.console.progress_bars import Stages
    from topicture.app.console.words import print_policies
    from topicture.app.verbs.words.policies import apply_policies

    if new_only and again:
        raise typer.BadParameter("choose one of --new and --again")
    library = find(catalog)
    with Stages(quiet=quiet or as_json) as stages, working_elsewhere(library, cluster, tls):
        result = library.annotate(
            threshold=threshold,
            top=top,
            everything=everything,
            rejected_too=rejected_too,
            new_only=new_only,
            again=again,
            workers=workers,
            report=stages,
        )
        with library.writing("annotate") as opened:
            accepted = apply_policies(opened)
    if as_json:
        print_json({**as_plain(result), "accepted": accepted})
    elif not quiet:
        _print_annotated(result, everything=everything, new_only=new_only)
        print_policies(accepted)
        if result.suggestions:
            print("Answer them with 'topicture review', or in the browser: 'topicture serve'.")
    tell_lines("Skipped", result.skipped, quiet=quiet or as_json)
    finish(result.skipped)


def _print_annotated(result: "AnnotateReport", *, everything: bool, new_only: bool) -> None:
    if new_only and not result.photos:
        print("No new photo was looked at; all others stay as they are.")
        return
    photo = "photo" if everything or result.tagged_in_part else "untagged photo"
    in_part = f" ({result.tagged_in_part} tagged in part)" if result.tagged_in_part else ""
    known = f"{counted(result.photos, 'new photo' if new_only else 'photo')} can be searched"
    print(
        f"{result.model} suggests {counted(result.suggestions, 'tag')} for {result.with_suggestions} of "
        f"{counted(result.asked_for, photo)}{in_part}; {known}."
    )


def evaluate(
    all_tags: Annotated[
        bool, typer.Option("--all", help="Show every tag, not only the most frequent ones.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far the newest model can be trusted, judged by tags that were hidden from it."""
    from topicture.app.console.evaluation import print_evaluation

    report = find(catalog).evaluate()
    print_json(report) if as_json else print_evaluation(report, all_tags)


def models(
    context: typer.Context,
    learned: Annotated[
        bool, typer.Option("--learned", help="Those that were learned from this collection.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove those learned before the newest; decisions stay.")
    ] = False,
    keep: Annotated[int, typer.Option(min=1, help="With --prune: how many to keep.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --prune: only say what would go.")] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the available models, what they need and what they can do; or those learned from this collection."""
    from topicture.app.console.tables import print_learned_models, print_models, print_pruned

    if prune and learned:
        raise typer.BadParameter("choose one of --learned and --prune")
    if not prune and typed(context) & {"keep", "dry_run"}:
        raise typer.BadParameter("--keep and --dry-run go with --prune")
    if prune:
        pruned = find(catalog).prune(keep, dry_run=dry_run)
        print_json(pruned) if as_json else print_pruned(pruned)
        return
    if learned:
        found = find(catalog).models()
        print_json(found) if as_json else print_learned_models(found)
        return
    from topicture.app.learning.model_list import list_models

    rows = list_models()
    print_json(rows) if as_json else print_models(rows)
