"""HTML pages from templates: everything is escaped, nothing is loaded from elsewhere."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["render"]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("topicture.app.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **context: Any) -> str:
    """The page as text."""
    return _environment().get_template(template).render(**context)
