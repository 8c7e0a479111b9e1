"""Where the collection stands."""

from typing import Any

from topicture.app.web.answers import Question, get
from topicture.app.web.site import Site

__all__ = ["ROUTES"]


def status(site: Site, question: Question) -> Any:
    return None if site.library is None else site.library.status()


ROUTES = [get("/status", status)]
