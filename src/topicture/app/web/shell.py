"""The frame around every page."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["render_shell"]


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
