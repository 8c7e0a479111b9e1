"""The frame around every page."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["STATIC", "door_style_source", "render_door", "render_shell"]

STATIC = Path(__file__).parent / "static"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("topicture.app.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render_shell(page: str, title: str, collection: str) -> str:
    """The HTML of a page, before its script fills it; `collection` tells one catalog from another."""
    return _environment().get_template("shell.html").render(page=page, title=title, collection=collection)


def render_door(code: str, title: str, message: str, hint: str) -> str:
    """What somebody sees who is not let in. They may load nothing: its style and its drawing are within the page."""
    values = {"code": code, "title": title, "message": message, "hint": hint}
    icon = Markup((STATIC / "icon.svg").read_text("utf-8").replace("<svg ", '<svg aria-hidden="true" ', 1))
    return _environment().get_template("door.html").render(**values, style=Markup(_door_style()), icon=icon)


@cache
def _door_style() -> str:
    names = ("tokens", "base", "controls", "door")
    return "".join((STATIC / "css" / f"{name}.css").read_text("utf-8") for name in names)


def door_style_source() -> str:
    """How a policy allows the style of the door, and no other that stands within a page."""
    digest = hashlib.sha256(_door_style().encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
