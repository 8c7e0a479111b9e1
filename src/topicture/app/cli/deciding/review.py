"""Commands for decisions: review, tags, conflicts."""

from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, QuietOption, find, print_json, typed
from topicture.app.console.terminal import is_terminal
from topicture.app.counting import counted
from topicture.app.verbs.plain import as_plain
from topicture.collection.words import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (review, tags, conflicts):
        app.command()(command)


def review(
    context: typer.Context,
    order: Annotated[
        str,
        typer.Option(
            "--order",
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
    pictures: Annotated[
        bool, typer.Option(help="Show the photos, in terminals that can (kitty, iTerm2, sixel).")
    ] = True,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Answer suggestions one by one, or accept many at once."""
    from topicture.app.cli.deciding.accepting import accept_many
    from topicture.app.cli.deciding.review_loop import ask_with_pictures
    from topicture.app.console.tables import print_questions

    _refuse_contradictions(context)
    library = find(catalog)
    tag = None if of_tag is None else library.tag_in_use(of_tag)
    if accept_above is not None:
        accept_many(
            library, accept_above, tag=tag, dry_run=dry_run, audit=audit, as_json=as_json, quiet=quiet
        )
        return
    questions = library.queue(order, tag=tag, by_image=by_image, limit=limit)
    if as_json:
        print_json(questions)
    elif not questions:
        print(printable(library.why_nothing(order, tag=tag)))
    elif list_only or not is_terminal():
        print_questions(questions)
    else:  # who asks about one tag wants no questions about others
        asked = library.mixed(questions) if tag is None else questions
        print(ask_with_pictures(library, asked, pictures=pictures))


def _refuse_contradictions(context: typer.Context) -> None:
    """Raise where an option that was typed, rather than set for the collection, would have no say."""
    given = typed(context)
    if "accept_above" in given:
        for option in ("list_only", "order", "by_image", "limit"):
            if option in given:
                name = "--list" if option == "list_only" else "--" + option.replace("_", "-")
                raise typer.BadParameter(
                    f"choose one of --accept-above and {name}; --accept-above --dry-run only says what it would accept"
                )
        if context.params["audit"] and context.params["dry_run"]:
            raise typer.BadParameter("choose one of --audit and --dry-run")
    elif context.params["audit"] or context.params["dry_run"]:
        raise typer.BadParameter("--audit and --dry-run go with --accept-above")


def tags(
    words: Annotated[
        list[str] | None, typer.Argument(help="Tags, as the options want them; or texts to look for in tags.")
    ] = None,
    delete: Annotated[
        str | None, typer.Option(help="Remove this tag from every photo, and stop suggesting it.")
    ] = None,
    rename: Annotated[bool, typer.Option("--rename", help="OLD NEW: give a tag another name.")] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="OLD... INTO: make tags one; photos with any of them have it.")
    ] = False,
    parent: Annotated[
        bool, typer.Option("--parent", help="TAG ABOVE: put a tag below another; TAG alone: below none.")
    ] = False,
    policy: Annotated[
        bool,
        typer.Option(
            "--policy",
            help="TAG suggest, TAG accept 0.95 (by itself, from that precision on), or TAG never; TAG alone shows its "
            "policy, and no tag those of all tags that have one.",
        ),
    ] = False,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="List tags that may be one: plurals, spellings, same photos.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all tags with the number of photos that have them; or delete, rename, merge and arrange them.

    'topicture undo' takes a change back. (Tags that begin with a dash go after `--`.)
    """
    from topicture.app.console.words import print_edit, print_proposals, print_words, print_words_policies
    from topicture.app.verbs.words import editing, listing
    from topicture.app.verbs.words.proposals import propose_merges

    library = find(catalog)
    chosen = [delete is not None, rename, merge, parent, policy, proposals]
    if sum(chosen) > 1:
        raise typer.BadParameter("choose one of --delete, --rename, --merge, --parent, --policy, --proposals")
    given = words or []
    if delete is not None:
        n = library.delete_tag(delete)
        result = {"deleted": delete, "photos": n}
        print_json(result) if as_json else print(
            f"Deleted {printable(delete)} from {counted(n, 'photo')}; "
            "'topicture write' removes it from the sidecars, 'topicture undo' restores it."
        )
    elif policy and len(given) < 2:
        with library.reading() as opened:
            told = listing.policies(opened, given[0] if given else None)
        print_json(told) if as_json else print_words_policies(told)
    elif rename or merge or parent or policy:
        with library.writing("tags") as opened:
            if rename:
                edit = editing.rename_word(opened, *_exactly(given, 2, 2, "--rename OLD NEW"))
            elif merge:
                *former, into = _exactly(given, 2, None, "--merge OLD... INTO")
                edit = editing.merge_words(opened, former, into)
            elif parent:
                child, *above = _exactly(given, 1, 2, "--parent TAG [ABOVE]")
                edit = editing.set_parent(opened, child, above[0] if above else None)
            else:
                word, wanted, *least = _exactly(given, 2, 3, "--policy TAG POLICY [PRECISION]")
                edit = editing.set_policy(opened, word, wanted, _number(least[0]) if least else None)
        print_json(edit) if as_json else print_edit(edit)
    elif proposals:
        with library.reading() as opened:
            found = propose_merges(opened)
        print_json(found) if as_json else print_proposals(found)
    else:
        with library.reading() as opened:
            rows = listing.list_words(opened, " ".join(given))
        print_json([{**as_plain(row), "present": row.photos} for row in rows]) if as_json else print_words(
            rows
        )


def _exactly(given: list[str], least: int, most: int | None, usage: str) -> list[str]:
    if len(given) < least or (most is not None and len(given) > most):
        raise typer.BadParameter(f"as in: tags {usage}")
    return given


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"a precision is a number as 0.95, not {text!r}") from None


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
