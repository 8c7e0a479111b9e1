"""`review --accept-above 0.9`: accept many at once, with `--audit` after questions about a sample of them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import typer

from topicture.app.cli.common import print_json
from topicture.app.cli.deciding.review_loop import ask
from topicture.app.console.terminal import is_terminal
from topicture.app.verbs.plain import as_plain
from topicture.errors import TopictureError

if TYPE_CHECKING:
    from topicture.app.verbs.library import Library

__all__ = ["Audited", "accept_many", "audit_in_terminal"]

LEAST_BELIEF = 0.25  # that the asked precision is reached, after an audit


@dataclass(frozen=True)
class Audited:
    """The answers that stand, whether what nobody was asked about may be accepted, and all that in a line."""

    asked: int
    right: int
    stopped: bool
    passed: bool
    verdict: str


def accept_many(
    library: "Library",
    precision: float,
    *,
    tag: str | None,
    dry_run: bool,
    audit: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Accept what reaches a precision, or say what would be, unless an audit speaks against it; and print what was."""
    from topicture.app.console.tables import print_bulk

    audited = None
    if audit:
        say = partial(print, file=sys.stderr) if as_json else print  # there, output is the result alone
        if not is_terminal("stdin", "stderr" if as_json else "stdout"):
            raise TopictureError(
                "an audit asks in a terminal, and here is none; --dry-run only says what would be accepted"
            )
        audited = audit_in_terminal(library, precision, tag=tag, say=say)
        if audited.verdict:
            say(audited.verdict)
    passed = audited is None or audited.passed
    if not (passed or as_json):
        return
    bulk = library.accept_above(precision, tag=tag, dry_run=dry_run or not passed)
    if not passed:
        bulk = replace(bulk, accepted=0, photos=0, tags=(), dry_run=False)
    if as_json:
        told = (
            {}
            if audited is None
            else {name: getattr(audited, name) for name in ("asked", "right", "stopped")}
        )
        print_json({**as_plain(bulk), **told})
    elif not quiet:
        print_bulk(bulk)


def audit_in_terminal(
    library: "Library",
    precision: float,
    *,
    tag: str | None = None,
    read_key: Callable[[], str] = typer.getchar,
    say: Callable[[str], None] = print,
) -> Audited:
    """Ask about a sample of what would be accepted. Whoever stops before its end accepts nothing more."""
    from topicture.app.verbs.asking.drawing_lots import audit_verdict

    sample = library.audit_sample(precision, tag=tag)
    if not sample:
        return Audited(0, 0, stopped=False, passed=True, verdict="")
    stopped = ask(library, sample, read_key=read_key, say=say).stopped
    audit = library.audit(sample)
    passed = not stopped and audit_verdict(audit, precision) >= LEAST_BELIEF
    all_asked = audit.asked == len(sample) and sample[0].drawn == 1.0
    right = f"{audit.right} of {audit.asked} were right"
    if stopped:
        verdict = "Stopped: the rest is not accepted."
    elif all_asked:
        verdict = f"{right}; these were all, and your answers stand."
    elif not audit.asked:
        verdict = "No question was answered: nothing is accepted."
    elif passed:
        verdict = f"{right}: the rest is accepted."
    else:
        verdict = (
            f"{right}: too few for {precision:.0%}, the rest is not accepted. "
            "'topicture learn' takes the answers in."
        )
    return Audited(audit.asked, audit.right, stopped, passed and not all_asked, verdict)
