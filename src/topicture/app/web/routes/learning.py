"""Long work, what was learned, and what to tag next."""

from typing import Any

from topicture.app.web.answers import Question, get, post
from topicture.app.web.jobs.job import MOST_LINES, shortened
from topicture.app.web.site import Site
from topicture.errors import DataNotFound, ModelFileError, NotFitted

__all__ = ["ROUTES"]


def jobs(site: Site, question: Question) -> Any:
    """All jobs, asked for again and again: of those that are over, what the page shows, and /jobs/{id} has the rest."""
    known = site.jobs.list() if site.library is not None else []
    newest = next((each for each in known if each.kind != "prepare"), None)
    for each in known:
        if each.over:
            each.trace = []
            each.result = shortened(each.result, MOST_LINES if each is newest else 0)
    return {"jobs": known}


def job(site: Site, question: Question) -> Any:
    return site.jobs.get(question.path["id"])


def start(site: Site, question: Question) -> Any:
    return site.jobs.start(question.body.get("kind"), question.body.get("options", {}))


def cancel(site: Site, question: Question) -> Any:
    return site.jobs.cancel(question.path["id"])


def models(site: Site, question: Question) -> Any:
    """Everything that was learned, the newest first, and how far the newest can be trusted."""
    from topicture.app.explain.evaluating import trust_in_words

    library = site.need_library()
    try:
        report = library.evaluate()
        report["said"] = trust_in_words(report)
    except (NotFitted, DataNotFound, ModelFileError):
        report = None
    return {"models": library.models(), "report": report}


def next_to_tag(site: Site, question: Question) -> Any:
    from topicture.app.learning.what_next import what_next

    with site.need_library().reading() as catalog:
        return what_next(catalog, question.number("limit", 12, least=1, most=100))


ROUTES = [
    get("/jobs", jobs),
    post("/jobs", start),
    get("/jobs/{id:number}", job),
    post("/jobs/{id:number}/cancel", cancel),
    get("/models", models),
    get("/next", next_to_tag),
]
