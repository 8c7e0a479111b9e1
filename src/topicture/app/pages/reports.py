"""Reports as pages that stand alone: Markdown with figures beside it becomes one HTML file."""

import base64
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from topicture.app.pages.render import render
from topicture.atomic import write_atomically

__all__ = ["html_of", "write_html"]


def write_html(markdown: Path) -> Path:
    """Write the page of a Markdown file beside it, its figures inside."""
    path = markdown.with_suffix(".html")
    write_atomically(path, html_of(markdown.read_text(encoding="utf-8"), markdown.parent).encode())
    return path


def html_of(text: str, folder: Path) -> str:
    """The page of a Markdown text whose figures lie in `folder`; nothing is loaded when it is opened.

    Raises ValueError for a figure that is not the plain name of a PNG file.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "image":
                child.attrs["src"] = _embedded(folder, str(child.attrs["src"]))
    return render(
        "report.html", title=_heading(tokens), body=parser.renderer.render(tokens, parser.options, {})
    )


def _embedded(folder: Path, name: str) -> str:
    """A figure as an address that holds it."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+\.png", name):
        raise ValueError(f"not the name of a figure: {name!r}")
    return "data:image/png;base64," + base64.b64encode((folder / name).read_bytes()).decode()


def _heading(tokens: Sequence[Token]) -> str:
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            return content.content
    return "Report"
