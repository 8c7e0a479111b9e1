"""The frame around every page."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["render_door", "render_shell"]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("topicture.app.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render_shell(page: str, title: str) -> str:
    """The HTML of a page, before its script fills it."""
    return _environment().get_template("shell.html").render(page=page, title=title)


def render_door(code: str, title: str, message: str, hint: str) -> str:
    """What somebody sees who is not let in: a page without a style or a script, which they may not load."""
    return _environment().get_template("door.html").render(code=code, title=title, message=message, hint=hint)
