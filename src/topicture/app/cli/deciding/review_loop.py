"""The questions of `review` in a terminal: one key per answer."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import typer

from topicture.app.cli.deciding.viewer import open_in_viewer
from topicture.collection.words import printable
from topicture.errors import TopictureError

if TYPE_CHECKING:
    from pathlib import Path

    from topicture.app.verbs.library import Library
    from topicture.app.verbs.reviewing import Question

__all__ = ["HELP", "Asked", "ask", "ask_in_terminal", "ask_with_pictures"]

HELP = "y yes · n no · s skip · o open the photo · u undo the last answer · q stop"


class Asked(NamedTuple):
    """How many questions were answered, and whether somebody stopped before the last one."""

    yes: int
    no: int
    stopped: bool


def ask_in_terminal(
    library: "Library",
    questions: "Sequence[Question]",
    *,
    read_key: Callable[[], str] = typer.getchar,
    say: Callable[[str], None] = print,
    show: Callable[["Question"], None] | None = None,
    open_photo: Callable[["Path"], None] = open_in_viewer,
) -> str:
    """Ask; a line that sums up."""
    asked = ask(library, questions, read_key=read_key, say=say, show=show, open_photo=open_photo)
    return f"{asked.yes} accepted, {asked.no} rejected. 'topicture write' writes accepted tags into sidecars."


def ask(
    library: "Library",
    questions: "Sequence[Question]",
    *,
    read_key: Callable[[], str] = typer.getchar,
    say: Callable[[str], None] = print,
    show: Callable[["Question"], None] | None = None,
    open_photo: Callable[["Path"], None] = open_in_viewer,
) -> Asked:
    """Ask, and note each answer at once. Interrupting loses nothing that was answered."""
    say(HELP)
    n_yes = n_no = 0
    answered: list[tuple[int, str, int | None]] = []  # position of the question, answer, step of the log
    position, shown = 0, None
    while position < len(questions):
        question = questions[position]
        if show is not None and question.image != shown:
            show(question)
            shown = question.image
        word = printable(question.word)
        say(
            f"[{position + 1}/{len(questions)}] {printable(question.path)}: "
            f"{f'did you leave out {word}' if question.left_out else word}? ({question.probability:.0%})"
        )
        try:
            key = read_key().lower()
        except EOFError:  # Ctrl-D, in some terminals
            key = "q"
        if key in ("q", "\x03", "\x04", "\x1b"):
            return Asked(n_yes, n_no, stopped=True)
        if key == "u":
            if not answered:
                say("Nothing left to undo in this review; 'topicture undo' goes further back.")
                continue
            position, last, step = answered.pop()
            if last in "yn":
                n_yes, n_no = n_yes - (last == "y"), n_no - (last == "n")
                undone = None if step is None else library.undo(step)
                if undone is None or not undone.decisions:
                    say("Something else was decided about it since; that stays.")
            continue
        if key == "o":
            try:
                open_photo(library.path(question.image))
            except TopictureError as error:
                say(printable(str(error)))
            continue
        if key not in ("y", "n", "s"):
            say(HELP)
            continue
        step = None
        if key != "s":
            step = library.answer(question.image, question.word, "present" if key == "y" else "rejected")
            n_yes, n_no = n_yes + (key == "y"), n_no + (key == "n")
        answered.append((position, key, step))
        position += 1
    return Asked(n_yes, n_no, stopped=False)


def ask_with_pictures(library: "Library", questions: "Sequence[Question]", *, pictures: bool = True) -> str:
    """Ask, and show the photos where the terminal can."""
    from topicture.app.console.pictures import as_text, protocol_of_terminal

    protocol = protocol_of_terminal() if pictures and questions else None
    if protocol is None:
        return ask_in_terminal(library, questions)
    from topicture.app.verbs.browsing.small_pictures import SmallPictures

    with SmallPictures() as small:

        def show(question: "Question") -> None:
            with suppress(TopictureError):  # its file is gone
                pixels = small.pixels(str(library.path(question.image)))
                if pixels is not None:
                    print(as_text(pixels, protocol))

        return ask_in_terminal(library, questions, show=show)
