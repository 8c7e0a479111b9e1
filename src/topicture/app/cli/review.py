"""Commands for decisions: review, tag, tags, undo, conflicts."""

import sys
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, QuietOption, find, print_json
from topicture.app.counting import counted
from topicture.collection.words import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (review, tag, tags, undo, conflicts):
        app.command()(command)


def review(
    order: Annotated[
        str,
        typer.Option(
            "--order",
            "-o",
            help="What to ask first: uncertain, certain, teaching (answers that help most), missing (tags that were "
            "probably left out), or random (a sample that checks promises).",
        ),
    ] = "uncertain",
    of_tag: Annotated[str | None, typer.Option("--tag", "-t", help="Only about this tag.")] = None,
    by_image: Annotated[
        bool, typer.Option("--by-image", help="All questions about a photo together.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many questions.")] = 50,
    accept_above: Annotated[
        float | None,
        typer.Option(help="Ask nothing: accept all that reaches this precision on hidden tags, as in 0.95."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option(help="With --accept-above: only say what would be accepted.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="With --accept-above: first ask about 30 of them, drawn at random, and go by the answers.",
        ),
    ] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Print the questions and ask nothing.")] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Answer suggestions one by one, or accept many at once."""
    from topicture.app.cli.review_loop import ask_in_terminal, audit_in_terminal
    from topicture.app.console.tables import print_bulk, print_questions

    library = find(catalog)
    if accept_above is not None:
        if audit and not dry_run:
            refused = audit_in_terminal(library, accept_above, tag=of_tag)
            if refused:
                print(refused)
                return
        bulk = library.accept_above(accept_above, tag=of_tag, dry_run=dry_run)
        if as_json:
            print_json(bulk)
        elif not quiet:
            print_bulk(bulk)
        return
    questions = library.queue(order, tag=of_tag, by_image=by_image, limit=limit)
    if as_json:
        print_json(questions)
    elif list_only or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_questions(questions)
    else:
        print(ask_in_terminal(library, library.mixed(questions)))


def tag(
    image: Annotated[str, typer.Argument(help="A photo of the collection.")],
    words: Annotated[
        list[str] | None, typer.Argument(help="Tags; without any, those of the photo are printed.")
    ] = None,
    reject: Annotated[
        bool, typer.Option("--reject", "-r", help="Say that these tags are wrong for the photo.")
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Take back whatever was decided about these tags.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a photo tags, or reject them. (Words that begin with a dash go after `--`.)"""
    library = find(catalog)
    if words:
        library.decide(image, words, "rejected" if reject else "cleared" if clear else "present")
    known = library.tags(image)
    if as_json:
        print_json(known)
        return
    for item in known:
        print(printable(f"{item.verdict!s:9} {item.word}  ({item.source})"))


def tags(
    delete: Annotated[
        str | None, typer.Option(help="Remove this tag from every photo, and stop suggesting it.")
    ] = None,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all tags with the number of photos that have them; or delete one everywhere."""
    library = find(catalog)
    if delete is not None:
        n = library.delete_tag(delete)
        result = {"deleted": delete, "photos": n}
        print_json(result) if as_json else print(
            f"Deleted {printable(delete)} from {counted(n, 'photo')}; "
            "'topicture write' removes it from the sidecars, 'topicture undo' restores it."
        )
        return
    rows, machine = library.words(), library.machine_words()
    if as_json:
        print_json(
            [
                {"word": word, "present": yes, "rejected": no, "by_machine": machine.get(word, 0)}
                for word, yes, no in rows
            ]
        )
        return
    for word, yes, no in rows:
        notes = [f"{machine[word]} by machine"] if word in machine else []
        notes += [f"rejected for {counted(no, 'photo')}"] if no else []
        print(f"{yes:7}  {printable(word)}" + (f"  ({', '.join(notes)})" if notes else ""))


def undo(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Take back the last answer, bulk acceptance, import, deletion or scan; again for the one before."""
    from topicture.app.console.tables import print_undone

    undone = find(catalog).undo()
    if as_json:
        print_json({"undone": None if undone is None else len(undone.decisions), "step": undone})
    elif undone is None:
        print("There is nothing left to undo.")
    else:
        print_undone(undone)


def conflicts(
    photos: Annotated[list[str] | None, typer.Argument(help="Only these photos.")] = None,
    of_tag: Annotated[str | None, typer.Option("--tag", "-t", help="Only this tag.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep what was decided here: 'topicture write' writes it again.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Do what the other program did: the decision is changed.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tags decided here that another program has removed from a file or added to it, and settle them."""
    from topicture.app.console.tables import print_conflicts

    if keep and follow:
        raise typer.BadParameter("choose one of --keep and --follow")
    library = find(catalog)
    if not (keep or follow):
        found = library.conflicts(photos or (), tag=of_tag)
        print_json(found) if as_json else print_conflicts(found)
        return
    settled = library.resolve(photos or (), tag=of_tag, keep=keep)
    if as_json:
        print_json(settled)
        return
    how = "as decided here; 'topicture write' updates the sidecars" if keep else "as the other program did"
    print(f"Settled {counted(len(settled), 'conflict')} {how}.")
    if settled:
        print("'topicture undo' takes this back.")
